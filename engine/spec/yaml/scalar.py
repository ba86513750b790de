"""Plain scalars of YAML 1.2's core schema, made stricter: what looks odd stays text.

``yes no on off``, ``007``, ``12:30``, ``1_000`` and dates are text; ``1e-3`` is a number. NaN and
infinity, which strict JSON cannot hold, are refused.
"""

from __future__ import annotations

import math
import re

from orglab.providers.base import JSON

_CONSTANTS: dict[str, JSON] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}

_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_BASED = re.compile(r"0(?:x[0-9a-fA-F]+|o[0-7]+)\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z")

_MOST_DIGITS = 400
"""Longer runs of digits are no number that a model or JSON reader elsewhere can take."""


class NotJson(ValueError):
    """Raised for a number that strict JSON cannot hold; the text says which."""


def plain_value(text: str) -> JSON:
    """Return the value of a plain (unquoted) scalar.

    Raises:
        NotJson: It is NaN, infinite or too large for a number.
    """
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in "0123456789+-.":
        return text
    if _NOT_FINITE.match(text):
        raise NotJson(f"{text} is no finite number")
    return _number(text)


def is_number(text: str) -> bool:
    """Return whether a text, written without quotes, would be a number."""
    try:
        value = plain_value(text)
    except NotJson:
        return False
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(text: str) -> JSON:
    if _INTEGER.match(text):
        if len(text) > _MOST_DIGITS:
            raise NotJson(f"a number of {len(text)} digits is too long")
        return int(text)
    if _BASED.match(text):
        return int(text, 0)
    return _float(text) if _FLOAT.match(text) else text


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NotJson(f"{text} is too large for a number")
    return number
