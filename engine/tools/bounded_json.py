"""Results that strict JSON can hold, and that are never larger than a model can read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal

from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import spaced

CHARACTERS = 8_000
_LONG = 400  # characters of one text before it is cut
_SHORT = 60


def check_bounds(seconds: float, characters: int) -> None:
    """Check the settings of a tool source that bound a call.

    Raises:
        ValueError: One is out of its range.
    """
    if seconds <= 0:
        raise ValueError("`seconds` must be more than 0")
    if not 200 <= characters <= 1_000_000:
        raise ValueError("`characters` must be from 200 to 1,000,000")


def tidy(number: float) -> float | int:
    """Return a figure without binary noise: 15 significant digits, whole numbers untouched."""
    return number if isinstance(number, int) else float(f"{number:.15g}")


def to_strict_json(value: object) -> JSON:
    """Return ``value`` as JSON: dates in ISO, bytes in hex, decimals as numbers, ``inf`` as text."""
    if value is None or isinstance(value, bool | int | str):
        return _plain_scalar(value)
    if isinstance(value, float | Decimal):
        return _fraction(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, Mapping):
        return {_json_key(key): to_strict_json(one) for key, one in value.items()}
    if isinstance(value, Sequence | set | frozenset):
        return [to_strict_json(one) for one in value]
    return _foreign_scalar(value)


def _plain_scalar(value: bool | int | str | None) -> JSON:
    """Return exactly the plain type: subclasses (enumerations, numpy strings) are converted."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    return str(value).encode("utf-8", "replace").decode()  # a lone surrogate is no text


def _fraction(value: float | Decimal) -> JSON:
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    return float(value)


def _json_key(key: object) -> str:
    return key if isinstance(key, str) else spaced(to_strict_json(key)).strip('"')


def _foreign_scalar(value: object) -> JSON:
    """Return numpy's scalars as Python's, anything else as text."""
    if isinstance(value, timedelta):
        return str(value)
    twin = getattr(value, "item", None)
    found = twin() if callable(twin) else value
    return str(value) if type(found) is type(value) else to_strict_json(found)


def finite_rows(
    names: Sequence[str], rows: Sequence[Sequence[object]]
) -> tuple[list[list[object]], list[str]]:
    """Return rows with null in place of what is no finite number, and notes that say where and how many."""
    odd = {
        at: [row[at] for row in rows if _is_odd(row[at])]
        for at in range(len(names))
        if any(_is_odd(row[at]) for row in rows)
    }
    notes = [
        f"`{names[at]}`: {len(found)} of {len(rows)} values shown as null are not missing but "
        + " or ".join(dict.fromkeys(_not_finite_phrase(value) for value in found))
        for at, found in odd.items()
    ]
    return [[None if _is_odd(value) else value for value in row] for row in rows], notes


def _is_odd(value: object) -> bool:
    return isinstance(value, float | Decimal) and not math.isfinite(value)


def _not_finite_phrase(value: object) -> str:
    if isinstance(value, float | Decimal) and math.isinf(value):
        return "infinite" if value > 0 else "negative infinite"
    return "no number"


def bounded(
    value: dict[str, JSON],
    characters: int = CHARACTERS,
    longest: Sequence[int] = (_LONG, _SHORT),
) -> dict[str, JSON]:
    """Return ``value`` in at most ``characters`` of JSON, with a note of what was cut.

    Long texts are cut first; then lists lose their last items, the longest list first, and
    ``cut`` says how many of each. ``value`` must be strict already.

    Args:
        value: The result.
        characters: The largest result.
        longest: The longest text in it, in characters: the first always holds, the next ones
            where the result is still too large.
    """
    if len(spaced(value)) <= characters:
        return _shortened(value, longest[0])  # type: ignore[no-any-return]  # a dict stays a dict
    shorter = value
    for length in longest:
        shorter = _shortened(value, length)
        if len(spaced(shorter)) <= characters:
            return shorter  # type: ignore[no-any-return]  # a dict stays a dict
    return _shorter_lists(shorter, characters)


def _shortened(value: JSON, longest: int) -> JSON:
    if isinstance(value, str):
        more = len(value) - longest
        return value if more <= 0 else f"{value[:longest]}… ({more} more characters)"
    if isinstance(value, dict):
        return {key: _shortened(one, longest) for key, one in value.items()}
    if isinstance(value, list):
        return [_shortened(one, longest) for one in value]
    return value


def _shorter_lists(value: dict[str, JSON], characters: int) -> dict[str, JSON]:
    cut: dict[str, int] = {}
    while True:
        lists = [key for key, one in value.items() if isinstance(one, list) and one]
        if not lists:
            return {"cut": "the result is too large to show: ask for less"}
        key = max(lists, key=lambda one: len(spaced(value[one])))
        room = characters - len(spaced({**value, key: [], "cut": {**cut, key: 10**9}}))
        kept = _items_that_fit(value[key], room)[: len(value[key]) - 1]
        cut[key] = len(value[key]) - len(kept)
        value = {**value, key: kept}
        if len(spaced(value)) + len(spaced({"cut": cut})) <= characters:
            return {**value, "cut": cut}


def _items_that_fit(items: list[JSON], room: int) -> list[JSON]:
    """Return the first items whose JSON fits into ``room`` characters."""
    used = 0
    for place, one in enumerate(items):
        used += len(spaced(one)) + 2
        if used > room:
            return items[:place]
    return items
