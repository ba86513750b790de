"""JSON Schema as a bounded grammar of llguidance that a local model is held to.

llguidance reads JSON Schema itself, but gives strings, lists, numbers and nested values no end: a
small model then runs on until the window is full. So the schema is rewritten first: references are
resolved, ``allOf`` and unions are joined with their surroundings, what has no bound gets one (the
constants below), and keywords that llguidance does not know are removed and reported in
``Grammar.loose``, because the reply is validated all the same.

The grammar allows one way of writing: properties in the schema's order, ``": "`` and ``", "``
between them, no other white space.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from orglab.providers.base import JSON
from orglab.providers.structured_output.schema_merge import merge_schemas, resolve_reference

TEXT_CHARACTERS = 400
"""Longest string where the schema gives no ``maxLength``, in characters."""

LIST_ITEMS = 8
"""Most items of a list, and members of a free object, where the schema gives no bound."""

DIGITS = 15
"""Most digits before the point where the schema gives no bound."""

FRACTION_DIGITS = 6
"""Most digits after the point where the schema has no ``multipleOf``."""

_LONGEST = 2000  # characters or items, whatever the schema allows
_DEPTH = 32  # of schemas within schemas
_SCHEMAS = 2000  # visited for one grammar; references can multiply without end
_NAME = "^.{1,40}$"  # a member's name in a free object

_OPTIONS: Final = {
    "whitespace_flexible": False,
    "item_separator": ", ",
    "key_separator": ": ",
    "json_allowed_escapes": '"\\nt',
}

_FORMATS: Final = frozenset({"date", "date-time", "time", "uuid"})

_LOOSE: Final = (
    "contains",
    "dependentRequired",
    "dependentSchemas",
    "if",
    "not",
    "patternProperties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
)

# A schema without a type is about the first kind with one of these keywords.
_KEYWORDS: Final = {
    "object": ("properties", "required", "additionalProperties", "minProperties", "maxProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems"),
    "string": ("pattern", "minLength", "maxLength", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
_UNSATISFIABLE: Final = "Unsatisfiable schema"
_ANY: Final = ("string", "number", "boolean", "null")  # not nested, so that it has an end


class GrammarError(ValueError):
    """Raised when a schema cannot be made a grammar: the place, and the reason."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Grammar:
    """A grammar and what it leaves to the validation.

    Attributes:
        text: The grammar in llguidance's serialisation.
        schema: The bounded schema that it was made from.
        loose: Places where the grammar allows what the schema does not, such as
            ``/tags: uniqueItems``.
    """

    text: str
    schema: Mapping[str, JSON]
    loose: tuple[str, ...] = ()


def schema_grammar(schema: JSON) -> Grammar:
    """Return the grammar of all replies that a model may write for ``schema``.

    Raises:
        GrammarError: The schema cannot be made a grammar, or no value is valid.
    """
    return _cached_grammar(json.dumps(schema, ensure_ascii=False))


@lru_cache(maxsize=256)
def _cached_grammar(schema: str) -> Grammar:
    bounding = _Bounding(json.loads(schema))
    bounded = bounding.bounded(bounding.root, "")
    if bounded is False or _llguidance_error(bounded):
        place, reason = _first_error(bounded, "")
        raise GrammarError(f"{place or '/'}: {reason}")
    return Grammar(
        text=_serialised(bounded), schema=bounded, loose=tuple(dict.fromkeys(bounding.loose))
    )


class _Bounding:
    """Rewrites one schema into a tree without references in which everything has a bound."""

    def __init__(self, root: JSON) -> None:
        self.root = root
        self.loose: list[str] = []
        self.depth = 0
        self.visited = 0

    def bounded(self, schema: JSON, place: str) -> JSON:
        if schema is False:
            return False
        schema = {} if schema is True else schema
        if not isinstance(schema, Mapping):
            raise GrammarError(f"{place or '/'}: {json.dumps(schema)} is not a schema")
        self.visited += 1
        if self.depth >= _DEPTH or self.visited > _SCHEMAS:
            raise GrammarError(f"{place or '/'}: the schema refers to itself, or is too large")
        self.depth += 1
        try:
            return self._combined(schema, place)
        finally:
            self.depth -= 1

    def _combined(self, schema: Mapping[str, JSON], place: str) -> JSON:
        """Resolve a reference, ``allOf`` or a union, one at a time."""
        if "$dynamicRef" in schema:
            raise GrammarError(f"{place or '/'}: $dynamicRef is not supported")
        if "$ref" in schema:
            parts = [_without(schema, "$ref"), self._target(schema["$ref"], place)]
            return self._all_of(parts, place)
        if "allOf" in schema:
            return self._all_of([_without(schema, "allOf"), *schema["allOf"]], place)
        for key in ("anyOf", "oneOf"):
            if key in schema:
                base = _without(schema, key)
                branches = [self._all_of([base, branch], place) for branch in schema[key]]
                return {"anyOf": branches}
        return self._plain(schema, place)

    def _target(self, reference: JSON, place: str) -> JSON:
        try:
            return resolve_reference(str(reference), self.root)
        except (LookupError, ValueError, TypeError):
            raise GrammarError(
                f"{place or '/'}: $ref {reference!r} does not lead to a part of the schema"
            ) from None

    def _all_of(self, schemas: Sequence[JSON], place: str) -> JSON:
        """Return one schema for ``schemas``; llguidance intersects those that do not join."""
        parts: list[JSON] = [{}]
        for schema in schemas:
            resolved = self._resolved(schema, place)
            one = _joined(parts[-1], resolved)
            parts[-1:] = [parts[-1], resolved] if one is None else [one]
        made = [self.bounded(part, place) for part in parts]
        return made[0] if len(made) == 1 else {"allOf": made}

    def _resolved(self, schema: JSON, place: str) -> JSON:
        """Follow references at the top of ``schema``, so that what they lead to can be joined."""
        for _ in range(_DEPTH):
            if not isinstance(schema, Mapping) or "$ref" not in schema:
                return {} if schema is True else schema
            target = self._target(schema["$ref"], place)
            rest = _without(schema, "$ref")
            schema = {"allOf": [rest, target]} if rest else target
        raise GrammarError(f"{place or '/'}: the schema refers to itself")

    def _plain(self, schema: Mapping[str, JSON], place: str) -> JSON:
        self.loose += [f"{place or '/'}: {key}" for key in _LOOSE if schema.get(key)]
        if "const" in schema or "enum" in schema:
            return {key: schema[key] for key in ("const", "enum", "type") if key in schema}
        kinds = schema.get("type", _kind_by_keywords(schema))
        if kinds is None:
            kinds = _ANY
        if not isinstance(kinds, str):
            return {"anyOf": [self._plain({**schema, "type": kind}, place) for kind in kinds]}
        bound = self._BOUNDS.get(kinds)
        return {"type": kinds, **(bound(self, schema, place) if bound else {})}

    def _string(self, schema: Mapping[str, JSON], _: str) -> JSON:
        kept = _only(schema, ("pattern",))
        if schema.get("format") in _FORMATS:
            kept["format"] = schema["format"]
        usual = 40 if "format" in kept else TEXT_CHARACTERS
        whole = {**kept, **_span(schema, "Length", usual)}
        if "pattern" in kept and "maxLength" not in schema and _llguidance_error(whole):
            whole["maxLength"] = _LONGEST  # the pattern's shortest text may be longer than usual
        return whole

    def _number(self, schema: Mapping[str, JSON], _: str) -> JSON:
        kept = _only(schema, _KEYWORDS["number"])
        ends = [abs(kept[key]) for key in _KEYWORDS["number"][:4] if key in kept]
        limit = max([10**DIGITS - 1, *(10 * int(end) for end in ends)])
        if not {"minimum", "exclusiveMinimum"} & kept.keys():
            kept["minimum"] = -limit
        if not {"maximum", "exclusiveMaximum"} & kept.keys():
            kept["maximum"] = limit
        if schema.get("type") != "integer":
            kept.setdefault("multipleOf", 10**-FRACTION_DIGITS)
        return kept

    def _array(self, schema: Mapping[str, JSON], place: str) -> JSON:
        span = _span(schema, "Items", LIST_ITEMS)
        first = [
            self.bounded(item, f"{place}/{number}")
            for number, item in enumerate(schema.get("prefixItems", ())[: span["maxItems"]])
        ]
        rest = schema.get("items", not first)
        if rest is not False and span["maxItems"] > len(first):
            rest = self.bounded(rest, f"{place}/items")
        span["minItems"] = max(span["minItems"], len(first))
        return {"prefixItems": first, "items": rest, **span}

    def _object(self, schema: Mapping[str, JSON], place: str) -> JSON:
        required = list(schema.get("required", ()))
        declared = dict(schema.get("properties", {}))
        extra = schema.get("additionalProperties", True)
        declared |= dict.fromkeys(sorted(set(required) - declared.keys()), extra)
        if not declared:
            return self._free_object(schema, extra, place)
        self.loose += [f"{place or '/'}: {key}" for key in _KEYWORDS["object"][3:] if key in schema]
        members = {
            name: self.bounded(member, f"{place}/{name}") for name, member in declared.items()
        }
        return {"properties": members, "required": required, "additionalProperties": False}

    def _free_object(self, schema: Mapping[str, JSON], extra: JSON, place: str) -> JSON:
        span = _span(schema, "Properties", LIST_ITEMS)
        if extra is False or span["maxProperties"] == 0:
            return {"additionalProperties": False}
        member = self.bounded(extra, f"{place}/*")
        return {"patternProperties": {_NAME: member}, "additionalProperties": False, **span}

    _BOUNDS: Final[Mapping[str, Callable[..., JSON]]] = {
        "string": _string,
        "number": _number,
        "integer": _number,
        "array": _array,
        "object": _object,
    }


_APART: Final = (
    "const",
    "format",
    "multipleOf",
    "pattern",
    "prefixItems",
)  # llguidance joins these


def _joined(one: JSON, other: JSON) -> JSON:
    """Return one schema for two; None if a keyword that merge_schemas have cannot be joined."""
    if one == {} or other is False:
        return other
    if one is False or other == {}:
        return one
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return None
    if any(key in one and key in other and one[key] != other[key] for key in _APART):
        return None
    whole = merge_schemas(one, other)
    shared = one.keys() & other.keys()
    for key in shared & {"additionalProperties", "items"}:
        whole[key] = {"allOf": [one[key], other[key]]}
    for key in shared & {"anyOf", "oneOf"}:
        whole[key] = [{"allOf": [first, second]} for first in one[key] for second in other[key]]
    if "properties" in shared:
        first, second = one["properties"], other["properties"]
        common = {name: {"allOf": [first[name], second[name]]} for name in first if name in second}
        whole["properties"] = {**first, **second, **common}
    return whole


def _span(schema: Mapping[str, JSON], what: str, usual: int) -> dict[str, JSON]:
    """Return ``minWHAT`` and ``maxWHAT``; the upper bound is ``usual`` where there is none."""
    least = int(schema.get(f"min{what}", 0))
    most = min(int(schema.get(f"max{what}", max(usual, least))), _LONGEST)
    return {f"min{what}": least, f"max{what}": most}


def _only(schema: Mapping[str, JSON], keys: Sequence[str]) -> dict[str, JSON]:
    return {key: schema[key] for key in keys if key in schema}


def _without(schema: Mapping[str, JSON], key: str) -> dict[str, JSON]:
    return {name: value for name, value in schema.items() if name != key}


def _kind_by_keywords(schema: Mapping[str, JSON]) -> str | None:
    return next((kind for kind, keys in _KEYWORDS.items() if schema.keys() & set(keys)), None)


def _serialised(schema: JSON) -> str:
    from llguidance import LLMatcher  # part of the extra `llama`

    return LLMatcher.grammar_from_json_schema(json.dumps({**schema, "x-guidance": _OPTIONS}))


def _llguidance_error(schema: Mapping[str, JSON]) -> str:
    """Return llguidance's error for a schema in one line; empty if it is accepted."""
    from llguidance import LLMatcher

    lines = LLMatcher.validate_grammar(_serialised(schema)).splitlines()
    return lines[-1].removeprefix("error: ") if lines else ""


def _first_error(schema: JSON, place: str) -> tuple[str, str]:
    """Return the innermost place that llguidance refuses in a bounded schema, and the reason."""
    if schema is False:
        return place, "no value is valid"
    reason = _llguidance_error(schema)
    for inner, child in _children(schema, place):
        error = "" if child is False else _llguidance_error(child)
        if error and error.startswith(_UNSATISFIABLE) == reason.startswith(_UNSATISFIABLE):
            return _first_error(child, inner)
    pattern = f"the pattern {schema['pattern']!r}: " if "pattern" in schema else ""
    return place, f"{pattern}{reason}"


def _children(schema: Mapping[str, JSON], place: str) -> Iterator[tuple[str, JSON]]:
    for key in ("allOf", "anyOf"):
        yield from ((place, branch) for branch in schema.get(key, ()))
    yield from (
        (f"{place}/{name}", member) for name, member in schema.get("properties", {}).items()
    )
    yield from ((f"{place}/*", member) for member in schema.get("patternProperties", {}).values())
    yield from ((f"{place}/{i}", item) for i, item in enumerate(schema.get("prefixItems", ())))
    if isinstance(schema.get("items"), Mapping):
        yield f"{place}/items", schema["items"]
