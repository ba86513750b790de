"""Numbers as text: APA style, with as many digits as they carry."""

from __future__ import annotations

from math import floor, isfinite, log10

MINUS = "\N{MINUS SIGN}"
NOTHING = "\N{EN DASH}"
"""Shown where there is no number."""
_MOST_PLACES = 8
_SPACE = "\N{NO-BREAK SPACE}"
"""Keeps a number on the line of its unit."""


def places(*values: float | None) -> int:
    """Return the decimals that show the largest of ``values`` with two or three significant digits."""
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    if largest == 0 or not isfinite(largest):
        return 2
    if 0.1 <= largest < 10:
        return 2
    return max(0, min(_MOST_PLACES, (2 if largest >= 10 else 1) - floor(log10(largest))))


def clear_places(value: float | None, low: float | None, high: float | None) -> int:
    """Return the decimals of a value with its interval; an interval without 0 is not shown to end at 0."""
    digits = places(value, low, high)
    if low is None or high is None or not (low > 0 or high < 0):
        return digits
    nearest = min(abs(low), abs(high))
    while digits < _MOST_PLACES and round(nearest, digits) == 0:
        digits += 1
    return digits


def number(value: float | None, decimals: int | None = None) -> str:
    """Format a number: ``1,036``, ``40.6``, ``3.05``, ``0.004``; an en dash for None and what is not finite."""
    if value is None or not isfinite(value):
        return NOTHING
    if decimals is None:
        decimals = 0 if value == int(value) and abs(value) < 1e15 else places(value)
    rounds_to_zero = value and round(value, decimals) == 0
    return f"{0 if rounds_to_zero else value:,.{decimals}f}".replace("-", MINUS)


def signed(value: float | None, decimals: int | None = None) -> str:
    """Format a number as ``number`` does, with a plus sign above 0."""
    text = number(value, places(value) if decimals is None else decimals)
    return f"+{text}" if value is not None and value > 0 and text.strip("0.,") else text


def interval(low: float | None, high: float | None, decimals: int | None = None) -> str:
    """Format an interval: ``0.05 to 0.37``; an en dash where there is none."""
    if low is None or high is None:
        return NOTHING
    digits = clear_places(None, low, high) if decimals is None else decimals
    return f"{number(low, digits)} to {number(high, digits)}"


def with_interval(
    value: float | None,
    low: float | None,
    high: float | None,
    *,
    sign: bool = True,
    unit: str = "",
    separator: str = " ",
    decimals: int | None = None,
) -> str:
    """Format an estimate with its interval: ``+0.31 [0.12 to 0.50]``; an en dash for None."""
    if value is None:
        return NOTHING
    digits = clear_places(value, low, high) if decimals is None else decimals
    text = f"{(signed if sign else number)(value, digits)}{unit}"
    return f"{text}{separator}[{interval(low, high, digits)}]" if low is not None else text


def p_value(p: float | None) -> str:
    """Format a p-value: ``.012``, ``< .001``, ``> .999``; an en dash for None (APA: no zero before the point)."""
    if p is None or not isfinite(p):
        return NOTHING
    if p < 0.001:
        return "< .001"
    return "> .999" if p > 0.9995 else f"{p:.3f}".lstrip("0") if p < 0.9995 else "> .999"


def p_equals(p: float | None) -> str:
    """Format a p-value in a sentence: ``p = .012``, ``p < .001``; ``no p`` for None."""
    text = p_value(p)
    if p is None:
        return "no p"
    words = f"p {text}" if text[0] in "<>" else f"p = {text}"
    return words.replace(" ", _SPACE)


def percent(share: float | None, decimals: int = 0) -> str:
    """Format a share (0 to 1) in per cent: ``93 %``."""
    return NOTHING if share is None else f"{number(100 * share, decimals)}{_SPACE}%"


def money(usd: float | None) -> str:
    """Format US dollars for a report: ``$1.24``, ``$0.0041``; ``unknown`` for None."""
    if usd is None:
        return "unknown"
    if usd == 0:
        return "$0"
    sign = MINUS if usd < 0 else ""
    size = abs(usd)
    return (
        f"{sign}${size:,.2f}" if size >= 1 else f"{sign}${number(size, max(2, places(size) + 1))}"
    )


def dollars(known: float | None, at_least: float = 0.0) -> str:
    """Format US dollars for a terminal: ``$0.0412``, ``$0.000080``.

    Args:
        known: The sum; None if a part of it is unknown (``cost unknown``).
        at_least: The part that is known.
    """
    if known is None:
        return f"cost unknown (over ${at_least:.4g})" if at_least else "cost unknown"
    if known == 0:
        return "$0"
    if known >= 1e-4:
        return f"${known:,.2f}" if known >= 1 else f"${known:.4f}"
    return f"${known:.{1 - floor(log10(known))}f}" if known >= 1e-9 else "under $0.000000001"


def duration(seconds: float | None) -> str:
    """Format seconds: ``0 s`` under 0.05, ``0.4 s``, ``93 s``, ``12 min``, ``1 h 05``; ``unknown`` for None."""
    if seconds is None:
        return "unknown"
    sign = MINUS if seconds < 0 else ""
    size = abs(seconds)
    if size < 0.05:
        return "0 s"
    if size < 120:
        return f"{sign}{size:.1f} s" if size < 10 else f"{sign}{size:.0f} s"
    minutes = round(size / 60)
    return f"{sign}{minutes} min" if minutes < 120 else f"{sign}{minutes // 60} h {minutes % 60:02}"


def amount(count: int, one: str, many: str = "") -> str:
    """Format a count with its noun: ``1 pair``, ``2,000 pairs``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def sentence(words: str) -> str:
    """Return the text with a capital and a full stop."""
    return f"{words[:1].upper()}{words[1:].rstrip('.')}." if words else ""


def label(name: str) -> str:
    """Return a spec's name for display: ``writing_clarity`` as ``writing clarity``."""
    return name.replace("_", " ")


def name_list(names: list[str] | tuple[str, ...], joint: str = "and") -> str:
    """Join names: ``a``, ``a and b``, ``a, b and c``."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {joint} {names[-1]}"
