"""The grammar of a schema: what it writes fits the schema, and it has an end."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import jsonschema
import pytest
from case_files import case_folder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orglab.providers.llama.grammar import (
    LIST_ITEMS,
    TEXT_CHARACTERS,
    Grammar,
    GrammarError,
    grammar_of,
)

_few = settings(
    max_examples=40,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


def _texts(grammar: Grammar) -> st.SearchStrategy[str]:
    return st.from_regex(_Reader(grammar.text).pattern(), fullmatch=True)


VERDICT = {
    "type": "object",
    "properties": {
        "action": {"enum": ["approve", "comment", "revise"]},
        "reason": {"type": "string"},
    },
    "required": ["action", "reason"],
    "additionalProperties": False,
}

SCHEMAS: dict[str, Any] = {
    "verdict": VERDICT,
    "union": {
        "anyOf": [
            {
                "type": "object",
                "properties": {"action": {"const": "approve"}},
                "required": ["action"],
                "additionalProperties": False,
            },
            {
                "type": "object",
                "properties": {
                    "action": {"enum": ["revise", "reject"]},
                    "target": {"enum": ["writer", "analyst#2"]},
                    "reason": {"type": "string", "minLength": 1, "maxLength": 60},
                },
                "required": ["action", "reason"],
                "additionalProperties": False,
            },
        ]
    },
    "optional first": {
        "type": "object",
        "properties": {
            "a": {"type": "boolean"},
            "b": {"type": "null"},
            "c": {"type": "integer", "minimum": -7, "maximum": 1203},
            "d": {"type": "number"},
        },
        "required": ["c"],
        "additionalProperties": False,
    },
    "all optional": {
        "type": "object",
        "properties": {"a": {"type": "boolean"}, "b": {"type": "boolean"}},
        "additionalProperties": False,
    },
    "lists": {
        "type": "object",
        "properties": {
            "tags": {"type": "array", "items": {"enum": ["x", "y"]}, "minItems": 1},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
            "few": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3},
            "none": {"type": "array", "maxItems": 0},
        },
        "required": ["tags", "pair", "few", "none"],
        "additionalProperties": False,
    },
    "references": {
        "$defs": {"rate": {"type": "integer", "minimum": 1, "maximum": 5}},
        "type": "object",
        "properties": {
            "one": {"$ref": "#/$defs/rate"},
            "two": {"$ref": "#/$defs/rate", "maximum": 3},
        },
        "required": ["one", "two"],
        "additionalProperties": False,
    },
    "all of": {
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"properties": {"a": {"maxLength": 5}, "b": {"type": "integer"}}, "required": ["b"]},
        ]
    },
    "surroundings of a union": {
        "type": "object",
        "properties": {"kind": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["kind"],
        "oneOf": [
            {"properties": {"kind": {"const": "plain"}}},
            {"properties": {"kind": {"const": "counted"}}, "required": ["n"]},
        ],
    },
    "kinds": {"type": ["string", "null", "integer"], "maxLength": 3, "minimum": 5},
    "free": {"type": "object"},
    "free values": {"type": "object", "additionalProperties": {"type": "integer"}},
    "anything": {},
    "strange constants": {"enum": ['a "quoted" \\ text', "é\n☃", 1.5, None, True, [1], {"a": "}"}]},
    "strange names": {
        "type": "object",
        "properties": {'q"uo\\te': {"type": "null"}, "ä b": {"const": 1}},
        "required": ['q"uo\\te', "ä b"],
    },
    "negative": {"type": "integer", "minimum": -1203, "maximum": -98},
    "from": {"type": "integer", "minimum": 17},
    "below": {"type": "integer", "exclusiveMaximum": -17},
    "share": {"type": "number", "minimum": 0, "maximum": 1},
    "open share": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "narrow": {"type": "number", "minimum": 0.25, "maximum": 0.75},
    "wide": {"type": "number", "minimum": -2.5, "maximum": 10.25},
    "pattern": {"type": "string", "pattern": r'^[A-Z]{2}-\d{3,5}("|\\|x)?$'},
    "part": {"type": "string", "pattern": r"ab+c"},
    "either": {"type": "string", "pattern": r"^(yes|no[^a-z]{1,2})$|^\w\.\S$"},
    "date": {"type": "string", "format": "date"},
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_all_that_a_grammar_writes_fits_its_schema(name: str) -> None:
    """Whatever is drawn from a grammar is JSON and valid."""
    schema = SCHEMAS[name]
    grammar = grammar_of(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert grammar.loose == ()

    @_few
    @given(text=_texts(grammar))
    def check(text: str) -> None:
        validator.validate(json.loads(text))

    check()


def test_every_choice_can_be_written() -> None:
    """A grammar is not narrower than it must be: each choice of optional members appears."""
    pattern = re.compile(_Reader(grammar_of(SCHEMAS["optional first"]).text).pattern())
    values = {"a": True, "b": None, "c": 5, "d": -1.5}
    for size in range(1, 5):
        for names in itertools.combinations(values, size):
            text = json.dumps({name: values[name] for name in names})
            assert bool(pattern.fullmatch(text)) == ("c" in names)


@pytest.mark.parametrize("bounds", [(1, 5), (0, 9), (8, 13), (95, 1010), (0, 0), (199, 2000)])
def test_integers_between_bounds_are_all_and_only_those(bounds: tuple[int, int]) -> None:
    """The digits of a range are exact at both ends."""
    low, high = bounds
    schema = {"type": "integer", "minimum": low, "maximum": high}
    pattern = re.compile(_Reader(grammar_of(schema).text).pattern())
    written = {n for n in range(2500) if pattern.fullmatch(str(n))}
    assert written == set(range(low, high + 1))


def test_texts_and_lists_without_bounds_get_them() -> None:
    """Nothing can run on for ever: the longest reply of an unbounded schema is known."""
    text = _Reader(grammar_of({"type": "string"}).text).pattern()
    items = _Reader(grammar_of({"type": "array", "items": {"const": 1}}).text).pattern()
    assert re.fullmatch(text, f'"{"x" * TEXT_CHARACTERS}"')
    assert not re.fullmatch(text, f'"{"x" * (TEXT_CHARACTERS + 1)}"')
    assert re.fullmatch(items, json.dumps([1] * LIST_ITEMS))
    assert not re.fullmatch(items, json.dumps([1] * (LIST_ITEMS + 1)))


def test_a_string_holds_no_raw_line_break_and_ends_at_its_quote() -> None:
    """What strict JSON refuses cannot be written."""
    pattern = _Reader(grammar_of({"type": "string"}).text).pattern()
    assert re.fullmatch(pattern, r'"a\nb \"c\" \\ é"')
    for bad in ('"a\nb"', '"a"b"', '"\\x"', '"\x00"', '"\\ud800"'):
        assert not re.fullmatch(pattern, bad)


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (False, "nothing fits"),
        ({"type": "strin"}, "'strin' is no type"),
        ({"$ref": "https://example.org/x.json"}, "leads out of the schema"),
        ({"$ref": "#/$defs/none"}, "leads nowhere"),
        ({"properties": {"a": {"$ref": "#"}}}, "refers to itself"),
        ({"allOf": [{"$ref": "#"}]}, "refers to itself"),
        ({"properties": {"a": {"$dynamicRef": "#x"}}}, r"/a: \$dynamicRef"),
        ({"type": "integer", "minimum": 2, "maximum": 1}, "no integer lies between"),
        ({"type": "string", "minLength": 9, "maxLength": 3}, "minLength 9 is more than 3"),
        ({"enum": [1, 2], "type": "string"}, "no value is left"),
        ({"required": ["a"], "additionalProperties": False}, r"not allowed: \['a'\]"),
        ({"type": "array", "items": False, "minItems": 1}, "minItems 1 is more than 0"),
        ({"type": "string", "pattern": "(?=x)y"}, "lookaround"),
        ({"type": "string", "pattern": r"(a)\1"}, r"\\1 has no grammar"),
        ({"type": "string", "pattern": r"\bx"}, r"\\b has no grammar"),
        ({"type": "string", "pattern": "a^"}, r"\^ stands where"),
        ({"type": "string", "pattern": "(a"}, "not closed"),
        ({"type": "string", "pattern": "a)"}, "not opened"),
        ({"type": "string", "pattern": "[a"}, "ends too early"),
        ({"type": "string", "pattern": "a{3,2}"}, "must rise"),
    ],
)
def test_what_cannot_be_a_grammar_is_refused_with_place_and_reason(schema: Any, why: str) -> None:
    """A schema is never loosened in silence."""
    with pytest.raises(GrammarError, match=why):
        grammar_of(schema)


def test_references_that_multiply_are_refused() -> None:
    """Sixteen definitions that double one another make no grammar of 65,536 parts."""
    definitions: dict[str, Any] = {"d0": {"type": "boolean"}}
    for i in range(1, 17):
        part = {"$ref": f"#/$defs/d{i - 1}"}
        definitions[f"d{i}"] = {"type": "object", "properties": {"a": part, "b": part}}
    with pytest.raises(GrammarError, match="too large"):
        grammar_of({"$defs": definitions, "$ref": "#/$defs/d16"})


def test_keywords_without_grammar_are_named_by_place() -> None:
    """Where the grammar is wider than the schema, it says so."""
    tags = {
        "type": "array",
        "items": {"type": "string", "not": {"const": "x"}},
        "uniqueItems": True,
    }
    grammar = grammar_of({"type": "object", "properties": {"tags": tags}})
    assert set(grammar.loose) == {"/tags: uniqueItems", "/tags/items: not"}


def test_a_branch_that_contradicts_its_surroundings_drops_out() -> None:
    """Of a union only what can be true is written."""
    schema = {"type": "string", "anyOf": [{"type": "integer"}, {"const": "a"}]}
    pattern = _Reader(grammar_of(schema).text).pattern()
    assert re.fullmatch(pattern, '"a"')
    assert not re.fullmatch(pattern, "1")


def test_the_pattern_of_case_40_is_refused() -> None:
    """A lookahead has no grammar: the call ends with an error, not with free text."""
    file = case_folder("40-provider-grammar-fails-open") / "schema.json"
    with pytest.raises(GrammarError, match=r"/code: the pattern .* lookaround"):
        grammar_of(json.loads(file.read_text(encoding="utf-8")))


class _Reader:
    """Reads a grammar back, as a regular expression."""

    def __init__(self, text: str) -> None:
        lines = [line.partition(" ::= ") for line in text.splitlines()]
        self.rules = {name: _tokens(body) for name, _, body in lines}

    def pattern(self, rule: str = "root") -> str:
        return "".join(self._regex(token) for token in self.rules[rule])

    def _regex(self, token: str) -> str:
        if token[0] == '"':
            return f"(?:{re.escape(_unquoted(token))})"
        if token == "(":
            return "(?:"
        return f"(?:{self.pattern(token)})" if token in self.rules else token


def _tokens(body: str) -> list[str]:
    pattern = r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|\{\d+,\d+\}|[()|?]|[a-z0-9-]+|(?P<bad>\S)'
    found = list(re.finditer(pattern, body))
    assert not any(match["bad"] for match in found), body
    return [match[0] for match in found]


def _unquoted(token: str) -> str:
    def plain(match: re.Match[str]) -> str:
        return chr(int(match[1][1:], 16)) if match[1][0] == "x" else match[1]

    return re.sub(r"\\(x[0-9A-F]{2}|.)", plain, token[1:-1])
