"""Numbers in words: as the APA style has them, and with as many digits as they carry."""

from __future__ import annotations

from math import floor, isfinite, log10

__all__ = [
    "MINUS",
    "amount",
    "clear_places",
    "interval",
    "label",
    "money",
    "name_list",
    "number",
    "p_equals",
    "p_value",
    "percent",
    "places",
    "sentence",
    "signed",
    "time",
]

MINUS = "\N{MINUS SIGN}"
NOTHING = "\N{EN DASH}"
"""Stands where there is no number; the reason stands beside."""
_MOST_PLACES = 8
_SPACE = "\N{NO-BREAK SPACE}"
"""Numbers stay on the line of their units."""


def places(*values: float | None) -> int:
    """Decimals that show the largest of ``values`` with two or three significant digits."""
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    if largest == 0 or not isfinite(largest):
        return 2
    if 0.1 <= largest < 10:
        return 2
    return max(0, min(_MOST_PLACES, (2 if largest >= 10 else 1) - floor(log10(largest))))


def clear_places(value: float | None, low: float | None, high: float | None) -> int:
    """Decimals of a value with its interval: an end that is not 0 beside an interval without 0 is not shown as 0."""
    digits = places(value, low, high)
    if low is None or high is None or not (low > 0 or high < 0):
        return digits
    nearest = min(abs(low), abs(high))
    while digits < _MOST_PLACES and round(nearest, digits) == 0:
        digits += 1
    return digits


def number(value: float | None, decimals: int | None = None) -> str:
    """``1,036``, ``40.6``, ``3.05``, ``0.004``; an en dash for None and what is not finite."""
    if value is None or not isfinite(value):
        return NOTHING
    if decimals is None:
        decimals = 0 if value == int(value) and abs(value) < 1e15 else places(value)
    return (
        f"{value:,.{decimals}f}".replace("-", MINUS) if _shows(value, decimals) else _zero(decimals)
    )


def _shows(value: float, decimals: int) -> bool:
    """It is not rounded to a zero with a sign."""
    return round(value, decimals) != 0 or value == 0


def _zero(decimals: int) -> str:
    return f"{0:.{decimals}f}"


def signed(value: float | None, decimals: int | None = None) -> str:
    """As ``number``, with a plus sign before what is above 0."""
    text = number(value, places(value) if decimals is None else decimals)
    return f"+{text}" if value is not None and value > 0 and text.strip("0.,") else text


def interval(low: float | None, high: float | None, decimals: int | None = None) -> str:
    """``0.05 to 0.37``; an en dash where there is none."""
    if low is None or high is None:
        return NOTHING
    digits = clear_places(None, low, high) if decimals is None else decimals
    return f"{number(low, digits)} to {number(high, digits)}"


def p_value(p: float | None) -> str:
    """``.012``, ``< .001``, ``> .999``; an en dash for None (APA: no zero before the point)."""
    if p is None or not isfinite(p):
        return NOTHING
    if p < 0.001:
        return "< .001"
    return "> .999" if p > 0.9995 else f"{p:.3f}".lstrip("0") if p < 0.9995 else "> .999"


def p_equals(p: float | None) -> str:
    """``p = .012``, ``p < .001``; ``no p`` for None."""
    text = p_value(p)
    if p is None:
        return "no p"
    words = f"p {text}" if text[0] in "<>" else f"p = {text}"
    return words.replace(" ", _SPACE)


def percent(share: float | None, decimals: int = 0) -> str:
    """``93 %`` of a share from 0 to 1."""
    return NOTHING if share is None else f"{number(100 * share, decimals)}{_SPACE}%"


def money(usd: float | None) -> str:
    """``$1.24``, ``$0.0041``; ``unknown`` for None."""
    if usd is None:
        return "unknown"
    if usd == 0:
        return "$0"
    sign = MINUS if usd < 0 else ""
    size = abs(usd)
    return (
        f"{sign}${size:,.2f}" if size >= 1 else f"{sign}${number(size, max(2, places(size) + 1))}"
    )


def time(seconds: float | None) -> str:
    """``0.4 s``, ``93 s``, ``12 min``, ``1 h 05``; ``unknown`` for None."""
    if seconds is None:
        return "unknown"
    sign = MINUS if seconds < 0 else ""
    size = abs(seconds)
    if size < 120:
        return f"{sign}{size:.1f} s" if size < 10 else f"{sign}{size:.0f} s"
    minutes = round(size / 60)
    return f"{sign}{minutes} min" if minutes < 120 else f"{sign}{minutes // 60} h {minutes % 60:02}"


def amount(count: int, one: str, many: str = "") -> str:
    """``1 pair``, ``2,000 pairs``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def sentence(words: str) -> str:
    """With a capital and a full stop."""
    return f"{words[:1].upper()}{words[1:].rstrip('.')}." if words else ""


def label(name: str) -> str:
    """A name of the spec as words: ``writing_clarity`` is *writing clarity*."""
    return name.replace("_", " ")


def name_list(names: list[str] | tuple[str, ...], joint: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {joint} {names[-1]}"
