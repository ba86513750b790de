"""The knobs of a profile as they are written: which there are, and what each may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from orglab.providers.base import JSON
from orglab.providers.options import known_options
from orglab.providers.simulated.vocabulary import HEDGES

__all__ = ["ACTIONS", "changed", "checked"]

ACTIONS: Final = ("approve", "comment", "question", "revise", "reject")
"""The actions of verdicts, mildest first."""

_Check: TypeAlias = Callable[[str, JSON], JSON]
_MOST = 1e9


def checked(written: Mapping[str, JSON]) -> dict[str, JSON]:
    """The knobs, each known and in its range.

    Raises:
        ValueError: One is not; the text names it.
    """
    knobs = known_options(written, _KNOBS, "profile")
    return {name: _KNOBS[name](f"profile.{name}", value) for name, value in knobs.items()}


def changed(base: Mapping[str, JSON], changes: Mapping[str, JSON]) -> dict[str, JSON]:
    """``base`` with ``changes``: a knob of a group alone, the others staying as they are."""
    merged = dict(base)
    for name, value in changes.items():
        inside = isinstance(value, Mapping) and isinstance(merged.get(name), Mapping)
        merged[name] = changed(merged[name], value) if inside else value
    return merged


def _number(least: float, most: float) -> _Check:
    def check(place: str, value: JSON) -> JSON:
        wrong = isinstance(value, bool) or not isinstance(value, int | float)
        if wrong or not least <= value <= most:
            raise ValueError(f"{place} must be a number from {least:g} to {most:g}, not {value!r}")
        return value

    return check


def _group(**knobs: _Check) -> _Check:
    def check(place: str, value: JSON) -> JSON:
        if not isinstance(value, Mapping):
            raise ValueError(f"{place} must be a mapping of {', '.join(knobs)}")
        known = known_options(value, knobs, place)
        return {name: knobs[name](f"{place}.{name}", each) for name, each in known.items()}

    return check


def _each(check_one: _Check, what: str) -> _Check:
    def check(place: str, value: JSON) -> JSON:
        if not isinstance(value, Mapping):
            raise ValueError(f"{place} must be a mapping of {what}")
        return {str(name): check_one(f"{place}.{name}", each) for name, each in value.items()}

    return check


def _text(_place: str, value: JSON) -> JSON:
    return str(value)


_RATE = _number(0, 1)
_SIZE = _number(0, _MOST)
_SIGNED = _number(-_MOST, _MOST)
_SPREAD = _group(mean=_SIZE, sd=_SIZE)
_VERDICTS = _group(**dict.fromkeys(ACTIONS, _SIZE))
_CRITERION = _group(
    kind=_text,
    level=_SIGNED,
    shared=_SIZE,
    own=_SIZE,
    halo=_SIZE,
    noise=_SIZE,
    hedges=_SIGNED,
    concessions=_SIGNED,
)
_REVISION = _group(
    kept=_SPREAD,
    words=_group(mean=_SIGNED, sd=_SIZE),
    hedges=_SIZE,
    spread=_SIZE,
    concessions=_SIZE,
)
_JUDGING = _group(severity=_SIGNED, bother=_SIZE, criteria=_each(_CRITERION, "criteria to knobs"))
_KNOBS: Final[Mapping[str, _Check]] = {
    "description": _text,
    "verdicts": _VERDICTS,
    "verdicts_on": _each(_VERDICTS, "roles to verdicts"),
    "again": _RATE,
    "unseen": _RATE,
    "discerning": _SIZE,
    "target": _RATE,
    "tool_calls": _group(mean=_SIZE, max=_SIZE),
    "looks_first": _RATE,
    "foreign_columns": _RATE,
    "truthful": _RATE,
    "exact": _RATE,
    "optional": _RATE,
    "words": _SPREAD,
    "asked_words": _SPREAD,
    "field_words": _SPREAD,
    "reasoning": _SPREAD,
    "vocabulary": _RATE,
    "hedges": _group(**dict.fromkeys(HEDGES, _SIZE)),
    "revision": _REVISION,
    "judging": _JUDGING,
    "seconds": _group(latency=_SIZE, per_input_token=_SIZE, per_output_token=_SIZE),
}
