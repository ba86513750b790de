"""``orglab schema``: the JSON Schema of a kind of spec."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from orglab.engine.spec.validate.schema import schema as spec_schema


def schema(
    kind: Annotated[str, typer.Argument(help="topology, experiment or sweep.")] = "topology",
) -> None:
    """Print the JSON Schema of a kind of spec, for editors."""
    typer.echo(json.dumps(spec_schema(kind), indent=2, ensure_ascii=False))
