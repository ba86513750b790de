"""Progress: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from orglab.engine.study.batch.batch import BatchTally, Progress
from orglab.providers.human.terminal import paused_by
from orglab.results.number_format import amount

MANY = 2
"""Of more teams it is reported how far all of them are."""
LINES = 10
"""Lines printed over a batch where there is no terminal."""


@contextmanager
def progress_of(console: Console, name: str, unreal: str = "") -> Iterator[Progress]:
    """Yield what ``run_batch`` calls after each run.

    Args:
        console: Where it is reported.
        name: What is run.
        unreal: What the dollars are that nobody pays: ``simulated``.
    """
    if not console.is_terminal:
        yield _Lines(console, name, unreal)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[message]}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=console, transient=True) as bar, paused_by(partial(paused, bar)):
        task = bar.add_task(name, total=None, message="")

        def move(tally: BatchTally) -> None:
            bar.update(
                task,
                total=tally.planned,
                completed=tally.done,
                message=_progress_text(tally, unreal),
            )

        yield move


@contextmanager
def paused(bar: Bar) -> Iterator[None]:
    """Hide the bar while a person is asked at the same terminal."""
    bar.stop()
    try:
        yield
    finally:
        bar.start()


class _Lines:
    def __init__(self, console: Console, name: str, unreal: str) -> None:
        self._console, self._name, self._unreal = console, name, unreal
        self._next = 0.0

    def __call__(self, tally: BatchTally) -> None:
        if tally.done < self._next and tally.done < tally.planned:
            return
        self._next = tally.done + tally.planned / LINES
        line = f"{self._name}: {tally.done} of {amount(tally.planned, 'run')}, {_progress_text(tally, self._unreal)}"
        self._console.print(line, markup=False, highlight=False)


def _progress_text(tally: BatchTally, unreal: str) -> str:
    message = f"{amount(tally.loops, 'loop')}, {tally.tokens:,} tokens, {_money(tally)}"
    message += f" ({unreal})" if unreal and tally.cost_usd else ""
    if tally.teams > MANY:  # a unit is run with all of them before the next begins
        rounds = tally.planned // tally.teams
        message = (
            f"{tally.done // tally.teams} of {rounds} rounds over {tally.teams} variants, {message}"
        )
    if tally.failed or tally.stopped:
        message += f", {tally.failed} failed, {tally.stopped} stopped"
    return message


def _money(tally: BatchTally) -> str:
    """Return what was spent; a part of unknown price is never nothing."""
    known = f"${tally.cost_usd:.4f}"
    if not tally.unpriced:
        return known
    return f"at least {known}" if tally.cost_usd else "$ unknown"
