"""``orglab report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orglab.providers.terminal_safety import visible


def report(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder of an experiment or a sweep.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the report.", show_default="DIR")
    ] = None,
    transcripts: Annotated[
        bool, typer.Option(help="Write the transcripts too, one page a unit.")
    ] = True,
) -> None:
    """Analyse an experiment or a sweep and writes report.html, report.md, report.json and transcripts."""
    print_report(folder, out, transcripts=transcripts)


def print_report(folder: Path, out: Path | None = None, *, transcripts: bool = True) -> None:
    """Write the report, and print its answer and where it lies.

    Raises:
        StoreError: There is no study, or it is no experiment and no sweep.
        OSError: A file cannot be written.
    """
    # Here, so that no other command pays for SciPy and Matplotlib.
    from orglab.results.report.write import write_report

    written = write_report(folder, out, transcripts=transcripts)
    if written.simulated:
        typer.echo("SIMULATED")
    for line in (written.answer, *written.lines):
        typer.echo(visible(line))
    typer.echo(f"Report: {written.page}")
