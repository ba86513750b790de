"""Numbers between bounds as grammar rules: digits cannot run on for ever."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from orglab.providers.base import JSON

__all__ = ["DIGITS", "FRACTION_DIGITS", "integer_rule", "number_rule"]

DIGITS = 15
"""Most digits before the point where the schema gives no bound."""

FRACTION_DIGITS = 6
"""Most digits after the point."""

_STEP = 10**-FRACTION_DIGITS


def integer_rule(schema: Mapping[str, JSON]) -> str | None:
    """A rule for the integers within the schema's bounds; None where there are none."""
    low, high = _bounds(schema, 1)
    return _either(_integers(low, high))


def number_rule(schema: Mapping[str, JSON]) -> str | None:
    """A rule for decimal numbers within the schema's bounds, without exponents.

    Between a bound that is no whole number and the next whole number, two decimals are written.
    """
    low, high = _bounds(schema, _STEP)
    options = _integers(low, high)
    options += _fractions("", low, high)
    options += _fractions('"-" ', -high, -low)
    if math.isfinite(low):
        options += _hundredths(low, min(high, math.ceil(low)))
    if math.isfinite(high):
        options += _hundredths(max(low, math.floor(high)), high)
    return _either(list(dict.fromkeys(options)))


def _bounds(schema: Mapping[str, JSON], step: float) -> tuple[float, float]:
    """Least and greatest value, or infinity; exclusive bounds move inwards by ``step``."""
    low: float = schema.get("minimum", -math.inf)
    high: float = schema.get("maximum", math.inf)
    if "exclusiveMinimum" in schema:
        low = max(low, _beyond(schema["exclusiveMinimum"], step))
    if "exclusiveMaximum" in schema:
        high = min(high, -_beyond(-schema["exclusiveMaximum"], step))
    return low, high


def _beyond(bound: float, step: float) -> float:
    return math.floor(bound) + 1 if step == 1 else bound + step


def _integers(low: float, high: float) -> list[str]:
    options = _magnitudes('"-" ', max(1, -high), -low)
    return [*options, *_magnitudes("", max(0, low), high)]


def _magnitudes(sign: str, low: float, high: float) -> list[str]:
    """Whole numbers from ``low``, which is not negative; ``sign`` mirrors them."""
    if low == math.inf:
        return []
    first = math.ceil(low)
    last = _nines(first) if high == math.inf else math.floor(high)
    return [sign + _span(first, last)] if first <= last else []


def _fractions(sign: str, low: float, high: float) -> list[str]:
    """Numbers with a point that lie between whole ones."""
    if high == -math.inf or low == math.inf:
        return []
    last = high if high == math.inf else math.floor(high + 2 * _STEP) - 1
    whole = _magnitudes(sign, max(low, 0), last)
    return [f'{rule} "." [0-9]{{1,{FRACTION_DIGITS}}}' for rule in whole]


def _hundredths(low: float, high: float) -> list[str]:
    """Numbers of a stretch that is shorter than 1."""
    if high - low >= 1:
        return []
    steps = range(math.ceil(low * 100), math.floor(high * 100) + 1)
    return [f'"{step / 100:.2f}"' for step in steps]


def _nines(first: int) -> int:
    """Where numbers from ``first`` on end that have no bound."""
    return int("9" * max(DIGITS, len(str(first)) + 1))


def _span(low: int, high: int) -> str:
    """The integers from ``low`` to ``high``, neither negative, without leading zeros."""
    options = []
    full: list[int] = []  # lengths of which every number is in
    for length in range(len(str(low)), len(str(high)) + 1):
        least, most = 10 ** (length - 1) if length > 1 else 0, 10**length - 1
        if length > 1 and low <= least and most <= high:
            full.append(length)
        else:
            options.append(_digits(str(max(low, least)), str(min(high, most))))
    if full:
        options.append(f"[1-9] [0-9]{{{full[0] - 1},{full[-1] - 1}}}")
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
