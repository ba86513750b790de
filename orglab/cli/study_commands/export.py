"""``orglab export``: the tables of a study as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orglab.cli.options import StudyFolder
from orglab.results.tables.export import Format
from orglab.results.tables.export import export as export_tables


def export(
    folder: StudyFolder,
    to: Annotated[Format, typer.Option(help="Kind of file.")] = "parquet",
    out: Annotated[
        Path | None, typer.Option(help="Folder for the files.", show_default="DIR/export")
    ] = None,
) -> None:
    """Write a study's tables: one file each for runs, outputs, verdicts, calls, scores and more."""
    target = out or folder / "export"
    if out is None and target.is_symlink():
        raise typer.BadParameter(f"{target} is a link: name the folder to write to with --out")
    for path in export_tables(folder, to, target):
        typer.echo(path)
