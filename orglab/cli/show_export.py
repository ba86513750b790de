"""``orglab show`` and ``orglab export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from orglab.results.display.run_list import runs_table
from orglab.results.display.transcript import transcript
from orglab.results.store.reader import Reader
from orglab.results.tables.export import Format
from orglab.results.tables.export import export as export_tables

__all__ = ["export", "show"]


def show(
    folder: Annotated[Path, typer.Argument(help="A study's folder.")],
    run: Annotated[
        str | None, typer.Argument(help="A run: the first characters of its id.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Unfold prompts, tool calls and reasoning.")
    ] = False,
    pager: Annotated[bool, typer.Option("--pager", help="Read it in a pager.")] = False,
) -> None:
    """Shows the runs of a study, or the transcript of one."""
    console = Console()
    with Reader(folder) as reader:
        if run is None:
            page = runs_table(reader)
        else:
            page = transcript(reader.record(reader.find(run).id), full=full)
    if pager:
        with console.pager(styles=True):
            console.print(page)
    else:
        console.print(page)


def export(
    folder: Annotated[Path, typer.Argument(help="A study's folder.")],
    to: Annotated[Format, typer.Option(help="Kind of file.")] = "parquet",
    out: Annotated[
        Path | None, typer.Option(help="Folder for the files.", show_default="DIR/export")
    ] = None,
) -> None:
    """Writes a study's tables: one file each for runs, outputs, verdicts, calls, scores and more."""
    target = out or folder / "export"
    if out is None and target.is_symlink():
        raise typer.BadParameter(f"{target} is a link: name the folder to write to with --out")
    for path in export_tables(folder, to, target):
        typer.echo(path)
