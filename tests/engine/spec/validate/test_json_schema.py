"""JSON Schemas that an author writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from orglab.engine.spec.errors import path_text
from orglab.engine.spec.validate.json_schema import schema_problems
from orglab.engine.spec.yaml.reader import DEPTH_LIMIT

Lines = Callable[..., list[str]]


def told(schema: dict[str, Any]) -> list[str]:
    """The faults of a schema."""
    return [
        f"{path_text(p.path)}: {'; '.join(t for t in (p.wrong, p.expected, p.hint) if t)}"
        for p in schema_problems(schema, ())
    ]


def test_sound_schemas_have_no_faults() -> None:
    """Local references, also into themselves, and every keyword of 2020-12."""
    schema = {
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "requried": {"$ref": "#/$defs/node"},
            "b": True,
            "c": {"enum": [{"x y": 1}]},
        },
        "required": ["b"],
        "x-note": "free",
        "additionalProperties": False,
    }
    assert told(schema) == []


@pytest.mark.parametrize(
    ("schema", "lines"),
    [
        ({"type": "objct"}, [("type: expected one of array, boolean, integer, null, number, object, string, "
                             'got the text "objct"; did you mean `object`?')]),
        ({"properties": {"b": "text"}}, ['properties.b: expected a JSON Schema (a map), got the text "text"']),
        ({"required": "a"}, ['required: expected a list, got the text "a"; write [a]']),
        ({"requried": ["a"]}, ["requried: unknown keyword requried of JSON Schema; did you mean `required`?"]),
        ({"items": {"mininum": 1}}, ["items.mininum: unknown keyword mininum of JSON Schema; did you mean `minimum`?"]),
        ({"pattern": "("}, ['pattern: "(" is not a regular expression: missing ), unterminated subpattern at position 0']),
        ({"$ref": "http://x/y"}, ['$ref: "http://x/y" is not local; expected a reference into this schema; write `#/$defs/NAME`']),
        ({"$ref": "#/$defs/a"}, ['$ref: "#/$defs/a" does not resolve; expected a reference into this schema; write `#/$defs/NAME`']),
        ({"$ref": "#"}, ['$ref: "#" leads back to itself at the same value; refer from inside a property']),
        ({"$id": "x"}, ["$id: `$id` is not allowed; references are local: `#/$defs/…`"]),
        ({"$schema": "http://json-schema.org/draft-07/schema#"},
         ["$schema: expected https://json-schema.org/draft/2020-12/schema; remove it"]),
    ],
)  # fmt: skip
def test_faults_of_schemas(schema: dict[str, Any], lines: list[str]) -> None:
    """Form, misspelt keywords, patterns and references."""
    assert told(schema) == lines


def test_circles_through_other_schemas_are_found() -> None:
    """A reference that comes back at the same value would never end."""
    circle = {
        "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}},
        "properties": {"x": {"$ref": "#/$defs/a"}},
    }
    assert [line.split(":")[0] for line in told(circle)] == [
        "$defs.a.allOf[0].$ref",
        "$defs.b.anyOf[0].$ref",
    ]


def test_the_deepest_schema_that_can_be_read_can_be_checked() -> None:
    """No depth that the reader lets pass breaks the checks."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(DEPTH_LIMIT // 2):
        schema = {"type": "object", "properties": {"a": schema}}
    assert told(schema) == []
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(DEPTH_LIMIT):
        deep = {"not": deep}
    assert told(deep) == []


VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [0, 1, -1, 1.5, True, None, "a", "string", "objct", "#", ["a"], ["a", "a"], [1], {}]
)
SCHEMAS = st.recursive(
    VALUES,
    lambda inner: st.dictionaries(
        st.sampled_from(["type", "title", "minItems", "minimum", "enum", "required", "properties",
                         "$defs", "items", "additionalProperties", "a", "$ref", "anyOf"]),
        inner, max_size=4,
    ),
    max_leaves=8,
)  # fmt: skip


@given(SCHEMAS)
def test_a_schema_without_problems_fits_the_metaschema(schema: Any) -> None:
    """The quick look never passes a schema of the wrong form."""
    if isinstance(schema, dict) and not schema_problems(schema, ()):
        Draft202012Validator.check_schema(schema)


def test_common_schemas_have_no_problems() -> None:
    """Such as a role's output."""
    assert not schema_problems(
        {
            "type": "object", "required": ["a"], "additionalProperties": False,
            "properties": {"a": {"type": "array", "items": {"enum": ["x", "y"]}, "minItems": 1}},
        },
        (),
    )  # fmt: skip


def test_outputs_are_objects_and_inputs_are_schemas(issues: Lines) -> None:
    """Both are checked where they stand in a spec."""
    found = issues(
        """\
        inputs: {a: {type: strin, optional: true}, b: {type: file}}
        roles:
          writer: {output: {type: array}}
          critic: {output: {type: object, properties: {v: {type: [string, nul]}}}}
        output: writer
        """
    )
    assert [line.split(" ", 1)[1] for line in found] == [
        (
            "inputs.a.type: expected one of array, boolean, integer, null, number, object, string, "
            'got the text "strin"; did you mean `string`?'
        ),
        "inputs.b.type: file is no type of JSON Schema; write `type: string` and `format: file`",
        (
            'roles.writer.output.type: a structured output is an object, got the text "array"; '
            "write `type: object` with `properties`"
        ),
        (
            'roles.critic.output.properties.v.type[1]: "nul" is not one of array, boolean, integer, null, '
            "number, object, string; did you mean `null`?"
        ),
    ]
