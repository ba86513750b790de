"""Values against JSON Schema: the quick check agrees, faults are in words, nothing is fetched."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from orglab.providers.structured_output.validation import checker_for

NAMES = st.sampled_from(["a", "b", "c"])
TYPES = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])
SMALL = st.integers(0, 3)
SCHEMAS = st.recursive(
    st.booleans()
    | st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
            "enum": st.lists(st.sampled_from(["a", "b", None, 1, 2**64]), min_size=1, unique=True),
            "const": st.sampled_from([True, 1.0, [1], {"a": 0}]),
            "minLength": SMALL,
            "maxLength": SMALL,
            "minimum": st.integers(-2, 2) | st.floats(-2, 2),
            "maximum": st.integers(-2, 2) | st.floats(-2, 2),
            "minItems": SMALL,
            "maxItems": SMALL,
            "exclusiveMinimum": st.sampled_from([2**53, 2**64, 0.1]),
            "uniqueItems": st.booleans(),
            "minProperties": SMALL,
            "dependentRequired": st.just({"a": ["b"]}),
            "title": st.just("t"),
            "format": st.just("date"),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES,
            "items": inner,
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "required": st.lists(NAMES, unique=True),
            "additionalProperties": inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "contains": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
            "if": inner,
            "then": inner,
            "propertyNames": inner,
            "pattern": st.sampled_from(["^a", "b$", r"\d"]),
            "multipleOf": st.sampled_from([1, 0.1, 2]),
        },
    ),
    max_leaves=6,
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, 1.0, -1.5, 0.3, 1e300, 2**53 + 1, 2**64, float(2**64), 10**30])
    | st.sampled_from(["", "a", "b", "abc", "abcd"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@given(SCHEMAS, VALUES)
def test_acceptance_agrees_with_jsonschema(schema: Any, value: Any) -> None:
    """A value fits exactly where jsonschema says so, and errors are found exactly where it does not."""
    checker = checker_for(schema)
    assert checker.fits(value) == Draft202012Validator(schema).is_valid(value)
    assert bool(checker.errors(value)) != checker.fits(value)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}, "a"),
        ({"items": {"pattern": r"(a)(?(1)b|c)\Z"}}, ["ab"]),
        ({"multipleOf": 0.1}, 0.3),
        ({"type": "number"}, float("nan")),
        ({"type": "integer"}, 1.0),
        ({"type": "integer"}, 10**400),
        ({"type": "string", "format": "date"}, "no date"),
        ({"type": "string"}, "\ud800"),
        ({"enum": [1, 0]}, True),
    ],
)
def test_jsonschema_decides_where_the_quick_validator_differs(schema: Any, value: Any) -> None:
    """Other regular expressions, rounding, NaN, lone surrogates: the answer is jsonschema's."""
    assert checker_for(schema).fits(value) == Draft202012Validator(schema).is_valid(value)


def test_endless_references_fit_nothing() -> None:
    """A schema that refers to itself without end refuses, and does not crash."""
    assert not checker_for({"$ref": "#"}).fits(1)


@pytest.mark.parametrize(
    ("schema", "value", "words"),
    [
        ({"required": ["a", "b"]}, {}, "the value lacks `a`, `b`"),
        (
            {"properties": {"a": {"enum": ["x", "y"]}}},
            {"a": "z"},
            '`a` must be one of "x", "y"; not "z"',
        ),
        ({"items": {"type": "integer"}}, ["1"], '`[0]` must be a whole number, not a text: "1"'),
        (
            {"properties": {"a": {"minLength": 3}}},
            {"a": "x"},
            "`a` must have at least 3 characters, not 1",
        ),
        ({"maxItems": 1}, [1, 2], "the value must have at most 1 items, not 2"),
        ({"minimum": 3}, 1, "the value must be at least 3, not 1"),
        ({"const": 1}, 2, "the value must be 1, not 2"),
        ({"pattern": "^a"}, "b", 'the value must match the pattern "^a", not "b"'),
        ({"uniqueItems": True}, [1, 1], "the value holds the same item twice; all must differ"),
        ({"not": {}}, 1, "the value does not fit: 1 should not be valid under {}"),
        (
            {"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}},
            {"a": 1},
            "`a` fits none of the forms allowed: `a` must be a text, not a number: 1; or `a` must be null, not a number: 1",
        ),
        ({"oneOf": [True, {}]}, 1, "the value fits several forms, not one"),
    ],
)
def test_faults_name_field_wrong_and_allowed(schema: Any, value: Any, words: str) -> None:
    """One sentence says where, what was wrong and what is allowed."""
    assert words in checker_for(schema).errors(value)


def test_many_faults_are_counted_not_listed() -> None:
    """Three are told, the others are counted."""
    faults = checker_for({"items": {"type": "string"}}).errors([1, 2, 3, 4, 5])
    assert len(faults) == 4
    assert faults[-1] == "and 2 more"


def test_a_long_value_is_clipped_in_the_message() -> None:
    """A fault never repeats a long text."""
    (fault,) = checker_for({"type": "integer"}).errors("x" * 10_000)
    assert len(fault) < 150


@pytest.mark.parametrize(
    "reference", ["https://example.org/s.json", "file:///etc/passwd", "#/$defs/b"]
)
def test_a_reference_stays_inside_the_schema(reference: str) -> None:
    """A reference to anything else is refused before any reply is read."""
    with pytest.raises(ValueError, match="does not resolve inside the schema"):
        checker_for({"properties": {"a": {"$ref": reference}}})


def test_a_property_may_be_called_ref() -> None:
    """Words inside const, enum, default and examples are values, not references."""
    assert checker_for({"const": {"$ref": "#/nowhere"}}).fits({"$ref": "#/nowhere"})


def test_a_pattern_has_a_time_limit() -> None:
    """A pattern that never ends is a fault of the value, not a hang."""
    faults = checker_for({"pattern": "^(a|aa)+$"}).errors("a" * 60 + "b")
    assert "took too long" in faults[0] or "must match" in faults[0]


def test_a_pattern_that_cannot_be_read_is_refused() -> None:
    """The author's fault is told when the schema is taken."""
    with pytest.raises(ValueError, match="at pattern: '\\(' is not a 'regex'"):
        checker_for({"pattern": "("})


def test_equal_schemas_share_a_checker() -> None:
    """A schema made anew for each turn costs no new checker."""
    assert checker_for({"type": "string"}) is checker_for({"type": "string"})


@pytest.mark.parametrize("pattern", ["a{9999999999}", "a{99999999999,}"])
def test_a_repetition_beyond_every_engine_is_refused(pattern: str) -> None:
    """The standard library overflows on it while the schema itself is checked."""
    with pytest.raises(ValueError, match="repeats too much"):
        checker_for({"pattern": pattern})
