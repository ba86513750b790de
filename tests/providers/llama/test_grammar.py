"""The grammar of a schema: what it writes fits the schema, and it has an end."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any

import jsonschema
import pytest
from case_files import case_folder
from llguidance import LLMatcher, LLTokenizer, TokenizerWrapper

from orglab.providers.llama.grammar import (
    DIGITS,
    FRACTION_DIGITS,
    LIST_ITEMS,
    TEXT_CHARACTERS,
    GrammarError,
    schema_grammar,
)


class Bytes:
    """A vocabulary of single bytes, and an end."""

    eos_token_id = 256
    bos_token_id = None
    tokens: Sequence[bytes] = (*(bytes([byte]) for byte in range(256)), b"<end>")
    special_token_ids = (256,)

    def __call__(self, text: bytes) -> list[int]:
        return list(text)


@cache
def tokenizer() -> LLTokenizer:
    """The vocabulary of bytes as llguidance takes it."""
    return LLTokenizer(TokenizerWrapper(Bytes()))


def matcher(schema: Any) -> LLMatcher:
    """The grammar of ``schema`` at its beginning."""
    return LLMatcher(tokenizer(), schema_grammar(schema).text, log_level=0)


def accepts(schema: Any, text: str) -> bool:
    """Whether the grammar of ``schema`` allows the reply ``text``."""
    one = matcher(schema)
    written = list(text.encode())
    return one.try_consume_tokens(written) == len(written) and one.is_accepting()


def random_reply(schema: Any, seed: int) -> str:
    """A reply of allowed bytes, each as likely as the others."""
    one, random = matcher(schema), Random(seed)
    written = bytearray()
    while not one.is_stopped():
        mask = one.compute_bitmask()
        token = random.choice([i for i in range(257) if mask[i // 8] >> i % 8 & 1])
        if token == Bytes.eos_token_id:
            break
        assert one.consume_token(token), one.get_error()
        written.append(token)
    return written.decode()


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
    validator = jsonschema.Draft202012Validator(schema)
    assert schema_grammar(schema).loose == ()
    for seed in range(40):
        validator.validate(json.loads(random_reply(schema, seed)))


def test_every_choice_can_be_written() -> None:
    """A grammar is not narrower than it must be: each choice of optional members appears."""
    values = {"a": True, "b": None, "c": 5, "d": -1.5}
    for size in range(1, 5):
        for names in itertools.combinations(values, size):
            text = json.dumps({name: values[name] for name in names})
            assert accepts(SCHEMAS["optional first"], text) == ("c" in names)


@pytest.mark.parametrize("bounds", [(1, 5), (0, 9), (8, 13), (95, 1010), (0, 0), (199, 2000)])
def test_integers_between_bounds_are_all_and_only_those(bounds: tuple[int, int]) -> None:
    """The digits of a range are exact at both ends."""
    low, high = bounds
    schema = {"type": "integer", "minimum": low, "maximum": high}
    written = {n for n in range(2500) if accepts(schema, str(n))}
    assert written == set(range(low, high + 1))


def test_texts_lists_and_numbers_without_bounds_get_them() -> None:
    """Nothing can run on for ever: the longest reply of an unbounded schema is known."""
    text, items = {"type": "string"}, {"type": "array", "items": {"const": 1}}
    assert accepts(text, f'"{"x" * TEXT_CHARACTERS}"')
    assert not accepts(text, f'"{"x" * (TEXT_CHARACTERS + 1)}"')
    assert accepts(items, json.dumps([1] * LIST_ITEMS))
    assert not accepts(items, json.dumps([1] * (LIST_ITEMS + 1)))
    for kind in ("integer", "number"):
        assert accepts({"type": kind}, "9" * DIGITS)
        assert not accepts({"type": kind}, "1" + "0" * DIGITS)
    assert accepts({"type": "number"}, f"-1.{'0' * FRACTION_DIGITS}")
    assert not accepts({"type": "number"}, f"-1.{'0' * (FRACTION_DIGITS + 1)}")
    assert not accepts({"type": "number"}, "1e5")


def test_a_free_object_and_any_value_have_an_end() -> None:
    """Members are counted, and a value of any kind is not nested."""
    members = {str(number): number for number in range(LIST_ITEMS + 1)}
    assert not accepts({"type": "object"}, json.dumps(members))
    assert accepts({"type": "object"}, json.dumps(dict(list(members.items())[1:])))
    assert accepts({}, '"a"')
    assert not accepts({}, "[1]")


def test_a_string_holds_no_raw_line_break_and_ends_at_its_quote() -> None:
    """What strict JSON refuses cannot be written."""
    assert accepts({"type": "string"}, r'"a\nb \"c\" \\ é"')
    for bad in ('"a\nb"', '"a"b"', '"\\x"', '"\x00"', '"\\ud800"'):
        assert not accepts({"type": "string"}, bad)


def test_repeats_within_repeats_are_accepted() -> None:
    """Their text is as long as any other at most."""
    schema = {"type": "string", "pattern": "^[a-z]+(-[a-z]+)*$"}
    assert accepts(schema, '"one-two-three"')
    assert not accepts(schema, '"one--two"')
    assert not accepts(schema, f'"{"x" * (TEXT_CHARACTERS + 1)}"')
    assert accepts({"type": "string", "pattern": "^a{500}$"}, f'"{"a" * 500}"')


def test_patterns_and_lengths_hold_together() -> None:
    """Of one schema, and of two in ``allOf``."""
    parts = [{"type": "string", "pattern": "^a"}, {"pattern": "b$", "maxLength": 3}]
    for text, fits in (("ab", True), ("axb", True), ("axxb", False), ("ax", False)):
        assert accepts({"allOf": parts}, f'"{text}"') == fits


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (False, "no value is valid"),
        ({"type": "strin"}, "Invalid type: strin"),
        ({"properties": {"a": {"anyOf": [{"type": "strin"}]}}}, "/a: Invalid type: strin"),
        ({"$ref": "https://example.org/x.json"}, "does not lead to a part of the schema"),
        ({"$ref": "#/$defs/none"}, "does not lead to a part of the schema"),
        ({"properties": {"a": {"$ref": "#"}}}, "refers to itself"),
        ({"allOf": [{"$ref": "#"}]}, "refers to itself"),
        ({"properties": {"a": {"$dynamicRef": "#x"}}}, r"/a: \$dynamicRef"),
        (
            {"type": "integer", "minimum": 2, "maximum": 1},
            r"minimum \(2\) is greater than maximum \(1\)",
        ),
        (
            {"type": "string", "minLength": 9, "maxLength": 3},
            r"minLength \(9\) is greater than maxLength \(3\)",
        ),
        ({"enum": [1, 2], "type": "string"}, "incompatible types"),
        (
            {"required": ["a"], "additionalProperties": False},
            "required property 'a' is unsatisfiable",
        ),
        ({"type": "array", "items": False, "minItems": 1}, "required item is unsatisfiable"),
        ({"type": "string", "pattern": "(?=x)y"}, "look-around, .* is not supported"),
        ({"type": "string", "pattern": r"(a)\1"}, "backreferences are not supported"),
        ({"type": "string", "pattern": r"\bx"}, "lookarounds not supported"),
        ({"type": "string", "pattern": "a^"}, "lookarounds not supported"),
        ({"type": "string", "pattern": "(a"}, "unclosed group"),
        ({"type": "string", "pattern": "a)"}, "unopened group"),
        ({"type": "string", "pattern": "[a"}, "unclosed character class"),
        ({"type": "string", "pattern": "a{3,2}"}, "the start must be <= the end"),
    ],
)
def test_what_cannot_be_a_grammar_is_refused_with_place_and_reason(schema: Any, why: str) -> None:
    """A schema is never loosened in silence."""
    with pytest.raises(GrammarError, match=why):
        schema_grammar(schema)


def test_references_that_multiply_are_refused() -> None:
    """Sixteen definitions that double one another make no grammar of 65,536 parts."""
    definitions: dict[str, Any] = {"d0": {"type": "boolean"}}
    for i in range(1, 17):
        part = {"$ref": f"#/$defs/d{i - 1}"}
        definitions[f"d{i}"] = {"type": "object", "properties": {"a": part, "b": part}}
    with pytest.raises(GrammarError, match="too large"):
        schema_grammar({"$defs": definitions, "$ref": "#/$defs/d16"})


def test_keywords_without_grammar_are_named_by_place() -> None:
    """Where the grammar is wider than the schema, it says so."""
    tags = {
        "type": "array",
        "items": {"type": "string", "not": {"const": "x"}},
        "uniqueItems": True,
    }
    grammar = schema_grammar({"type": "object", "properties": {"tags": tags}})
    assert set(grammar.loose) == {"/tags: uniqueItems", "/tags/items: not"}


def test_a_branch_that_contradicts_its_surroundings_drops_out() -> None:
    """Of a union only what can be true is written."""
    schema = {"type": "string", "anyOf": [{"type": "integer"}, {"const": "a"}]}
    assert accepts(schema, '"a"')
    assert not accepts(schema, "1")


def test_the_pattern_of_case_40_is_refused() -> None:
    """A lookahead has no grammar: the call ends with an error, not with free text."""
    file = case_folder("40-provider-grammar-fails-open") / "schema.json"
    with pytest.raises(GrammarError, match=r"/code: the pattern .* look-around"):
        schema_grammar(json.loads(file.read_text(encoding="utf-8")))
