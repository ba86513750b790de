"""A reply's schema in the part of JSON Schema that the Messages API holds a reply to."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from orglab.providers.anthropic.output_schema import answer_schema, enforced_schema, is_wrapped


def closed(**properties: Any) -> dict[str, Any]:
    """An object with these names alone, all required."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def test_a_schema_of_the_part_is_sent_as_it_is() -> None:
    """Nothing is loose, so the server holds the whole schema."""
    schema = closed(
        kind={"enum": ["a", "b", None]},
        items={"type": "array", "items": {"type": ["string", "null"]}, "minItems": 1},
        when={"type": "string", "format": "date"},
        either={"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/x"}]},
    )
    schema["$defs"] = {"x": closed(a={"const": 1}), "y": {"type": "string", "pattern": "^[a-z]+$"}}
    held = enforced_schema(schema)
    assert held is not None
    assert (held.schema, held.loose) == (schema, ())


def test_what_the_server_does_not_hold_is_named_and_described_to_the_model() -> None:
    """Limits go into the description, and the reply is not taken for held to them."""
    schema = closed(
        score={"type": "integer", "minimum": 1, "maximum": 5, "description": "How good."},
        word={"type": "string", "pattern": r"^(?!x)\w+", "maxLength": 9},
        tags={"type": "array", "items": {"type": "string"}, "minItems": 2, "uniqueItems": True},
    )
    held = enforced_schema(schema)
    assert held is not None
    assert held.loose == ("maxLength", "maximum", "minItems", "minimum", "pattern", "uniqueItems")
    score = held.schema["properties"]["score"]
    assert score == {"type": "integer", "description": "How good. (minimum: 1, maximum: 5)"}
    assert held.schema["properties"]["word"]["type"] == "string"
    assert "minItems" not in held.schema["properties"]["tags"]


def test_one_of_is_sent_as_any_of() -> None:
    """It is the nearest that the API has, and looser."""
    held = enforced_schema(closed(a={"oneOf": [{"type": "string"}, {"type": "null"}]}))
    assert held is not None
    assert held.loose == ("oneOf",)
    assert held.schema["properties"]["a"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}


def test_objects_are_closed_where_the_author_left_it_open() -> None:
    """The API wants it written; a closed object fits what an open one allows."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "$schema": "x"}
    held = enforced_schema(schema)
    assert held is not None
    assert held.schema["additionalProperties"] is False
    assert "$schema" not in held.schema


@pytest.mark.parametrize(
    "part",
    [
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "number"}},
        {"type": ["object", "null"], "properties": {"a": {}}, "additionalProperties": True},
        {"type": "object", "properties": {"a": {"type": "string"}}, "patternProperties": {}},
        {},
        True,
        {"description": "anything"},
    ],
)
def test_open_schemas_are_not_for_the_server(part: Any) -> None:
    """Names of the model's own cannot be held: the server would allow none."""
    assert enforced_schema(closed(part=part)) is None


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "maxLength": 3}, "abc"),
        (
            {"type": "array", "items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"type": "null"}}},
            [None],
        ),
        ({"anyOf": [closed(a={"type": "null"}), {"type": "number"}]}, 3),
    ],
)
def test_answers_that_are_no_objects_are_wrapped(schema: Any, value: Any) -> None:
    """A tool's input is an object; references still lead somewhere."""
    assert is_wrapped(schema)
    asked = answer_schema(schema)
    jsonschema.validate({"answer": value}, asked)
    with pytest.raises(jsonschema.ValidationError, match="answer"):
        jsonschema.validate({}, asked)


def test_an_answer_that_is_an_object_is_the_tool_s_whole_input() -> None:
    """Nothing is wrapped that need not be."""
    schema = closed(a={"type": "string"})
    assert not is_wrapped(schema)
    assert answer_schema(schema) == schema
