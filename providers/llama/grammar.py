"""JSON Schema as a bounded grammar (GBNF) that llama.cpp holds a model to.

Why not llama-cpp-python's own converter: its strings, lists and numbers have no end, so that a
small model runs on until the window is full; it lets raw line breaks into strings, does not escape
backslashes of constants, and drops keywords (bounds of numbers, ``maxLength`` beside a union)
without a word.

The grammar says one way of writing: properties in the schema's order, ``": "`` and ``", "`` between
them, no other white space. What has no bound in the schema gets one (the constants below). The
grammar may be narrower than the schema; where a keyword has no grammar, it is wider, and
``Grammar.loose`` names the place, because the reply is validated all the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from orglab.providers.base import JSON
from orglab.providers.llama.llama_numbers import integer_rule, number_rule
from orglab.providers.llama.llama_pattern import GrammarError, literal, pattern_rule
from orglab.providers.structured_output.llama_merge import UnsatisfiableError, merged, target_of

__all__ = ["LIST_ITEMS", "TEXT_CHARACTERS", "Grammar", "GrammarError", "grammar_of"]

TEXT_CHARACTERS = 400
"""Longest string where the schema gives no ``maxLength``, in characters."""

LIST_ITEMS = 8
"""Most items of a list, and members of a free object, where the schema gives no bound."""

_LONGEST = 2000  # llama.cpp refuses longer repetitions
_DEPTH = 32  # of schemas within schemas
_SCHEMAS = 2000  # visited for one grammar; references can multiply without end

_CHAR = r'char ::= [^"\\\x00-\x1F\x7F] | "\\" ["\\nt]'

_FORMATS: Final = {
    "date": r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])$",
    "time": r"^([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$",
    "date-time": r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$",
    "uuid": r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
}

_LOOSE: Final = (
    "contains",
    "dependentRequired",
    "dependentSchemas",
    "if",
    "minProperties",
    "not",
    "patternProperties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
)

# What a schema without a type is about: the first kind with one of these keywords.
_TELLING: Final = {
    "object": ("properties", "required", "additionalProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems"),
    "string": ("pattern", "minLength", "maxLength", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Grammar:
    """A grammar and what it leaves to the validation.

    Attributes:
        text: The grammar in llama.cpp's notation; its start is ``root``.
        loose: Places where the grammar lets through what the schema does not, such as
            ``/tags: uniqueItems``.
    """

    text: str
    loose: tuple[str, ...] = ()


def grammar_of(schema: Mapping[str, JSON]) -> Grammar:
    """The grammar of all replies that a model may write for ``schema``.

    Raises:
        GrammarError: The schema cannot be made a grammar, or nothing fits it.
    """
    return _grammar_of_text(json.dumps(schema, ensure_ascii=False))


@lru_cache(maxsize=256)
def _grammar_of_text(schema: str) -> Grammar:
    writer = _Writer(json.loads(schema))
    root = writer.value(writer.schema, "")
    text = "\n".join([f"root ::= {root}", *writer.rules, _CHAR, ""])
    return Grammar(text=text, loose=tuple(dict.fromkeys(writer.loose)))


class _Writer:
    """Turns one schema into rules; each method gives the expression for a place."""

    def __init__(self, schema: JSON) -> None:
        self.schema = schema
        self.rules: list[str] = []
        self.loose: list[str] = []
        self.depth = 0
        self.visited = 0

    def named(self, expression: str) -> str:
        """A rule of its own, so that an expression used twice is written once."""
        self.rules.append(f"rule-{len(self.rules)} ::= {expression}")
        return f"rule-{len(self.rules) - 1}"

    def value(self, schema: JSON, place: str) -> str:
        if schema is True:
            return self.anything(place)
        if not isinstance(schema, Mapping):
            raise GrammarError(f"{place or '/'}: nothing fits the schema {json.dumps(schema)}")
        self.visited += 1
        if self.depth >= _DEPTH or self.visited > _SCHEMAS:
            raise GrammarError(f"{place or '/'}: the schema refers to itself, or is too large")
        self.depth += 1
        try:
            return self.resolved(schema, place)
        finally:
            self.depth -= 1

    def resolved(self, schema: Mapping[str, JSON], place: str) -> str:
        """Takes references and combinations apart, one at a time."""
        if "$ref" in schema:
            target = target_of(self.schema, schema["$ref"], place)
            return self.value(merged(_less(schema, "$ref"), target, place), place)
        if "$dynamicRef" in schema:
            raise GrammarError(f"{place or '/'}: $dynamicRef has no grammar")
        if "allOf" in schema:
            whole = _less(schema, "allOf")
            for part in schema["allOf"]:
                whole = merged(whole, self.followed(part, place), place)
            return self.value(whole, place)
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self.union(_less(schema, key), schema[key], place)
        return self.plain(schema, place)

    def followed(self, schema: JSON, place: str) -> JSON:
        seen = 0
        while isinstance(schema, Mapping) and "$ref" in schema:
            target = target_of(self.schema, schema["$ref"], place)
            schema = merged(_less(schema, "$ref"), target, place)
            seen += 1
            if seen > _DEPTH:
                raise GrammarError(f"{place or '/'}: the schema refers to itself")
        return schema

    def union(self, base: Mapping[str, JSON], branches: Sequence[JSON], place: str) -> str:
        """One of several; a branch that contradicts its surroundings drops out."""
        options: list[str] = []
        why: GrammarError | None = None
        for branch in branches:
            try:
                whole = merged(base, self.followed(branch, place), place) if base else branch
                options.append(self.value(whole, place))
            except UnsatisfiableError as error:
                why = error
        if not options:
            raise why or UnsatisfiableError(f"{place or '/'}: the union has no branch")
        return _either(options)

    def plain(self, schema: Mapping[str, JSON], place: str) -> str:
        self.loose += [f"{place or '/'}: {key}" for key in _LOOSE if schema.get(key)]
        if "const" in schema:
            return self.constants([schema["const"]], schema, place)
        if "enum" in schema:
            return self.constants(schema["enum"], schema, place)
        kinds = schema.get("type") or _kind_told_by(schema)
        if isinstance(kinds, list):
            return self.union(_less(schema, "type"), [{"type": kind} for kind in kinds], place)
        return self.typed(kinds, schema, place)

    def constants(self, values: Sequence[JSON], schema: Mapping[str, JSON], place: str) -> str:
        fitting = [value for value in values if _of_kind(value, schema.get("type"))]
        if "enum" in schema:
            fitting = [value for value in fitting if value in schema["enum"]]
        if not fitting:
            raise UnsatisfiableError(f"{place or '/'}: no value is left to choose")
        return _either([literal(_text(value)) for value in fitting])

    def typed(self, kind: JSON, schema: Mapping[str, JSON], place: str) -> str:
        if kind == "object":
            return self.object(schema, place)
        if kind == "array":
            return self.array(schema, place)
        if kind == "string":
            return self.string(schema, place)
        if kind in ("integer", "number"):
            return self.numeric(kind, schema, place)
        simple = {"boolean": '("true" | "false")', "null": '"null"', None: None}
        if kind not in simple:
            raise GrammarError(f"{place or '/'}: {kind!r} is no type of JSON Schema")
        return simple[kind] or self.anything(place)

    def numeric(self, kind: str, schema: Mapping[str, JSON], place: str) -> str:
        self.loose += [f"{place or '/'}: multipleOf"] if "multipleOf" in schema else []
        rule = (integer_rule if kind == "integer" else number_rule)(schema)
        if rule is None:
            raise UnsatisfiableError(f"{place or '/'}: no {kind} lies between its bounds")
        return rule

    def string(self, schema: Mapping[str, JSON], place: str) -> str:
        pattern = schema.get("pattern") or _FORMATS.get(schema.get("format", ""))
        least, most = self.span(schema, "Length", TEXT_CHARACTERS, place)
        if pattern is None:
            return rf'"\"" char{{{least},{most}}} "\""'
        bounds = [key for key in ("minLength", "maxLength") if key in schema]
        self.loose += [f"{place or '/'}: {key}" for key in bounds]
        try:
            return rf'"\"" {pattern_rule(pattern)} "\""'
        except GrammarError as error:
            raise GrammarError(f"{place or '/'}: {error}") from None

    def span(
        self, schema: Mapping[str, JSON], what: str, usual: int, place: str
    ) -> tuple[int, int]:
        """Least and most of ``minWHAT`` and ``maxWHAT``."""
        least = int(schema.get(f"min{what}", 0))
        most = min(int(schema.get(f"max{what}", max(usual, least))), _LONGEST)
        if least > most:
            raise UnsatisfiableError(f"{place or '/'}: min{what} {least} is more than {most}")
        return least, most

    def array(self, schema: Mapping[str, JSON], place: str) -> str:
        least, most = self.span(schema, "Items", LIST_ITEMS, place)
        first = list(schema.get("prefixItems", ()))[:most]
        rest = schema.get("items", not first)
        if rest is False or most <= len(first):
            most = min(most, len(first))
        items = [self.value(item, f"{place}/{i}") for i, item in enumerate(first)]
        item = self.named(self.value(rest, f"{place}/items")) if most > len(first) else ""
        if least > most:
            raise UnsatisfiableError(f"{place or '/'}: minItems {least} is more than {most}")
        return f'"[" {_listed(items, item, max(least, len(first)), most)} "]"'

    def object(self, schema: Mapping[str, JSON], place: str) -> str:
        required = set(schema.get("required", ()))
        declared = dict(schema.get("properties", {}))
        extra = schema.get("additionalProperties", True)
        if extra is not False:
            declared |= dict.fromkeys(sorted(required - set(declared)), extra)
        if missing := required - set(declared):
            raise UnsatisfiableError(
                f"{place or '/'}: required, but not allowed: {sorted(missing)}"
            )
        if not declared:
            return self.free_object(schema, extra, place)
        self.loose += [f"{place or '/'}: maxProperties"] if "maxProperties" in schema else []
        members = [
            (f"{literal(_text(name) + ': ')} {rule}", name in required)
            for name, rule in self.properties(declared, required, place)
        ]
        return f'"{{" {self.members(members)} "}}"'

    def properties(
        self, declared: Mapping[str, JSON], required: set[str], place: str
    ) -> list[tuple[str, str]]:
        """Rules by name; a property that nothing fits is left out where it may be."""
        rules = []
        for name, schema in declared.items():
            if schema is False and name not in required:
                continue
            rules.append((name, self.value(schema, f"{place}/{name}")))
        return rules

    def members(self, members: Sequence[tuple[str, bool]]) -> str:
        """Members in order, those not required optional, with commas only between."""
        after = ""  # what follows once something stands before
        alone = ""  # what follows while nothing does
        for rule, required in reversed(members):
            named = self.named(rule)
            tail = self.named(after) if after else ""
            with_comma = f'", " {named}'
            if required:
                alone = f"{named} {tail}"
                after = f"{with_comma} {tail}"
            else:
                alone = f"({named} {tail} | {alone})" if alone else f"({named} {tail})?"
                after = f"({with_comma})? {tail}"
        return alone

    def free_object(self, schema: Mapping[str, JSON], extra: JSON, place: str) -> str:
        least, most = self.span(schema, "Properties", LIST_ITEMS, place)
        if extra is False or most == 0:
            return '"{}"'
        member = self.named(rf'"\"" char{{1,40}} "\": " {self.value(extra, f"{place}/*")}')
        return f'"{{" {_listed([], member, least, most)} "}}"'

    def anything(self, place: str) -> str:
        """A value of no declared kind: one that is not nested, so that it has an end."""
        kinds = ("string", "number", "boolean", "null")
        return _either([self.typed(kind, {}, place) for kind in kinds])


def _listed(first: Sequence[str], item: str, least: int, most: int) -> str:
    """Values with commas between: ``first``, then ``item`` until there are ``least`` to ``most``."""
    head = ' ", " '.join(first)
    if most <= len(first):
        return head
    low, high = least - len(first), most - len(first)
    if first:
        return f'{head} (", " {item}){{{low},{high}}}'
    group = f'{item} (", " {item}){{{max(low - 1, 0)},{high - 1}}}'
    return group if low > 0 else f"({group})?"


def _either(options: Sequence[str]) -> str:
    unique = list(dict.fromkeys(options))
    return unique[0] if len(unique) == 1 else f"({' | '.join(unique)})"


def _less(schema: Mapping[str, JSON], key: str) -> dict[str, JSON]:
    return {name: value for name, value in schema.items() if name != key}


def _text(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _kind_told_by(schema: Mapping[str, JSON]) -> str | None:
    return next((kind for kind, keys in _TELLING.items() if any(k in schema for k in keys)), None)


def _of_kind(value: JSON, kinds: JSON) -> bool:
    if kinds is None:
        return True
    wanted = kinds if isinstance(kinds, list) else [kinds]
    names = {bool: ("boolean",), int: ("integer", "number"), float: ("number",), str: ("string",)}
    names |= {list: ("array",), dict: ("object",), type(None): ("null",)}
    return any(name in wanted for name in names[type(value)])
