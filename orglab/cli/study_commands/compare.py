"""``orglab compare``: the figures of several studies side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from orglab.results.display.summary import summary


def compare(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders of studies.")],
    everything: Annotated[
        bool, typer.Option("--all", help="Every figure, not the main ones alone.")
    ] = False,
) -> None:
    """Print the figures of several studies side by side; it tests nothing."""
    Console().print(summary(folders, everything=everything))
