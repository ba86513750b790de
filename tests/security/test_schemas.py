"""JSON Schemas from a stranger: nothing is fetched, no pattern hangs, no reply fills the memory."""

from __future__ import annotations

from typing import Any

import pytest

from orglab.engine.graph.check import check_file
from orglab.engine.study.batch.study_folder import load_team
from orglab.engine.study.batch.units import UnitError, typed_unit
from orglab.evaluators.text.pattern import compile_pattern
from orglab.providers.base import BadRequest, Message, Request
from orglab.providers.simulated.provider import SimulatedProvider
from orglab.providers.structured_output.validation import checker_for

Den = Any
JSON = Any

SLOW = "^(a|aa)+$"
TEXT = "a" * 60 + "b"


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "file:///etc/passwd"},
        {"$ref": "http://127.0.0.1:9/x"},
        {"$dynamicRef": "http://127.0.0.1:9/x"},
        {"properties": {"a": {"$ref": "other.json#/a"}}},
        {"$id": "file:///etc/", "$ref": "passwd"},
    ],
    ids=str,
)
def test_no_schema_is_fetched(den: Den, schema: JSON) -> None:
    """A reference that leaves the schema is a fault, of a role's output and of an evaluator's."""
    with pytest.raises(ValueError, match="does not resolve"):
        checker_for(schema)
    text = den.text.replace("prompt: P", f"prompt: P, output: {schema}".replace("'", '"'))
    den.write({"t.yaml": text, "replies.jsonl": ""})
    issues = [str(issue) for issue in check_file(den.spec / "t.yaml").issues]
    assert any(word in " ".join(issues) for word in ("not local", "not allowed"))


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"pattern": SLOW}, TEXT),
        ({"items": {"pattern": SLOW}}, [TEXT] * 1000),
        ({"patternProperties": {SLOW: {}}}, {f"{TEXT}{n}": n for n in range(1000)}),
        ({"patternProperties": {SLOW: {}}, "additionalProperties": False}, {TEXT: 1}),
        ({"propertyNames": {"pattern": SLOW}}, {TEXT: 1}),
    ],
    ids=["text", "items", "names", "other names", "every name"],
)
def test_no_pattern_hangs(schema: JSON, value: JSON) -> None:
    """All patterns of one check share half a second; then the value does not fit."""
    checker = checker_for(schema)
    assert not checker.fits(value)
    assert "took too long" in checker.message(value)


def test_patterns_of_names_mean_what_they_mean() -> None:
    """The timed keywords agree with JSON Schema."""
    schema = {
        "properties": {"b": {}},
        "patternProperties": {"^a": {"type": "string"}},
        "additionalProperties": {"type": "integer"},
    }
    checker = checker_for(schema)
    assert checker.fits({"a1": "x", "b": None, "c": 1})
    assert not checker.fits({"a1": 1})
    assert not checker.fits({"c": "x"})
    unique = checker_for({"uniqueItems": True})
    assert unique.fits([1, True, "1", [1], [True], {"a": 1}, {"a": True}, {"a": [1]}, None])
    assert not unique.fits([{"a": 1, "b": 2}, {"b": 2, "a": 1.0}])


def test_unevaluated_names_are_refused_beside_patterns(den: Den) -> None:
    """The library matches those without a limit of time, so the loader says what to write."""
    schema = {"allOf": [{"patternProperties": {"a": {}}}], "unevaluatedProperties": False}
    with pytest.raises(ValueError, match="write `additionalProperties`"):
        checker_for(schema)
    output = "{patternProperties: {a: {}}, unevaluatedProperties: false}"
    den.write({"t.yaml": den.text.replace("prompt: P", f"prompt: P, output: {output}")})
    issues = [str(issue) for issue in check_file(den.spec / "t.yaml").issues]
    assert any("do not go together" in issue for issue in issues)


@pytest.mark.timeout(20)
def test_no_list_of_a_reply_takes_quadratic_time() -> None:
    """`uniqueItems` over many items of several kinds."""
    many = [item for n in range(30_000) for item in (n, str(n), [n])]
    assert checker_for({"uniqueItems": True}).fits(many)


@pytest.mark.timeout(20)
def test_no_input_hangs(den: Den) -> None:
    """Patterns of inputs are timed as well."""
    pattern = f'type: string, optional: true, pattern: "{SLOW}"'
    den.write({"t.yaml": den.text.replace("type: string, optional: true", pattern)})
    den.write({"replies.jsonl": ""})
    team = load_team(den.spec / "t.yaml")
    with pytest.raises(UnitError, match="took too long"):
        typed_unit([f"x={TEXT}"], team.topology)


@pytest.mark.parametrize("pattern", ["((a{999}){999}){9}", "a" * 3000, "(" * 500])
def test_no_pattern_of_an_evaluator_is_a_bomb(pattern: str) -> None:
    """Repetitions of repetitions, long and broken patterns are refused before any search."""
    with pytest.raises(ValueError, match="pattern"):
        compile_pattern(pattern)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "^a{1000000000}$"},
        {"type": "string", "pattern": "^((((a{1,1000}){1000}){1000}){1000})$"},
        {"type": "string", "pattern": "^(){1000000000}$"},
        {"type": "string", "minLength": 10**12},
        {"type": "array", "minItems": 10**12, "items": {"type": "integer"}},
        {
            "type": "array",
            "minItems": 2000,
            "items": {"type": "array", "minItems": 2000, "items": {"const": 1}},
        },
        {"type": "object", "minProperties": 10**12},
        {"type": "array", "minItems": 10**400},
        {"type": "array", "contains": {"const": 1}, "minContains": 10**12},
        {"type": "integer", "minimum": 10**400, "maximum": 10**401},
    ],
    ids=lambda schema: str(schema)[:60],
)
async def test_no_invented_reply_fills_the_memory(schema: JSON) -> None:
    """A simulated model makes up what a schema asks for, within bounds."""
    whole = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    asked = Request(model="", messages=(Message(role="user", content="x"),), schema=whole)
    with pytest.raises(BadRequest, match="no reply can be made"):
        await SimulatedProvider.from_spec("", {}).complete(asked)
