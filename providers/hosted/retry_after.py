"""How long a server asks to wait, in all the forms in which servers say it."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from orglab.providers.base import JSON

MOST_SECONDS: Final = 86_400.0
"""A day: who names more is taken to have named this; nobody sleeps for it."""

_UNITS: Final[Mapping[str, float]] = {
    "ms": 0.001,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86_400.0,
}
_PART: Final = re.compile(
    r"(\d+(?:\.\d+)?)\s*"
    r"(milliseconds?|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)(?![a-z])",
    re.IGNORECASE,
)
_WAIT_SENTENCE: Final = re.compile(
    r"(?:try again|retry|retrying|wait)\s+(?:in|after|for)?\s*(?:about\s+|at least\s+)?"
    r"((?:\d+(?:\.\d+)?\s*[a-z]+[\s,]*(?:and\s+)?)+)",
    re.IGNORECASE,
)
_RESET: Final = re.compile(
    r"(?:x|anthropic)-ratelimit-(?:reset(?:-([a-z-]+))?|([a-z-]+)-reset)\Z", re.IGNORECASE
)


def requested_wait(
    headers: Mapping[str, str], message: str = "", body: JSON = None, *, now: float | None = None
) -> float | None:
    """Return seconds that a server asks to wait, from the clearest to the vaguest of what it says.

    ``retry-after-ms``; ``Retry-After`` (seconds, with a fraction, or a date); ``retryDelay`` in the
    body; words such as "Please try again in 1.5s"; the ``…ratelimit…reset…`` headers of limits that
    are used up.

    Args:
        headers: The response's headers, under any capitals.
        message: The error's message.
        body: The error's body.
        now: Seconds since 1970, of which dates are the distance; default: this moment.

    Returns:
        Seconds, above 0 and at most ``MOST_SECONDS``; None where nothing (sensible) is said.
    """
    now = time.time() if now is None else now
    lower = {name.lower(): value for name, value in headers.items()}
    said = (
        _parse_number(lower.get("retry-after-ms"), 0.001),
        _retry_after_header(lower.get("retry-after"), now),
        *(duration(text) for text in _delays(body, 0)),
        _wait_in_message(message),
        _resets(lower, now),
    )
    sensible = (each for each in said if each is not None and 0 < each < math.inf)
    return next((min(each, MOST_SECONDS) for each in sensible), None)


def _parse_number(text: str | None, unit: float = 1.0) -> float | None:
    try:
        return float(text) * unit if text is not None else None
    except ValueError:
        return None


def _retry_after_header(text: str | None, now: float) -> float | None:
    if text is None:
        return None
    number = _parse_number(text)
    return number if number is not None else duration(text) or _seconds_until(text, now)


def _seconds_until(text: str, now: float) -> float | None:
    """Return seconds to a date as HTTP or RFC 3339 writes it."""
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            date = read(text.strip())
        except (ValueError, TypeError, OverflowError):
            continue
        aware = date if date.tzinfo else date.replace(tzinfo=UTC)
        return aware.timestamp() - now
    return None


def duration(text: str) -> float | None:
    """Return seconds of a duration such as ``1m30s``, ``250ms``, ``2 minutes``; None where it is none."""
    parts = _PART.findall(text)
    if not parts or re.sub(r"[\s,]|and", "", _PART.sub("", text.lower())):
        return None
    return sum(float(number) * _UNITS[_unit(name.lower())] for number, name in parts)


def _unit(name: str) -> str:
    return "ms" if name.startswith(("ms", "mil")) else name[0]


def _wait_in_message(message: str) -> float | None:
    for found in _WAIT_SENTENCE.finditer(message[:4000]):
        first = re.match(rf"(?:{_PART.pattern}[\s,]*(?:and\s+)?)+", found[1], re.IGNORECASE)
        if first:
            return duration(first[0])
    return None


def _delays(body: JSON, depth: int) -> Iterator[str]:
    """Return ``retryDelay`` texts anywhere in a body, not too deep."""
    if depth > 6:
        return
    if isinstance(body, dict):
        delay = body.get("retryDelay")
        if isinstance(delay, str):
            yield delay
        for value in body.values():
            yield from _delays(value, depth + 1)
    elif isinstance(body, list):
        for value in body[:20]:
            yield from _delays(value, depth + 1)


def _resets(headers: Mapping[str, str], now: float) -> float | None:
    """Return the longest reset of a limit that is used up; where none says what is left, of all."""
    found = [(name, match) for name in headers if (match := _RESET.match(name))]
    waits = {
        match[1] or match[2] or "": _reset_seconds(headers[name], now) for name, match in found
    }
    left = {limit: _parse_number(_remaining(headers, limit)) for limit in waits}
    used_up = [limit for limit, number in left.items() if number is not None and number <= 0]
    if not used_up and any(number is not None for number in left.values()):
        return None
    chosen = [waits[limit] for limit in used_up or waits]
    return max((wait for wait in chosen if wait is not None), default=None)


def _remaining(headers: Mapping[str, str], limit: str) -> str | None:
    names = (
        f"x-ratelimit-remaining-{limit}" if limit else "x-ratelimit-remaining",
        f"anthropic-ratelimit-{limit}-remaining",
    )
    return next((headers[name] for name in names if name in headers), None)


def _reset_seconds(text: str, now: float) -> float | None:
    """Return seconds to a reset: a duration, a date, a number of seconds, or a time since 1970."""
    number = _parse_number(text)
    if number is None:
        return duration(text) or _seconds_until(text, now)
    if number > 1e11:  # milliseconds since 1970
        return number / 1000 - now
    return number - now if number > 1e9 else number
