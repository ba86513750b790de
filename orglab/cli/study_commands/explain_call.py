"""``orglab explain-call``: why a call was made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console

from orglab.cli.options import StudyFolder
from orglab.engine.study.plan.cache_miss import IdentityPart, explain_cached, explain_call
from orglab.providers.terminal_safety import visible
from orglab.results.records import CallEntry
from orglab.results.store.reader import Reader
from orglab.results.store.response_cache import response_cache_file


def explain(
    folder: StudyFolder,
    run: Annotated[str, typer.Argument(help="A run: the first characters of its id.")],
    position: Annotated[str, typer.Argument(help="A call's position, such as 3.turn.0.0.")],
) -> None:
    """Show which part of a call differs from the nearest stored call: why it was made."""
    console = Console()
    with Reader(folder) as reader:
        found = explain_call(reader, run, position)
        try:
            kept = explain_cached(reader, run, position, response_cache_file(reader.path.parent))
        except ValueError as unread:  # a broken response cache stops nothing
            kept = None
            _say(console, str(unread))
    call = found.call
    _say(console, f"{call.copy}, {call.purpose} {call.visit}, identity {call.identity}")
    _say(console, _origin(found.call))
    if found.other is None:
        console.print("No other call of this role is stored here.")
    else:
        _say(console, f"nearest: run {found.other_run[:8]}, {found.other.position}")
        _say_parts(console, found.parts)
    if kept is not None:
        other = kept.other
        _say(console, f"nearest of other studies: {other.study}, paid for {other.paid}")
        _say_parts(console, kept.parts)


def _origin(call: CallEntry) -> str:
    """Who paid for the reply."""
    if call.kept:
        return f"not paid here: taken from the study {call.kept['study']}, {call.kept['paid']}"
    return "paid here" if call.paid else "not paid: taken from another run of this study"


def _say_parts(console: Console, parts: Sequence[IdentityPart]) -> None:
    for part in parts:
        _say(console, f"{'=' if part.same else '≠'} {part.name} {part.change}".rstrip())


def _say(console: Console, message: str) -> None:
    console.print(visible(message), markup=False, highlight=False)
