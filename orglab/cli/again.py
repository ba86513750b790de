"""``orglab evaluate`` and ``orglab explain-call``."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from orglab.cli.stopping import stop_on_interrupt
from orglab.engine.run.run import Unit
from orglab.engine.spec.model import EvaluatorUse
from orglab.engine.study.again import evaluate_again, evaluators_of, roles_of
from orglab.engine.study.explain import explain_call
from orglab.results.plain import visible
from orglab.results.reader import Reader
from orglab.results.store import Store
from orglab.results.summary import summary

__all__ = ["evaluate", "explain"]


def evaluate(
    folder: Annotated[Path, typer.Argument(help="A study's folder.")],
    with_: Annotated[
        Path, typer.Option("--with", help="A document with `evaluators`: a list, or any spec.")
    ],
    anew: Annotated[
        bool, typer.Option("--anew", help="Measure again what was measured before.")
    ] = False,
) -> None:
    """Scores stored runs, without running them again; judges' replies are kept like all others."""
    Reader(folder).close()  # says so where there is no study, and makes none
    console = Console()
    store = Store(folder)
    try:
        uses = evaluators_of(with_, roles_of(store), _sample(store))
        looked, ended = asyncio.run(_evaluate(store, uses, with_.parent, anew, console))
    finally:
        store.close()
    console.print(summary([folder]))
    words = "1 evaluator" if len(uses) == 1 else f"{len(uses)} evaluators"
    typer.echo(f"{looked} of {ended} ended runs looked at with {words}.")
    if looked < ended:
        typer.echo("Interrupted: every reply is kept; the same command goes on from here.")
        raise typer.Exit(1)


def _sample(store: Store) -> Unit:
    """A unit of the study, to try evaluators on."""
    for row in store.runs():
        inputs, extra = store.inputs(row.run)
        return Unit(id=row.unit, inputs=inputs, extra=extra)
    raise ValueError(f"{store.path} holds no runs")


async def _evaluate(
    store: Store, uses: Sequence[EvaluatorUse], folder: Path, anew: bool, console: Console
) -> tuple[int, int]:
    stop = stop_on_interrupt(console)
    ended = sum(status != "running" for status in store.statuses().values())
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("runs", total=ended)
        looked = await evaluate_again(
            store,
            uses,
            folder=folder,
            anew=anew,
            progress=lambda done, _: bar.update(task, completed=done),
            stop=stop,
        )
    return looked, ended


def explain(
    folder: Annotated[Path, typer.Argument(help="A study's folder.")],
    run: Annotated[str, typer.Argument(help="A run: the first characters of its id.")],
    position: Annotated[str, typer.Argument(help="A call's position, such as 3.turn.0.0.")],
) -> None:
    """Shows which part of a call differs from the nearest stored call: why it was made."""
    console = Console()
    with Reader(folder) as reader:
        found = explain_call(reader, run, position)
    console.print(
        f"{found.call.copy}, {found.call.purpose} {found.call.visit}, identity "
        f"{found.call.identity}",
        markup=False,
        highlight=False,
    )
    if found.other is None:
        console.print("No other call of this role is stored.")
        return
    console.print(
        f"nearest: run {found.other_run[:8]}, {found.other.position}", markup=False, highlight=False
    )
    for part in found.parts:
        sign = "=" if part.same else "≠"
        console.print(visible(f"{sign} {part.name} {part.change}".rstrip()), markup=False)
