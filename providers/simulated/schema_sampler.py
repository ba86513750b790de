"""A value that fits a schema, drawn: objects, lists, texts and numbers of JSON Schema 2020-12.

A value is made from the keywords that say how it looks, and then checked against the whole schema;
one that fails a keyword which could not be followed is drawn anew. What still does not fit after
some tries is refused: nothing that breaks the schema ever leaves this module.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

from orglab.providers.base import JSON
from orglab.providers.simulated.invent_text import fitted_text
from orglab.providers.simulated.prose import Prose
from orglab.providers.simulated.random_stream import Draws
from orglab.providers.structured_output.schema_merge import merge_schemas, resolve_reference
from orglab.providers.structured_output.strict_json import same
from orglab.providers.structured_output.validation import checker_for

__all__ = ["LEAVE_OUT", "NOTHING", "CannotInventError", "Hint", "Inventor"]

NOTHING = object()
"""What a hint gives when it has nothing to say."""

LEAVE_OUT = object()
"""What a hint gives for a field that should not be there, if the schema lets it be left out."""

Hint: TypeAlias = Callable[[str, Mapping[str, JSON]], JSON]
"""From a field's name and schema to its value, or ``NOTHING``, or ``LEAVE_OUT``."""

_TRIES = 30
_DEEP = 4
_DEEPEST = 40
_SPAN = 100
_ITEMS = 3
_ROOM = 100_000
"""Values, and hundreds of characters, drawn for one reply: a schema may ask for billions."""


class CannotInventError(ValueError):
    """Raised when no value that fits a schema was found; the message says what stood in the way."""


class Inventor:
    """Draws values that fit one schema.

    Args:
        schema: JSON Schema 2020-12; references only inside it.
        draws: Where chance comes from.
        prose: Who writes texts.
        hint: Asked first for the value of each field.
        optional: Chance that an optional field is filled in.
        words: How long a text in a field is, in words; drawn anew for each.
    """

    def __init__(
        self,
        schema: Mapping[str, JSON],
        draws: Draws,
        prose: Prose,
        *,
        hint: Hint,
        optional: float,
        words: Callable[[], int],
    ) -> None:
        self._checker = checker_for(schema)
        self._root = self._checker.schema
        self._draws = draws
        self._prose = prose
        self._hint = hint
        self._optional = optional
        self._words = words
        self._room = _ROOM

    def value(self) -> JSON:
        """A value that fits.

        Raises:
            CannotInventError: None was found.
        """
        why = ""
        self._room = _ROOM
        for _ in range(_TRIES):
            try:
                value = self._value(self._root, "", 0)
            except (CannotInventError, LookupError, ArithmeticError) as fault:
                why = str(fault)
                continue
            if self._checker.fits(value):
                return value
            why = self._checker.message(value)
        raise CannotInventError(why)

    # --- one schema at a time ---------------------------------------------------------------

    def _value(self, schema: JSON, name: str, depth: int, *, ask: bool = True) -> JSON:
        if depth > _DEEPEST:
            raise CannotInventError("the schema never ends: it refers to itself")
        self._charge(1)
        if schema is True:
            return self._prose.phrase()
        if schema is False:
            raise CannotInventError(f"nothing fits the schema `false` of `{name}`")
        flat = self._flat(schema, depth)
        if "const" in flat:
            return flat["const"]
        if "enum" in flat and not flat["enum"]:
            raise CannotInventError(f"nothing is allowed for `{name}`")
        hinted = self._hint(name, flat) if name and ask else NOTHING
        if hinted is not NOTHING:
            return hinted
        if "enum" in flat:
            return self._draws.pick(flat["enum"])
        return self._of_type(self._type(flat, name), flat, name, depth)

    def _charge(self, cost: int) -> None:
        self._room -= cost
        if self._room < 0:
            raise CannotInventError("the schema asks for more than can be made up")

    def _flat(self, schema: JSON, depth: int) -> dict[str, JSON]:
        """The schema with references, ``allOf`` and one branch of each choice folded in."""
        flat = dict(schema)
        for turn in range(_DEEPEST):
            if "$ref" in flat:
                found = resolve_reference(flat.pop("$ref"), self._root)
            elif flat.get("allOf"):
                first, *rest = flat.pop("allOf")
                found = first
                flat |= {"allOf": rest} if rest else {}
            elif "anyOf" in flat or "oneOf" in flat:
                found = self._branch(
                    flat.pop("anyOf" if "anyOf" in flat else "oneOf"), depth + turn
                )
            elif "if" in flat:
                found = self._condition(flat)
            else:
                return flat
            if found is False:
                raise CannotInventError("a branch of the schema allows nothing")
            flat = merge_schemas(flat, found) if isinstance(found, dict) else flat
        raise CannotInventError("the schema never ends: it refers to itself")

    def _branch(self, branches: list[JSON], depth: int) -> JSON:
        """One of ``branches``; deep down one that refers to nothing, so that nesting ends."""
        plain = [each for each in branches if "$ref" not in str(each)]
        return self._draws.pick(plain if depth > _DEEP and plain else branches)

    def _condition(self, flat: dict[str, JSON]) -> JSON:
        asked, then, other = flat.pop("if"), flat.pop("then", True), flat.pop("else", True)
        if not self._draws.chance(0.5):
            return other
        if isinstance(asked, dict) and isinstance(then, dict):
            return merge_schemas(asked, then)
        return then if isinstance(then, dict) else asked

    def _type(self, schema: Mapping[str, JSON], name: str) -> str:
        named: JSON = schema.get("type")
        if named is None:
            return next((kind for keys, kind in _SIGNS if not keys.isdisjoint(schema)), "string")
        if isinstance(named, str):
            return str(named)
        if not named:
            raise CannotInventError(f"no type is left for `{name}`")
        kinds = [str(kind) for kind in named if kind != "null"]
        return self._draws.pick(kinds or ["null"])

    def _of_type(self, kind: str, schema: dict[str, JSON], name: str, depth: int) -> JSON:
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, name, depth)
        if kind == "string":
            text = fitted_text(schema, name, self._draws, self._prose, self._words)
            self._charge(len(text) // 100)
            return text
        if kind == "integer":
            return self._integer(schema, name)
        if kind == "number":
            return self._number(schema, name)
        return self._draws.chance(0.5) if kind == "boolean" else None

    # --- objects and lists ------------------------------------------------------------------

    def _object(self, schema: dict[str, JSON], depth: int) -> dict[str, JSON]:
        fields = schema.get("properties", {})
        required = dict.fromkeys(schema.get("required", ()))
        others = schema.get("additionalProperties", True)
        chosen = [name for name in fields if name in required or self._fills(depth)]
        self._enough(chosen, schema, fields)
        for name in list(chosen):
            chosen += schema.get("dependentRequired", {}).get(name, ())
        made: dict[str, JSON] = {}
        for name in dict.fromkeys([*chosen, *required]):
            value = self._value(fields.get(name, others), name, depth + 1)
            if value is not LEAVE_OUT:
                made[name] = value
            elif name in required:
                made[name] = self._value(fields.get(name, others), name, depth + 1, ask=False)
        for number in range(schema.get("minProperties", 0) - len(made)):
            made[f"field_{number + 1}"] = self._value(others, "", depth + 1)
        return made

    def _fills(self, depth: int) -> bool:
        return depth <= _DEEP and self._draws.chance(self._optional)

    def _enough(
        self, chosen: list[str], schema: Mapping[str, JSON], fields: Mapping[str, JSON]
    ) -> None:
        """Adds optional fields where the object must have more."""
        left = [name for name in fields if name not in chosen]
        while left and len(chosen) < schema.get("minProperties", 0):
            chosen.append(left.pop(self._draws.below(len(left))))

    def _array(self, schema: dict[str, JSON], name: str, depth: int) -> list[JSON]:
        first = schema.get("prefixItems", [])
        rest = schema.get("items", True)
        least = max(schema.get("minItems", 0), len(first) if depth <= _DEEP else 0)
        most = schema.get("maxItems", max(least, 1) + _ITEMS)
        if rest is False:
            most = min(most, len(first))
        size = least if depth > _DEEP else self._draws.between(min(least, most), most)
        if "minItems" not in schema and size == 0 and most > 0 and depth <= _DEEP:
            size = 1
        made: list[JSON] = [self._value(each, name, depth + 1, ask=False) for each in first[:size]]
        for _ in range(self._contained(schema)):
            made.append(self._value(schema["contains"], name, depth + 1, ask=False))  # noqa: PERF401 - it draws
        while len(made) < size:
            self._add(made, rest, name, depth, unique=schema.get("uniqueItems", False), least=least)
            if len(made) < size and schema.get("uniqueItems") and len(made) >= least:
                break
        return made

    def _contained(self, schema: Mapping[str, JSON]) -> int:
        return int(schema.get("minContains", 1)) if "contains" in schema else 0

    def _add(
        self, made: list[JSON], item: JSON, name: str, depth: int, *, unique: bool, least: int
    ) -> None:
        """Adds one item; where all must differ, one that is not there yet."""
        for _ in range(_TRIES):
            value = self._value(item, name, depth + 1, ask=False)
            self._charge(len(made) // 100 if unique else 0)
            if not unique or not any(same(value, other) for other in made):
                made.append(value)
                return
        if len(made) < least:
            raise CannotInventError(f"`{name}` must have {least} different items")

    # --- numbers ----------------------------------------------------------------------------

    def _integer(self, schema: Mapping[str, JSON], name: str) -> int:
        step = schema.get("multipleOf", 1)
        if not float(step).is_integer():
            step = 1  # drawn anew until it fits
        low, high = _bounds(schema, 1)
        first, last = math.ceil(low / step), math.floor(high / step)
        if first > last:
            raise CannotInventError(f"no whole number is left for `{name}`")
        return int(self._draws.between(first, last) * step)

    def _number(self, schema: Mapping[str, JSON], name: str) -> float | int:
        low, high = _bounds(schema, 0)
        if low > high:
            raise CannotInventError(f"no number is left for `{name}`")
        if step := schema.get("multipleOf"):
            return self._draws.between(math.ceil(low / step), math.floor(high / step)) * step  # type: ignore[no-any-return]
        exact = self._draws.real(low, high)
        rounded = round(exact, 3)
        inside = low < rounded < high
        return rounded if inside else exact


def _bounds(schema: Mapping[str, JSON], gap: int) -> tuple[float, float]:
    """Least and most that a number may be; ``gap`` is what an exclusive bound leaves out."""
    low = max((schema[key] + add for key, add in (("minimum", 0), ("exclusiveMinimum", gap)) if key in schema), default=None)  # fmt: skip
    high = min((schema[key] - less for key, less in (("maximum", 0), ("exclusiveMaximum", gap)) if key in schema), default=None)  # fmt: skip
    if low is None:
        low = 0 if high is None or high >= 0 else high - _SPAN
    return low, low + _SPAN if high is None else high


_SIGNS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"properties", "required", "additionalProperties", "minProperties"}), "object"),
    (frozenset({"items", "prefixItems", "minItems", "maxItems", "uniqueItems"}), "array"),
    (frozenset({"minLength", "maxLength", "pattern", "format"}), "string"),
    (
        frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
        "number",
    ),
)
