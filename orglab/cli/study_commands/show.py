"""``orglab show``: the runs of a study, or the transcript of one."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from orglab.cli.options import StudyFolder
from orglab.results.display.transcript import runs_table, transcript
from orglab.results.store.reader import Reader


def show(
    folder: StudyFolder,
    run: Annotated[
        str | None, typer.Argument(help="A run: the first characters of its id.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Unfold prompts, tool calls and reasoning.")
    ] = False,
    pager: Annotated[bool, typer.Option("--pager", help="Read it in a pager.")] = False,
) -> None:
    """Show the runs of a study, or the transcript of one."""
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
