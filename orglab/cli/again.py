"""``orglab evaluate`` and ``orglab explain-call``."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from orglab.engine.study.again import evaluate_again, evaluators_of
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
    uses = evaluators_of(with_)
    store = Store(folder)
    try:
        number = asyncio.run(evaluate_again(store, uses, folder=with_.parent, anew=anew))
    finally:
        store.close()
    Console().print(summary([folder]))
    typer.echo(f"{number} runs looked at with {len(uses)} evaluators.")


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
