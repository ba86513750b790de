"""Schemas that hold together: references followed, several schemas for one value made one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from orglab.providers.base import JSON
from orglab.providers.llama.llama_pattern import GrammarError

__all__ = ["UnsatisfiableError", "merged", "target_of"]

_REMARKS: Final = frozenset({"title", "description", "default", "examples", "$comment", "$defs"})
_KEPT: Final = frozenset({"$schema", "$id", "$anchor", "deprecated", "readOnly", "writeOnly"})


class UnsatisfiableError(GrammarError):
    """Raised when no value at all fits a schema; a union then drops the branch."""


def target_of(root: JSON, reference: JSON, place: str) -> JSON:
    """The schema that a local ``$ref`` such as ``#/$defs/name`` points to.

    Raises:
        GrammarError: It leads out of the schema, or nowhere.
    """
    if not isinstance(reference, str) or not reference.startswith("#"):
        raise GrammarError(f"{place or '/'}: {reference!r} leads out of the schema")
    target = root
    for step in reference[1:].split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        try:
            target = target[int(key)] if isinstance(target, list) else target[key]
        except (KeyError, IndexError, ValueError, TypeError):
            raise GrammarError(f"{place or '/'}: {reference!r} leads nowhere") from None
    return target


def merged(base: JSON, other: JSON, place: str) -> JSON:
    """One schema that says what ``base`` and ``other`` say together.

    Raises:
        GrammarError: Two keywords cannot be said in one.
    """
    if base is True or base == {}:
        return other
    if other is True or other == {}:
        return base
    if base is False or other is False:
        return False
    whole = dict(base)
    for key, value in other.items():
        whole[key] = _both(key, whole[key], value, place) if key in whole else value
    return whole


def _both(key: str, one: JSON, two: JSON, place: str) -> JSON:
    if one == two or key in _REMARKS | _KEPT:
        return one
    if key == "const":
        raise UnsatisfiableError(f"{place or '/'}: no value is both {one!r} and {two!r}")
    if key not in _RULES:
        raise GrammarError(f"{place or '/'}: two different {key} for one value have no grammar")
    return _RULES[key](one, two, place)


def _lists(one: JSON, two: JSON, _: str) -> JSON:
    return [*one, *(item for item in two if item not in one)]


def _common(one: JSON, two: JSON, place: str) -> JSON:
    both = [item for item in one if item in two]
    if not both:
        raise UnsatisfiableError(f"{place or '/'}: no value is in both of {one} and {two}")
    return both


def _types(one: JSON, two: JSON, place: str) -> JSON:
    ones = one if isinstance(one, list) else [one]
    twos = two if isinstance(two, list) else [two]
    if "number" in ones and "integer" in twos:
        ones = [*ones, "integer"]
    if "number" in twos and "integer" in ones:
        twos = [*twos, "integer"]
    both = _common(ones, twos, place)
    return both[0] if len(both) == 1 else both


def _properties(one: JSON, two: JSON, place: str) -> JSON:
    shared = {
        name: merged(one[name], schema, f"{place}/{name}")
        for name, schema in two.items()
        if name in one
    }
    return {**one, **two, **shared}


def _alternatives(one: JSON, two: JSON, place: str) -> JSON:
    return [merged(a, b, place) for a in one for b in two]


def _least(one: JSON, two: JSON, _: str) -> JSON:
    return min(one, two)


def _greatest(one: JSON, two: JSON, _: str) -> JSON:
    return max(one, two)


_RULES: Final[Mapping[str, Callable[[JSON, JSON, str], JSON]]] = {
    "required": _lists,
    "allOf": _lists,
    "anyOf": _alternatives,
    "enum": _common,
    "type": _types,
    "properties": _properties,
    "items": merged,
    "additionalProperties": merged,
    "minLength": _greatest,
    "minItems": _greatest,
    "minProperties": _greatest,
    "minimum": _greatest,
    "exclusiveMinimum": _greatest,
    "maxLength": _least,
    "maxItems": _least,
    "maxProperties": _least,
    "maximum": _least,
    "exclusiveMaximum": _least,
}
