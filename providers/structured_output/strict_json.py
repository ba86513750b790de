"""Strict JSON, in and out: no NaN, no infinity, no half characters, no key with two values."""

from __future__ import annotations

import json
from typing import NoReturn

from orglab.providers.base import JSON

__all__ = [
    "BLANK",
    "DEPTH",
    "DuplicateKeyError",
    "JSONError",
    "clip",
    "dumps",
    "loads",
    "object_of",
    "same",
    "value_at",
]

#: Characters that show nothing: white space of every kind, and marks of no width.
BLANK = " \t\r\n\v\f\u0085\u00a0\u2028\u2029\u3000\ufeff\u200b\u200c\u200d\u2060"

#: Objects and arrays within one another, at most: deeper ones would break whoever reads them next.
DEPTH = 100


class JSONError(ValueError):
    """Raised when a text is not strict JSON; the message says why, in words."""


class DuplicateKeyError(JSONError):
    """Raised when an object gives one key two different values.

    Attributes:
        key: The key.
    """

    def __init__(self, key: str) -> None:
        super().__init__(f"the key {clip(key)} has two different values in one object")
        self.key = key


def clip(value: JSON, width: int = 60) -> str:
    """``value`` as JSON text of at most ``width`` characters, for messages."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = text.encode(errors="replace").decode()
    return text if len(text) <= width else text[: width - 1] + "…"


def same(one: JSON, other: JSON) -> bool:
    """Whether two JSON values are equal; unlike Python's ``==``, true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def object_of(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    """An object of ``pairs``; a key may stand twice only with the same value.

    Raises:
        DuplicateKeyError: A key has two different values.
    """
    made = dict(pairs)
    if len(made) != len(pairs):
        for key, value in pairs:
            if not same(value, made[key]):
                raise DuplicateKeyError(key)
    return made


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise JSONError(f"the number {text[:40]} is too large")
    return number


def _refuse(name: str) -> NoReturn:
    raise JSONError(f"{name} is not a JSON value")


_DECODER = json.JSONDecoder(
    object_pairs_hook=object_of, parse_float=_finite, parse_constant=_refuse
)


def loads(text: str) -> JSON:
    """The value that ``text``, whole, holds as strict JSON.

    Raises:
        JSONError: It is not strict JSON.
    """
    try:
        value = _DECODER.decode(text)
    except JSONError:
        raise
    except (ValueError, RecursionError) as fault:
        raise JSONError(_in_words(fault)) from None
    _refuse_unusable(value, text)
    return value


def value_at(text: str, start: int) -> tuple[JSON, int]:
    """The strict JSON value that begins at ``start``, and where it ends.

    Raises:
        JSONError: No strict JSON value begins there.
    """
    try:
        value, end = _DECODER.raw_decode(text, start)
    except JSONError:
        raise
    except (ValueError, RecursionError) as fault:
        raise JSONError(_in_words(fault)) from None
    _refuse_unusable(value, text)
    return value, end


def dumps(value: JSON) -> str:
    """``value`` as strict JSON text.

    Raises:
        ValueError: It holds NaN or an infinity.
        TypeError: It holds something that JSON cannot.
    """
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def _in_words(fault: Exception) -> str:
    if isinstance(fault, RecursionError):
        return "it is nested too deeply"
    if isinstance(fault, json.JSONDecodeError):
        return f"{fault.msg} (line {fault.lineno}, column {fault.colno})"
    return "a number has too many digits"


def _refuse_unusable(value: JSON, text: str) -> None:
    """Refuses what no file and no server can take; ``text`` tells what need not be looked for."""
    if text.count("{") + text.count("[") > DEPTH:
        _refuse_depth(value)
    if not text.isascii() or "\\u" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise JSONError("a text holds half a character (a lone surrogate)") from None


def _refuse_depth(value: JSON) -> None:
    level = [value]
    for _ in range(DEPTH + 1):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    raise JSONError("it is nested too deeply")


def _inside(value: JSON) -> list[JSON]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
