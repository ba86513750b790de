"""Which schemas are sent as strict."""

from __future__ import annotations

from typing import Any

import pytest

from orglab.providers.openai.request import strict_allows


def closed(**properties: Any) -> dict[str, Any]:
    """An object with these fields, all required, and no other."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    "schema",
    [
        closed(a={"type": "string", "maxLength": 9}),
        closed(a=closed(b={"type": ["integer", "null"]})),
        closed(a={"type": "array", "items": closed(b={"enum": [1, 2]})}),
        closed(a={"anyOf": [closed(b={"const": 1}), {"type": "null"}]}),
        {**closed(a={"$ref": "#/$defs/x"}), "$defs": {"x": closed(b={"type": "string"})}},
    ],
)
def test_closed_schemas_are_strict(schema: dict[str, Any]) -> None:
    """Closed objects with every field required, at every depth."""
    assert strict_allows(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"anyOf": [closed(a={"type": "string"})]},
        {**closed(a={"type": "string"}), "required": []},
        {**closed(a={"type": "string"}), "additionalProperties": True},
        closed(a={"type": "object"}),
        closed(a={"type": "array", "items": {"type": "object", "properties": {}}}),
        closed(a={"type": "string", "default": "x"}),
        closed(a={"not": {"type": "string"}}),
        closed(a={"anyOf": [{"type": "object", "additionalProperties": {}}]}),
        {**closed(a=True)},
    ],
)
def test_other_schemas_are_not(schema: dict[str, Any]) -> None:
    """Open objects, optional fields, logic, and a choice at the top."""
    assert not strict_allows(schema)
