"""Options that several commands take."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from orglab.providers.base import JSON

MOST_SEED = 2**63 - 1
"""The largest root seed: it stands in a column of 64 bits."""
Cache = Annotated[
    bool,
    typer.Option(
        "--cache/--no-cache",
        help="Take replies that other studies paid for, and keep own ones for others; --no-cache pays "
        "for every call.",
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option(min=0, help="US dollars that the study may cost in all, judges included."),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Let the spec run what it names (Python functions, MCP servers), and have keys sent "
        "where it says. Read it first.",
    ),
]
Files = Annotated[
    list[Path],
    typer.Argument(metavar="FILE [FILE]", help="A team, an experiment, a sweep, or two teams."),
]
Inputs = Annotated[
    list[str] | None, typer.Option("--input", help="name=value: one input of one unit.")
]
Units = Annotated[
    Path | None, typer.Option(help="A file of units: .jsonl, .json, .csv or .parquet.")
]
Replicates = Annotated[int | None, typer.Option(min=1, help="Runs of each unit.")]
Seed = Annotated[int | None, typer.Option(min=0, max=MOST_SEED, help="Root seed of every draw.")]
Models = Annotated[Path | None, typer.Option(help="A catalogue in place of the spec's models.")]
Sets = Annotated[
    list[str] | None, typer.Option("--set", help="path=value: changes one field of the spec.")
]
Out = Annotated[
    Path | None, typer.Option(help="The study's folder.", show_default="runs/NAME-HASH")
]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Try failed runs again.")]
StudyFolder = Annotated[Path, typer.Argument(help="A study's folder.")]


def overrides_of(pairs: Sequence[str]) -> dict[str, JSON]:
    """``--set`` arguments: a value is JSON where it can be read as such, else text.

    Raises:
        typer.BadParameter: One is not of the form ``path=value``, or is given twice.
    """
    overrides: dict[str, JSON] = {}
    for pair in pairs:
        path, equals, text = pair.partition("=")
        if not equals or not path:
            raise typer.BadParameter(f"write --set as path=value, not {pair!r}")
        if path in overrides:
            raise typer.BadParameter(f"--set {path} is given twice")
        overrides[path] = _value(text)
    return overrides


def _value(text: str) -> JSON:
    def refuse(name: str) -> JSON:
        raise ValueError(name)

    try:
        return json.loads(text, parse_constant=refuse)
    except ValueError:
        return text
