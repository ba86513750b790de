"""Values drawn for a schema fit it, or there is none."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker

from orglab.providers.simulated.prose import Prose
from orglab.providers.simulated.random_stream import RandomStream
from orglab.providers.simulated.schema_sampler import (
    LEAVE_OUT,
    NOTHING,
    Hint,
    NoSampleError,
    SchemaSampler,
)

TREE = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
            "required": ["name", "children"],
        }
    },
    "$ref": "#/$defs/node",
}  # fmt: skip

SCHEMAS: list[Any] = [
    {"type": "object", "properties": {"a": {"type": "integer", "minimum": 3, "maximum": 3}}, "required": ["a"]},
    {"type": "object", "required": ["x"], "properties": {}, "additionalProperties": {"type": "boolean"}},
    {"type": "object", "minProperties": 2, "properties": {"a": {}, "b": {}, "c": {}}, "additionalProperties": False},
    {"type": "object", "minProperties": 3},
    {"properties": {"a": {}, "b": {}}, "required": ["a"], "dependentRequired": {"a": ["b"]}, "additionalProperties": False},
    {"type": "array", "items": {"enum": ["a", "b", "c"]}, "minItems": 3, "uniqueItems": True},
    {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "number"}},
    {"type": "array", "prefixItems": [{"type": "string"}, {"type": "null"}], "items": False},
    {"type": "array", "contains": {"const": 7}, "minItems": 2},
    {"type": "string", "minLength": 40, "maxLength": 42},
    {"type": "string", "maxLength": 3},
    {"type": "string", "minLength": 500},
    {"type": "string", "pattern": "^[A-Z]{2}-\\d{3}(-[a-f0-9]+)?$"},
    {"type": "string", "pattern": "^(red|green|blue)( light)*$", "maxLength": 12},
    {"type": "string", "format": "date"},
    {"type": "string", "format": "date-time"},
    {"type": "string", "format": "email"},
    {"type": "string", "format": "ipv4"},
    {"type": "string", "format": "uuid"},
    {"type": "integer", "exclusiveMinimum": 2, "exclusiveMaximum": 4},
    {"type": "integer", "multipleOf": 7, "minimum": 50},
    {"type": "integer", "maximum": -5},
    {"type": "number", "minimum": 0.1, "maximum": 0.10001},
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    {"type": "number", "multipleOf": 0.5, "minimum": 1},
    {"type": ["null", "string"]},
    {"type": "null"},
    {"type": "boolean"},
    {"const": {"a": [1, None]}},
    {"enum": [1, "a", None, {"b": 2}]},
    {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    {"oneOf": [{"type": "object", "required": ["a"], "properties": {"a": {"const": 1}}}, {"type": "null"}]},
    {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
    {"allOf": [{"type": "number", "minimum": 5}, {"type": "integer", "maximum": 6}]},
    {"allOf": [{"properties": {"a": {"minimum": 2}}, "required": ["a"]}, {"properties": {"a": {"type": "integer", "maximum": 2}}}]},
    {"if": {"properties": {"k": {"const": "x"}}, "required": ["k"]}, "then": {"required": ["v"]}, "type": "object", "properties": {"k": {"enum": ["x", "y"]}, "v": {"type": "integer"}}, "required": ["k"]},
    {"type": "string", "not": {"const": "a"}},
    TREE,
    {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "required": ["next"]},
    True,
    {},
]  # fmt: skip


def sampler(schema: Any, seed: str, hint: Hint = lambda name, schema: NOTHING) -> SchemaSampler:
    """A sampler without hints."""
    stream = RandomStream(seed)
    prose = Prose(stream, ["films"])
    return SchemaSampler(schema, stream, prose, hint=hint, optional=0.5, words=lambda: 8)


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: json.dumps(schema)[:60])
def test_every_value_fits_its_schema(schema: Any) -> None:
    """Also by the checker that knows formats."""
    checker = Draft202012Validator(schema, format_checker=FormatChecker())
    for seed in range(20):
        value = sampler(schema, str(seed)).sample()
        assert checker.is_valid(value), value


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (False, "nothing fits"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "no whole number is left"),
        ({"type": "string", "pattern": "a++"}, "no text for the pattern"),
        ({"type": "string", "pattern": "^aaaa$", "maxLength": 2}, "was found in 30 attempts"),
        ({"type": "array", "items": {"enum": ["a"]}, "minItems": 2, "uniqueItems": True}, "2 different items"),
        ({"type": "string", "not": {"type": "string"}}, "does not fit"),
        ({"$ref": "#"}, "refers to itself"),
        ({"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}}, "refers to itself"),
        ({"allOf": [{"enum": ["a"]}, {"enum": ["b"]}]}, "nothing is allowed"),
    ],
)  # fmt: skip
def test_what_cannot_be_made_is_refused(schema: Any, why: str) -> None:
    """A schema that nothing fits, or that is too hard, gives the reason and no value."""
    with pytest.raises(NoSampleError, match=why):
        sampler(schema, "1").sample()


def test_the_same_seed_gives_the_same_value() -> None:
    """Nothing but the seed decides."""
    values = [sampler(TREE, seed).sample() for seed in ("a", "a", "b")]
    assert values[0] == values[1]
    assert values[0] != values[2]


def test_hints_are_asked_first_and_may_leave_out() -> None:
    """A hint gives a field its value, or leaves out an optional one; a required one is drawn."""
    schema = {
        "type": "object",
        "properties": {name: {"type": "integer"} for name in "abc"},
        "required": ["a", "c"],
    }
    hints = {"a": 41, "b": LEAVE_OUT, "c": LEAVE_OUT}
    value = sampler(schema, "1", hint=lambda name, _: hints[name]).sample()
    assert value["a"] == 41
    assert set(value) == {"a", "c"}


@given(
    st.sampled_from(
        ["a+", "[^a-c]{2}", "x|yz", "(?:ab){1,3}", "\\d\\w\\s\\D\\W\\S", "a?b*", "^$", ".", "\\.\\[", "[]a]", "[a\\]-]{3}", "a{2,}", "a+?b", "\\n\\t", "(?!x)y", "(?P<n>a|b)(?P=n)"]
    ),
    st.integers(),
)  # fmt: skip
def test_a_text_matches_its_pattern(pattern: str, seed: int) -> None:
    """Whatever is drawn, the pattern is found in it."""
    assert re.search(pattern, sampler({"type": "string", "pattern": pattern}, str(seed)).sample())


@pytest.mark.parametrize(
    "pattern",
    ["(a", "a)", "[a", "\\b", "\\1", "*a", "[z-a]", "a++", "(a{99}){99}{9}"],
)
def test_a_pattern_without_a_text_is_refused(pattern: str) -> None:
    """Broken ones, those that rstr cannot follow, and those that ask for too long a text."""
    with pytest.raises(ValueError, match="pattern"):
        sampler({"type": "string", "pattern": pattern}, "1").sample()


def test_the_text_of_a_pattern_is_the_same_in_every_process() -> None:
    """Rstr iterates over sets of characters, whose order Python changes from process to process."""
    schema = {"type": "string", "pattern": r"^[^a]{6}\W.[x-z]$"}
    code = (
        "import sys; sys.path.insert(0, 'tests/providers/simulated'); "
        "from test_schema_sampler import sampler; "
        f"print(ascii(sampler({schema!r}, '1').sample()))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert texts == {f"{sampler(schema, '1').sample()!a}\n"}


def test_draws_are_as_likely_as_they_should_be() -> None:
    """Chances, weights and the normal distribution, over many draws of one seed."""
    stream = RandomStream("many")
    assert 0.28 < sum(stream.chance(0.3) for _ in range(4000)) / 4000 < 0.32
    picked = [stream.weighted({"a": 3.0, "b": 1.0, "c": 0.0}) for _ in range(4000)]
    assert 0.72 < picked.count("a") / 4000 < 0.78
    assert "c" not in picked
    drawn = [stream.normal(10.0, 2.0) for _ in range(4000)]
    assert 9.9 < sum(drawn) / 4000 < 10.1
    assert {stream.weighted({"a": 0.0, "b": 0.0}) for _ in range(50)} == {"a", "b"}
    assert sorted(stream.shuffled(range(9))) == list(range(9))
