"""The reference page names every field of the language, with its default."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from orglab.engine.spec.validate.schema import schema
from orglab.engine.spec.yaml.reader import read_text

PAGE = (Path(__file__).parents[2] / "docs/reference/spec.md").read_text("utf-8")
CELLS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines()]
ROWS = [
    (re.findall(r"`([a-z_]+)(?::[^`]*)?`", cells[0]), cells[2])
    for cells in CELLS
    if len(cells) == 3 and cells[0].startswith("`")
]
DEFINITIONS = {k: v for k, v in schema("topology")["$defs"].items() if not k.endswith("-change")}


def fields() -> list[tuple[str, str, Any]]:
    """Every field of every map: its definition, its name, its schema."""
    whole = {
        **DEFINITIONS,
        **{f"trigger {i}": part for i, part in enumerate(DEFINITIONS["trigger"]["anyOf"])},
    }
    return [
        (name, key, part)
        for name, node in whole.items()
        for key, part in node.get("properties", {}).items()
    ]


@pytest.mark.parametrize(("where", "key", "part"), fields())
def test_every_field_is_on_the_page(where: str, key: str, part: dict[str, Any]) -> None:
    """In a row of its own, or named in the row of the map that holds it."""
    assert any(key in names for names, _ in ROWS) or f"`{key}`" in PAGE or f"{key}:" in PAGE, (
        where,
        key,
    )


@pytest.mark.parametrize(
    ("where", "key", "part"),
    [one for one in fields() if "default" in one[2] and one[0] not in {"stake", "topology"}],
)
def test_defaults_are_those_of_the_schema(where: str, key: str, part: dict[str, Any]) -> None:
    """A default on the page, read as YAML, is the one that is filled in."""
    told = [default for names, default in ROWS if key in names]
    values = [
        read_text(f"a: {text or repr('')}", "x").data["a"] for text in told if text[:1] != "`"
    ]
    if key == "on_cap":
        values = read_text(f"a: [{told[0].replace(';', ',')}]", "x").data["a"]
    assert part["default"] in [*values, *(text.strip("`") for text in told)]
