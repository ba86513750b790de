"""Numbers between bounds as grammar rules: digits cannot run on for ever."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from orglab.providers.base import JSON

__all__ = ["FRACTION_DIGITS", "LARGEST", "integer_rule", "number_rule"]

LARGEST = 10**15 - 1
"""Largest number, and with a minus the smallest, where the schema gives no bound."""

FRACTION_DIGITS = 6
"""Most digits after the point."""

_STEP = 2 * 10**-FRACTION_DIGITS  # more than an exclusive bound moves


def integer_rule(schema: Mapping[str, JSON]) -> str | None:
    """A rule for the integers within the schema's bounds; None where there are none."""
    low, high = _bounds(schema)
    return _either(_integers(math.ceil(low), math.floor(high)))


def number_rule(schema: Mapping[str, JSON]) -> str | None:
    """A rule for decimal numbers within the schema's bounds, without exponents.

    Between a bound that is no whole number and the next whole number, two decimals are written.
    """
    low, high = _bounds(schema, whole=False)
    options = _integers(math.ceil(low), math.floor(high))
    options += _fractions("", low, high)
    options += _fractions('"-" ', -high, -low)
    options += _hundredths(low, min(high, math.ceil(low)))
    options += _hundredths(max(low, math.floor(high)), high)
    return _either(list(dict.fromkeys(options)))


def _bounds(schema: Mapping[str, JSON], *, whole: bool = True) -> tuple[float, float]:
    """Least and greatest value; exclusive bounds move by the smallest step that is written."""
    step = 1 if whole else 10**-FRACTION_DIGITS
    low: float = schema.get("minimum", -math.inf)
    high: float = schema.get("maximum", math.inf)
    if "exclusiveMinimum" in schema:
        low = max(low, _beyond(schema["exclusiveMinimum"], step, whole=whole))
    if "exclusiveMaximum" in schema:
        high = min(high, -_beyond(-schema["exclusiveMaximum"], step, whole=whole))
    if low == -math.inf:
        low = min(-LARGEST, high - LARGEST) if high < math.inf else -LARGEST
    if high == math.inf:
        high = max(LARGEST, low + LARGEST)
    return low, high


def _beyond(bound: float, step: float, *, whole: bool) -> float:
    return math.floor(bound) + 1 if whole else bound + step


def _integers(low: int, high: int) -> list[str]:
    options = [f'"-" {_span(max(1, -high), -low)}'] if low < 0 and low <= high else []
    if high >= 0 and low <= high:
        options.append(_span(max(0, low), high))
    return options


def _fractions(sign: str, low: float, high: float) -> list[str]:
    """Numbers with a point that lie between whole ones; ``sign`` mirrors them."""
    first, last = math.ceil(max(low, 0)), math.floor(high + _STEP) - 1
    return [f'{sign}{_span(first, last)} "." [0-9]{{1,{FRACTION_DIGITS}}}'] if first <= last else []


def _hundredths(low: float, high: float) -> list[str]:
    """Numbers of a stretch that is shorter than 1."""
    if high - low >= 1:
        return []
    return [
        f'"{step / 100:.2f}"' for step in range(math.ceil(low * 100), math.floor(high * 100) + 1)
    ]


def _span(low: int, high: int) -> str:
    """The integers from ``low`` to ``high``, neither negative, without leading zeros."""
    options = []
    for length in range(len(str(low)), len(str(high)) + 1):
        least = max(low, 10 ** (length - 1) if length > 1 else 0)
        most = min(high, 10**length - 1)
        options.append(_digits(str(least), str(most)))
    return options[0] if len(options) == 1 else f"({' | '.join(options)})"


def _digits(low: str, high: str) -> str:
    """Numbers of one length, written with as many digits."""
    rest = len(low) - 1
    if low[1:] == "0" * rest and high[1:] == "9" * rest:
        tail = f" [0-9]{{{rest},{rest}}}" if rest else ""
        return f"[{low[0]}-{high[0]}]{tail}"
    if low[0] == high[0]:
        return f'"{low[0]}" {_digits(low[1:], high[1:])}'
    options = [f'"{low[0]}" {_digits(low[1:], "9" * rest)}']
    if int(high[0]) - int(low[0]) > 1:
        middle = f"{int(low[0]) + 1}{'0' * rest}", f"{int(high[0]) - 1}{'9' * rest}"
        options.append(_digits(*middle))
    options.append(f'"{high[0]}" {_digits("0" * rest, high[1:])}')
    return f"({' | '.join(options)})"


def _either(options: Sequence[str]) -> str | None:
    if not options:
        return None
    return options[0] if len(options) == 1 else f"({' | '.join(options)})"
