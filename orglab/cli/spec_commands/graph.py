"""``orglab graph``: a drawing of a team."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from orglab.cli.options import Sets, Trust, overrides_of
from orglab.engine.graph.draw.draw import draw
from orglab.engine.study.batch.study_folder import load_team


def graph(
    file: Annotated[Path, typer.Argument(help="The spec of a team.")],
    format_: Annotated[
        Literal["mermaid", "dot", "svg", "json"], typer.Option("--format", help="Kind of drawing.")
    ] = "mermaid",
    sets: Sets = None,
    trust: Trust = False,
) -> None:
    """Draw a team: forward links solid, authority dashed with its cap."""
    typer.echo(draw(load_team(file, overrides=overrides_of(sets or []), trust=trust), format_))
