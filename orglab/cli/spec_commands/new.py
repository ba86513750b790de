"""``orglab new``: a first spec to edit."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer


def new(
    name: Annotated[str, typer.Argument(help="The new team's name; NAME.yaml is written.")],
) -> None:
    """Write a first spec to edit: a writer and an editor who may send the draft back."""
    path = Path(name if name.endswith(".yaml") else f"{name}.yaml")
    if not path.stem[:1].isalnum():
        raise typer.BadParameter(f"{name!r} is no name: begin it with a letter or a digit")
    if path.exists():
        raise typer.BadParameter(f"{path} exists; nothing was written")
    text = (files("orglab.cli") / "new.yaml").read_text(encoding="utf-8")
    path.write_text(text.replace("NAME", path.stem), encoding="utf-8")
    typer.echo(f"{path} written. Next:")
    typer.echo(f"  orglab check {path}")
    typer.echo(f'  orglab run {path} --input topic="the case for small teams"')
