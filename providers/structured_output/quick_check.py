"""A fast check of simple schemas that agrees with ``jsonschema`` on every value.

Most schemas of turns and verdicts use a handful of keywords. For these a tree of small functions
answers in a few microseconds. Any other keyword anywhere, and there is no quick check.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from jsonschema import Draft202012Validator

from orglab.providers.base import JSON

__all__ = ["Check", "quick_check"]

Check: TypeAlias = Callable[[JSON], bool]


class _NotSimpleError(Exception):
    """Raised when a schema has a keyword that only the full validator knows."""


def quick_check(schema: JSON) -> Check | None:
    """A function that tells whether a JSON value fits ``schema``; None where it isn't simple."""
    try:
        return _check(schema)
    except _NotSimpleError:
        return None


def _check(schema: JSON) -> Check:
    if isinstance(schema, bool):
        return lambda _: schema
    parts = [
        make(schema) for keywords, make in _MAKERS if any(keyword in schema for keyword in keywords)
    ]
    if not _KNOWN.issuperset(schema.keys() & _MEANT):
        raise _NotSimpleError
    if len(parts) == 1:
        return parts[0]
    if len(parts) == 2:
        first, second = parts
        return lambda value: first(value) and second(value)
    return lambda value: all(part(value) for part in parts)


def _is_integer(value: JSON) -> bool:
    if type(value) is int:
        return True
    return type(value) is float and value.is_integer()


_TYPES: dict[str, Check] = {
    "object": lambda value: type(value) is dict,
    "array": lambda value: type(value) is list,
    "string": lambda value: type(value) is str,
    "integer": _is_integer,
    "number": lambda value: type(value) is int or type(value) is float,
    "boolean": lambda value: type(value) is bool,
    "null": lambda value: value is None,
}


def _type(schema: dict[str, JSON]) -> Check:
    named = schema["type"]
    if isinstance(named, str):
        return _TYPES[named]
    checks = [_TYPES[name] for name in named]
    return lambda value: any(check(value) for check in checks)


def _enum(schema: dict[str, JSON]) -> Check:
    offered = schema["enum"]
    if not all(type(each) is str or each is None for each in offered):
        raise _NotSimpleError
    allowed = frozenset(offered)
    return lambda value: (type(value) is str or value is None) and value in allowed


def _length(schema: dict[str, JSON]) -> Check:
    least, most = schema.get("minLength", 0), schema.get("maxLength", float("inf"))
    return lambda value: type(value) is not str or least <= len(value) <= most


def _bounds(schema: dict[str, JSON]) -> Check:
    least, most = schema.get("minimum"), schema.get("maximum")

    def check(value: JSON) -> bool:
        if type(value) is not int and type(value) is not float:
            return True
        return (least is None or value >= least) and (most is None or value <= most)

    return check


def _items(schema: dict[str, JSON]) -> Check:
    rule = _check(schema.get("items", True))
    least, most = schema.get("minItems", 0), schema.get("maxItems", float("inf"))

    def check(value: JSON) -> bool:
        if type(value) is not list:
            return True
        return least <= len(value) <= most and all(rule(item) for item in value)

    return check


def _object(schema: dict[str, JSON]) -> Check:
    rules = {name: _check(rule) for name, rule in schema.get("properties", {}).items()}
    others = _check(schema.get("additionalProperties", True))
    required = tuple(schema.get("required", ()))

    def check(value: JSON) -> bool:
        if type(value) is not dict:
            return True
        for name in required:
            if name not in value:
                return False
        for name, item in value.items():  # noqa: SIM110 - a generator costs more than the loop
            if not rules.get(name, others)(item):
                return False
        return True

    return check


_MAKERS: tuple[tuple[tuple[str, ...], Callable[[dict[str, JSON]], Check]], ...] = (
    (("type",), _type),
    (("enum",), _enum),
    (("minLength", "maxLength"), _length),
    (("minimum", "maximum"), _bounds),
    (("items", "minItems", "maxItems"), _items),
    (("properties", "required", "additionalProperties"), _object),
)
_KNOWN = frozenset(keyword for keywords, _ in _MAKERS for keyword in keywords) | {"format"}
_MEANT = frozenset(Draft202012Validator.VALIDATORS)
