"""Random values that fit a schema: objects, lists, texts and numbers of JSON Schema 2020-12.

A value is made from the keywords that say how it looks, and then checked against the whole schema;
one that fails a keyword which could not be followed is sampled again. After some attempts the schema
is refused: a value that does not fit never leaves this module.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TypeAlias, cast

from rstr.xeger import STAR_PLUS_LIMIT, Xeger

from orglab.providers.base import JSON
from orglab.providers.simulated.prose import SHORT_FIELDS, Prose
from orglab.providers.simulated.random_stream import RandomStream
from orglab.providers.structured_output.schema_merge import merge_schemas, resolve_reference
from orglab.providers.structured_output.strict_json import same
from orglab.providers.structured_output.validation import checker_for

NOTHING = object()
"""A hint's result if it has no value."""

LEAVE_OUT = object()
"""A hint's result for a field to leave out, if the schema allows that."""

Hint: TypeAlias = Callable[[str, Mapping[str, JSON]], JSON]
"""From a field's name and schema to its value, or ``NOTHING``, or ``LEAVE_OUT``."""

_TRIES = 30
_DEEP = 4
_DEEPEST = 40
_SPAN = 100
_ITEMS = 3
_LONGEST_TEXT = 100_000  # characters that a schema may ask a text to have at least
_REPEATS = 4  # beyond the least, of a pattern without upper bound
_MOST_REPEATS = 20_000  # in one text: a pattern may ask for billions
_ROOM = 100_000
"""Values, and hundreds of characters, sampled for one reply: a schema may ask for billions."""


class NoSampleError(ValueError):
    """Raised when no value that fits a schema was found; the message gives the reason."""


class SchemaSampler:
    """Samples values that fit one schema.

    Args:
        schema: JSON Schema 2020-12; references only inside it.
        stream: Where chance comes from.
        prose: Who writes texts.
        hint: Asked first for the value of each field.
        optional: Chance that an optional field is filled in.
        words: How long a text in a field is, in words; sampled for each.
    """

    def __init__(
        self,
        schema: Mapping[str, JSON],
        stream: RandomStream,
        prose: Prose,
        *,
        hint: Hint,
        optional: float,
        words: Callable[[], int],
    ) -> None:
        self._checker = checker_for(schema)
        self._root = self._checker.schema
        self._stream = stream
        self._prose = prose
        self._hint = hint
        self._optional = optional
        self._words = words
        self._room = _ROOM

    def sample(self) -> JSON:
        """Return a value that fits.

        Raises:
            NoSampleError: None was found.
        """
        why = ""
        self._room = _ROOM
        for _ in range(_TRIES):
            try:
                value = self._value(self._root, "", 0)
            except (NoSampleError, LookupError, ArithmeticError) as error:
                why = str(error)
                continue
            if self._checker.fits(value):
                return value
            why = self._checker.message(value)
        raise NoSampleError(why)

    # --- one schema at a time ---------------------------------------------------------------

    def _value(self, schema: JSON, name: str, depth: int, *, ask: bool = True) -> JSON:
        if depth > _DEEPEST:
            raise NoSampleError("the schema never ends: it refers to itself")
        self._charge(1)
        if schema is True:
            return self._prose.phrase()
        if schema is False:
            raise NoSampleError(f"nothing fits the schema `false` of `{name}`")
        flat = self._flat(schema, depth)
        if "const" in flat:
            return flat["const"]
        if "enum" in flat and not flat["enum"]:
            raise NoSampleError(f"nothing is allowed for `{name}`")
        hinted = self._hint(name, flat) if name and ask else NOTHING
        if hinted is not NOTHING:
            return hinted
        if "enum" in flat:
            return self._stream.pick(flat["enum"])
        return self._of_type(self._type(flat, name), flat, name, depth)

    def _charge(self, cost: int) -> None:
        self._room -= cost
        if self._room < 0:
            raise NoSampleError("the schema asks for more than can be made up")

    def _flat(self, schema: JSON, depth: int) -> dict[str, JSON]:
        """Return the schema with references, ``allOf`` and one branch of each choice folded in."""
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
                raise NoSampleError("a branch of the schema allows nothing")
            flat = merge_schemas(flat, found) if isinstance(found, dict) else flat
        raise NoSampleError("the schema never ends: it refers to itself")

    def _branch(self, branches: list[JSON], depth: int) -> JSON:
        """Return one of ``branches``; in deep nesting one without a reference, so that it ends."""
        plain = [each for each in branches if "$ref" not in str(each)]
        return self._stream.pick(plain if depth > _DEEP and plain else branches)

    def _condition(self, flat: dict[str, JSON]) -> JSON:
        asked, then, other = flat.pop("if"), flat.pop("then", True), flat.pop("else", True)
        if not self._stream.chance(0.5):
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
            raise NoSampleError(f"no type is left for `{name}`")
        kinds = [str(kind) for kind in named if kind != "null"]
        return self._stream.pick(kinds or ["null"])

    def _of_type(self, kind: str, schema: dict[str, JSON], name: str, depth: int) -> JSON:
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, name, depth)
        if kind == "string":
            text = _fitted_text(schema, name, self._stream, self._prose, self._words)
            self._charge(len(text) // 100)
            return text
        if kind == "integer":
            return self._integer(schema, name)
        if kind == "number":
            return self._number(schema, name)
        return self._stream.chance(0.5) if kind == "boolean" else None

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
        return depth <= _DEEP and self._stream.chance(self._optional)

    def _enough(
        self, chosen: list[str], schema: Mapping[str, JSON], fields: Mapping[str, JSON]
    ) -> None:
        """Add optional fields where the object must have more."""
        left = [name for name in fields if name not in chosen]
        while left and len(chosen) < schema.get("minProperties", 0):
            chosen.append(left.pop(self._stream.below(len(left))))

    def _array(self, schema: dict[str, JSON], name: str, depth: int) -> list[JSON]:
        first = schema.get("prefixItems", [])
        rest = schema.get("items", True)
        least = max(schema.get("minItems", 0), len(first) if depth <= _DEEP else 0)
        most = schema.get("maxItems", max(least, 1) + _ITEMS)
        if rest is False:
            most = min(most, len(first))
        size = least if depth > _DEEP else self._stream.between(min(least, most), most)
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
        """Add one item; where all must differ, one that is not there yet."""
        for _ in range(_TRIES):
            value = self._value(item, name, depth + 1, ask=False)
            self._charge(len(made) // 100 if unique else 0)
            if not unique or not any(same(value, other) for other in made):
                made.append(value)
                return
        if len(made) < least:
            raise NoSampleError(f"`{name}` must have {least} different items")

    # --- numbers ----------------------------------------------------------------------------

    def _integer(self, schema: Mapping[str, JSON], name: str) -> int:
        step = schema.get("multipleOf", 1)
        if not float(step).is_integer():
            step = 1  # drawn anew until it fits
        low, high = _bounds(schema, 1)
        first, last = math.ceil(low / step), math.floor(high / step)
        if first > last:
            raise NoSampleError(f"no whole number is left for `{name}`")
        return int(self._stream.between(first, last) * step)

    def _number(self, schema: Mapping[str, JSON], name: str) -> float | int:
        low, high = _bounds(schema, 0)
        if low > high:
            raise NoSampleError(f"no number is left for `{name}`")
        if step := schema.get("multipleOf"):
            return self._stream.between(math.ceil(low / step), math.floor(high / step)) * step  # type: ignore[no-any-return]
        exact = self._stream.real(low, high)
        rounded = round(exact, 3)
        inside = low < rounded < high
        return rounded if inside else exact


def _bounds(schema: Mapping[str, JSON], gap: int) -> tuple[float, float]:
    """Return a number's least and greatest value; ``gap`` is what an exclusive bound excludes."""
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


# --- texts -------------------------------------------------------------------------------


def _date(stream: RandomStream) -> str:
    return f"20{stream.between(10, 29)}-{stream.between(1, 12):02}-{stream.between(1, 28):02}"


def _time(stream: RandomStream) -> str:
    return f"{stream.below(24):02}:{stream.below(60):02}:{stream.below(60):02}Z"


def _hex(stream: RandomStream, digits: int) -> str:
    return "".join(stream.pick("0123456789abcdef") for _ in range(digits))


def _uuid(stream: RandomStream) -> str:
    variant = stream.pick("89ab") + _hex(stream, 3)
    return f"{_hex(stream, 8)}-{_hex(stream, 4)}-4{_hex(stream, 3)}-{variant}-{_hex(stream, 12)}"


_FORMATS: dict[str, Callable[[RandomStream], str]] = {
    "date": _date,
    "time": _time,
    "date-time": lambda stream: f"{_date(stream)}T{_time(stream)}",
    "duration": lambda stream: f"P{stream.between(1, 30)}D",
    "email": lambda stream: f"someone{stream.below(1000)}@example.org",
    "hostname": lambda stream: f"host{stream.below(1000)}.example.org",
    "ipv4": lambda stream: f"192.0.2.{stream.between(1, 254)}",
    "ipv6": lambda stream: f"2001:db8::{_hex(stream, 4)}",
    "uri": lambda stream: f"https://example.org/{stream.below(1000)}",
    "uri-reference": lambda stream: f"/{stream.below(1000)}",
    "uuid": _uuid,
}


def _fitted_text(
    schema: Mapping[str, JSON],
    name: str,
    stream: RandomStream,
    prose: Prose,
    words: Callable[[], int],
) -> str:
    """Return a text that fits ``pattern``, ``format``, ``minLength`` and ``maxLength`` of ``schema``.

    Raises:
        LookupError: No text was found for the pattern, or the text would be too long.
    """
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if least > _LONGEST_TEXT:
        raise LookupError(f"`{name}` must have {least} characters, more than can be made up")
    if "pattern" in schema:
        return _matching(schema["pattern"], least, most, stream)
    if (form := _FORMATS.get(schema.get("format", ""))) is not None:
        return form(stream)
    text = prose.phrase() if name.lower() in SHORT_FIELDS else prose.text(max(1, words()))
    while len(text) < least:
        text = f"{text} {prose.text(1 + (least - len(text)) // 6)}"
    return text if most is None else _within(text, least, most)


def _within(text: str, least: int, most: int) -> str:
    """Return ``text`` cut after a sentence, else after a word, else where it must be."""
    if len(text) <= most:
        return text
    for mark, kept in ((". ", 1), (" ", 0)):
        end = text.rfind(mark, max(least - kept, 1), most - kept + 1)
        if end >= 0:
            return text[: end + kept]
    return text[:most]


def _matching(pattern: str, least: int, most: int | None, stream: RandomStream) -> str:
    """Return a text of ``least`` to ``most`` characters in which ``pattern`` is found."""
    for _ in range(_TRIES):
        try:
            text = Xeger(cast("Random", _PatternRandom(stream))).xeger(pattern)
        except (re.error, KeyError, IndexError, OverflowError, RecursionError) as error:
            raise LookupError(f"no text for the pattern {pattern!r}: {error}") from None
        if least <= len(text) <= (len(text) if most is None else most) and re.search(pattern, text):
            return text
    raise LookupError(f"no text for the pattern {pattern!r} was found in {_TRIES} attempts")


class _PatternRandom:
    """The part of ``random.Random`` that rstr uses, on our own stream, in a fixed order.

    rstr iterates over sets of characters, whose order differs from process to process: characters
    are sorted first. Control characters are used only where a pattern asks for them.
    """

    def __init__(self, stream: RandomStream) -> None:
        self._stream = stream
        self._repeats = 0

    def choice(self, items: Sequence[JSON]) -> JSON:
        if items and all(isinstance(item, str) for item in items):
            items = [item for item in sorted(items) if item.isprintable()] or sorted(items)
        return self._stream.pick(items)

    def randint(self, least: int, most: int) -> int:
        """Return a number of repetitions; few where the pattern gives no upper bound."""
        most = least + _REPEATS if most >= STAR_PLUS_LIMIT else most
        times = self._stream.between(least, most)
        self._repeats += times
        if self._repeats > _MOST_REPEATS:
            raise LookupError("a pattern asks for too long a text")
        return times

    def shuffle(self, items: list[str]) -> None:
        """Leave ``items`` as they are: rstr shuffles a single character."""
