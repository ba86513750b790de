"""A text for a field: as long as its schema asks, in the form that a ``format`` names."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from orglab.providers.base import JSON
from orglab.providers.simulated.pattern_text import HardPatternError, pattern_text
from orglab.providers.simulated.prose import Prose
from orglab.providers.simulated.random_stream import Draws

__all__ = ["fitted_text"]

_SHORT = frozenset(
    [
        "name",
        "title",
        "id",
        "label",
        "role",
        "category",
        "column",
        "columns",
        "key",
        "tag",
        "tags",
        "type",
        "topic",
        "kind",
        "measure",
        "unit",
        "by",
        "group",
    ]
)
_TRIES = 30
_LONGEST = 100_000
"""Characters that a schema may ask a text to have at least."""


def _date(draws: Draws) -> str:
    return f"20{draws.between(10, 29)}-{draws.between(1, 12):02}-{draws.between(1, 28):02}"


def _time(draws: Draws) -> str:
    return f"{draws.below(24):02}:{draws.below(60):02}:{draws.below(60):02}Z"


def _hex(draws: Draws, digits: int) -> str:
    return "".join(draws.pick("0123456789abcdef") for _ in range(digits))


def _uuid(draws: Draws) -> str:
    variant = draws.pick("89ab") + _hex(draws, 3)
    return f"{_hex(draws, 8)}-{_hex(draws, 4)}-4{_hex(draws, 3)}-{variant}-{_hex(draws, 12)}"


_FORMATS: dict[str, Callable[[Draws], str]] = {
    "date": _date,
    "time": _time,
    "date-time": lambda draws: f"{_date(draws)}T{_time(draws)}",
    "duration": lambda draws: f"P{draws.between(1, 30)}D",
    "email": lambda draws: f"someone{draws.below(1000)}@example.org",
    "hostname": lambda draws: f"host{draws.below(1000)}.example.org",
    "ipv4": lambda draws: f"192.0.2.{draws.between(1, 254)}",
    "ipv6": lambda draws: f"2001:db8::{_hex(draws, 4)}",
    "uri": lambda draws: f"https://example.org/{draws.below(1000)}",
    "uri-reference": lambda draws: f"/{draws.below(1000)}",
    "uuid": _uuid,
}


def fitted_text(
    schema: Mapping[str, JSON], name: str, draws: Draws, prose: Prose, words: Callable[[], int]
) -> str:
    """A text that fits ``pattern``, ``format``, ``minLength`` and ``maxLength`` of ``schema``.

    Raises:
        LookupError: The pattern is not a simple one, leaves no room for the lengths, or the text
            would be too long.
    """
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if least > _LONGEST:
        raise LookupError(f"`{name}` must have {least} characters, more than can be made up")
    if "pattern" in schema:
        return _matching(schema["pattern"], least, most, draws)
    if (form := _FORMATS.get(schema.get("format", ""))) is not None:
        return form(draws)
    text = prose.phrase() if name.lower() in _SHORT else prose.text(max(1, words()))
    while len(text) < least:
        text = f"{text} {prose.text(1 + (least - len(text)) // 6)}"
    return text if most is None else _within(text, least, most)


def _within(text: str, least: int, most: int) -> str:
    """``text`` cut after a sentence, else after a word, else where it must be."""
    if len(text) <= most:
        return text
    for mark, kept in ((". ", 1), (" ", 0)):
        end = text.rfind(mark, max(least - kept, 1), most - kept + 1)
        if end >= 0:
            return text[: end + kept]
    return text[:most]


def _matching(pattern: str, least: int, most: int | None, draws: Draws) -> str:
    for _ in range(_TRIES):
        try:
            text = pattern_text(pattern, draws)
        except HardPatternError as fault:
            raise LookupError(f"no text for the pattern {pattern!r}: {fault}") from None
        if len(text) >= least and (most is None or len(text) <= most):
            return text
    raise LookupError(f"no text of the length asked for matches {pattern!r}")
