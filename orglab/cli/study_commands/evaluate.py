"""``orglab evaluate``: scores of stored runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from orglab.cli.interrupt import BUDGET_REACHED, at_the_budget, stop_on_interrupt
from orglab.cli.options import Cache, MaxCost, StudyFolder, Trust
from orglab.cli.progress import paused
from orglab.engine.run.outcome import Unit
from orglab.engine.spec.model import EvaluatorUse
from orglab.engine.study.batch.budget import Budget, budget_of, unbounded_message
from orglab.engine.study.batch.preflight import unbounded_uses
from orglab.engine.study.evaluate.rescore import Rescoring, evaluators_of, roles_of
from orglab.providers.human.terminal import paused_by
from orglab.providers.terminal_safety import visible
from orglab.results.display.summary import summary
from orglab.results.store.reader import Reader
from orglab.results.store.response_cache import response_cache_file
from orglab.results.store.store import Store


def evaluate(
    folder: StudyFolder,
    with_: Annotated[
        Path, typer.Option("--with", help="A document with `evaluators`: a list, or any spec.")
    ],
    anew: Annotated[
        bool, typer.Option("--anew", help="Measure again what was measured before.")
    ] = False,
    max_cost: MaxCost = None,
    cache: Cache = True,
    trust: Trust = False,
) -> None:
    """Score stored runs, without running them again; judges' replies are kept like all others."""
    Reader(folder).close()  # says so where there is no study, and makes none
    console = Console()
    store = Store(folder)
    try:
        sample = _sample(store)
        uses = evaluators_of(with_, roles_of(store), sample, trust=trust)
        budget = _budget(max_cost, store, uses, sample, with_.parent)
        rescoring = Rescoring(
            store=store,
            uses=uses,
            folder=with_.parent,
            anew=anew,
            kept=response_cache_file(store.path.parent) if cache else None,
            report=lambda message: console.print(visible(message), markup=False, highlight=False),
            trust=trust,
            budget=budget,
        )
        looked, ended = asyncio.run(_rescored(rescoring, console))
    finally:
        store.close()
    console.print(summary([folder]))
    count = "1 evaluator" if len(uses) == 1 else f"{len(uses)} evaluators"
    typer.echo(f"{looked} of {ended} ended runs looked at with {count}.")
    if budget is not None and budget.reached:
        typer.echo(at_the_budget(budget))
        raise typer.Exit(BUDGET_REACHED)
    if looked < ended:
        typer.echo("Interrupted: every reply is stored; run the same command to resume.")
        raise typer.Exit(1)


def _budget(
    limit: float | None, store: Store, uses: Sequence[EvaluatorUse], sample: Unit, folder: Path
) -> Budget | None:
    """Return the study's money, of which its runs have spent a part."""
    if limit is not None and (judges := unbounded_uses(uses, sample, folder.resolve())):
        raise ValueError(unbounded_message(judges))
    return budget_of(limit, store)


def _sample(store: Store) -> Unit:
    """Return a unit of the study, to try evaluators on."""
    for row in store.runs():
        inputs, extra = store.inputs(row.run)
        return Unit(id=row.unit, inputs=inputs, extra=extra)
    raise ValueError(f"{store.path} holds no runs")


async def _rescored(rescoring: Rescoring, console: Console) -> tuple[int, int]:
    """Return how many runs were looked at, and how many have ended."""
    rescoring.stop = stop_on_interrupt(console)
    ended = sum(status != "running" for status in rescoring.store.statuses().values())
    with (
        Progress(console=console, transient=True, disable=not console.is_terminal) as bar,
        paused_by(partial(paused, bar)),
    ):
        task = bar.add_task("runs", total=ended)
        rescoring.progress = lambda done, _: bar.update(task, completed=done)
        return await rescoring.run(), ended
