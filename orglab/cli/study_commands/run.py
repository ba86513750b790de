"""``orglab run``."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from orglab.cli.interrupt import BUDGET_REACHED, at_the_budget, stop_on_interrupt
from orglab.cli.options import (
    Cache,
    Files,
    Inputs,
    MaxCost,
    Models,
    Out,
    Replicates,
    RetryFailed,
    Seed,
    Sets,
    Trust,
    Units,
)
from orglab.cli.progress import progress_of
from orglab.cli.run_options import RunOptions, design_summary, request_of
from orglab.cli.study_commands.report import print_report
from orglab.engine.study.batch.batch import Batch, BatchTally, Progress
from orglab.engine.study.batch.executor import run_batch
from orglab.engine.study.batch.preflight import judge_models
from orglab.engine.study.plan.plan import unreal_dollars
from orglab.engine.study.sweep.sweep import Sweep
from orglab.evaluators.base import EvaluationError
from orglab.providers.terminal_safety import visible
from orglab.results.display.summary import summary
from orglab.results.number_format import amount, dollars
from orglab.results.store.reader import Reader
from orglab.results.store.store import Store

NOT_ALL_DONE = 1
"""Exit code: some runs failed or were stopped."""
REASONS = 3
"""So many reasons of failed and stopped runs are reported at the end."""
Fresh = Annotated[
    bool, typer.Option("--fresh", help="Begin anew, in a new folder beside the old one.")
]
AtOnce = Annotated[int | None, typer.Option(min=1, help="Runs under way at once.")]
On = Annotated[
    str | None,
    typer.Option(help="A Dask cluster: tcp://scheduler:8786, or local:4 for 4 processes."),
]


def run(
    files: Files,
    inputs: Inputs = None,
    units: Units = None,
    replicates: Replicates = None,
    seed: Seed = None,
    models: Models = None,
    sets: Sets = None,
    out: Out = None,
    fresh: Fresh = False,
    retry_failed: RetryFailed = False,
    at_once: AtOnce = None,
    max_cost: MaxCost = None,
    cache: Cache = True,
    on: On = None,
    trust: Trust = False,
) -> None:
    """Run a team, an experiment or a sweep; the same command again resumes where it stopped.

    Two teams and --units are an experiment without a third file: the treatment is what differs.
    """
    request = request_of(
        RunOptions(
            files=files,
            inputs=inputs or [],
            units=units,
            replicates=replicates,
            seed=seed,
            models=models,
            sets=sets or [],
            trust=trust,
        )
    )
    folder, batch = request.prepared(
        out,
        fresh=fresh,
        cache=cache,
        retry_failed=retry_failed,
        at_once=at_once,
        max_cost=max_cost,
    )
    console = Console()
    for line in design_summary(request):
        console.print(visible(line), markup=False, highlight=False)
    store = request.open(folder)
    try:
        with progress_of(console, request.name, _unreal(batch)) as progress:
            tally = asyncio.run(_run(batch, store, on, progress, console))
    finally:
        store.close()
    ended = _any_ended(folder)
    # A sweep has too many columns: its report's table is printed.
    _report(console, tally, folder, table=ended and not isinstance(request.design, Sweep))
    if request.design is not None and ended:
        print_report(folder)
    raise typer.Exit(_code(tally))


def _code(tally: BatchTally) -> int:
    if tally.budget is not None and tally.budget.reached:
        return BUDGET_REACHED
    return NOT_ALL_DONE if tally.interrupted or tally.failed or tally.stopped else 0


async def _run(
    batch: Batch, store: Store, on: str | None, progress: Progress, console: Console
) -> BatchTally:
    gc.collect()
    gc.freeze()  # what is loaded stays loaded: a fifth of a turn's time went to looking at it again
    stop = stop_on_interrupt(console)
    return await run_batch(batch, store, on=on, progress=progress, stop=stop)


def _report(console: Console, tally: BatchTally, folder: Path, *, table: bool) -> None:
    others = tally.others
    if table:
        figures = summary([folder])
        console.print(figures)
        others -= sum(group.earlier for group in figures.groups)
    for line in [*_remarks(tally, others, in_figures=table), *_reasons(folder)]:
        console.print(line, markup=False, highlight=False)
    console.print(f"Read the transcripts: orglab show {folder}", markup=False, highlight=False)


def _any_ended(folder: Path) -> bool:
    """There is something to sum up: a run of the study has ended."""
    with Reader(folder) as reader:
        return any(status != "running" for status in reader.statuses().values())


def _unreal(batch: Batch) -> str:
    """Return what the dollars are where models are simulated; judges are those of the first arm."""
    teams = batch.teams
    models = [model for team in teams for model in team.topology.models.values()]
    with suppress(EvaluationError, ValueError):  # reported where they are asked
        models += judge_models(teams[0])
    return unreal_dollars(models)


def _reasons(folder: Path) -> list[str]:
    """Return why runs of the study failed or were stopped, the commonest reasons first."""
    with Reader(folder) as reader:
        rows = [row for status in ("failed", "stopped") for row in reader.runs(status=status)]
    reasons = Counter((row.status, row.reason) for row in rows)
    commonest = reasons.most_common(REASONS)
    lines = [f"  {often} {status}: {visible(message)}" for (status, message), often in commonest]
    rest = reasons.total() - sum(often for _, often in commonest)
    return lines + ([f"  {rest} for other reasons"] if rest else [])


def _remarks(tally: BatchTally, others: int, *, in_figures: bool) -> list[str]:
    lines: list[str] = []
    if tally.kept:
        lines.append(
            f"{tally.kept} of {amount(tally.planned, 'run')} {'was' if tally.kept == 1 else 'were'} done before and cost nothing now."
        )
    if tally.resumed:
        lines.append(f"Resumed {amount(tally.resumed, 'run')}.")
    if tally.reused:
        worth = f", {dollars(tally.reused_usd)}" if tally.reused_usd else ""
        message = "Taken from other studies, which had asked the same (--no-cache asks again): "
        lines.append(f"{message}{amount(tally.reused, 'call')}{worth}.")
    lines += [visible(message) for message in tally.warnings]
    if tally.asked_again:
        lines.append(f"Retried {amount(tally.asked_again, 'call')} interrupted by an earlier end.")
    if others > 0:
        message = "Also in the figures, of other units, replicates or seeds than this command's: "
        if not in_figures:
            message = "Also in the study, not of this plan and in no figure: "
        lines.append(f"{message}{amount(others, 'run')}.")
    if tally.budget is not None and tally.budget.reached:
        lines.append(at_the_budget(tally.budget))
    if tally.interrupted:
        before = "" if tally.done else " before a run ended"
        lines.append(f"Interrupted{before}: every reply is stored; run the same command to resume.")
    if tally.failed:
        lines.append(
            f"Failed: {amount(tally.failed, 'run')}; --retry-failed tries {'it' if tally.failed == 1 else 'them'} again."
        )
    return lines
