"""Profiles of the simulated model: how it judges, calls tools, writes and takes its time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

from orglab.providers.base import JSON
from orglab.providers.options import known_only, nearest

__all__ = ["Profile", "Seconds", "Spread", "ToolHabit", "make_profile", "profile_names"]

_ACTIONS = ("approve", "comment", "question", "revise", "reject")
_RATES = ("foreign_columns", "looks_first", "optional", "target", "truthful")
_GROUPS: dict[str, tuple[str, ...]] = {
    "verdicts": _ACTIONS,
    "tool_calls": ("mean", "max"),
    "words": ("mean", "sd"),
    "field_words": ("mean", "sd"),
    "seconds": ("latency", "per_input_token", "per_output_token"),
}
_DEFAULT = "careful"


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """A normal distribution of lengths, in words."""

    mean: float
    sd: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolHabit:
    """Tool calls a turn after the first look: geometric with ``mean``; never more than ``max``."""

    mean: float
    max: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Seconds:
    """Seconds of service that are reported (nothing waits): a call, a token read, one written."""

    latency: float
    per_input_token: float
    per_output_token: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """How a simulated model behaves; ``docs/simulated.md`` explains each knob.

    Attributes:
        name: The profile's name, ``NAME+`` where a spec changed it.
        description: In words.
        verdicts: Weight of each action; only those offered count.
        target: Share of ``revise`` verdicts that name a target, where one is offered.
        tool_calls: How many tools it calls a turn.
        looks_first: Chance that it begins with a tool that shows the columns.
        foreign_columns: Chance that a column it names is not in the table.
        truthful: Chance that a figure it reports is the one a tool gave.
        optional: Chance that it fills in an optional field.
        words: Length of free text.
        field_words: Length of a text in a field.
        seconds: The time it says it took.
    """

    name: str
    description: str
    verdicts: Mapping[str, float]
    target: float
    tool_calls: ToolHabit
    looks_first: float
    foreign_columns: float
    truthful: float
    optional: float
    words: Spread
    field_words: Spread
    seconds: Seconds


def profile_names() -> list[str]:
    """Names of the shipped profiles, sorted."""
    folder = files("orglab.providers.profiles")
    names = (each.name for each in folder.iterdir())
    return sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml"))


def make_profile(written: JSON) -> Profile:
    """The profile that a spec names, or a shipped one with changes.

    Args:
        written: A name; or a mapping of knobs to change, with ``base``, the profile to start
            from (default ``careful``); or None for the default.

    Raises:
        ValueError: There is no such profile or knob, or a value is out of range.
    """
    if written is None or isinstance(written, str):
        return _profile(written or _DEFAULT, _shipped(written or _DEFAULT))
    if not isinstance(written, Mapping):
        raise ValueError(f"profile must be a name or a mapping of knobs, not {written!r}")
    base = written.get("base", _DEFAULT)
    changes = {key: value for key, value in written.items() if key != "base"}
    return _profile(f"{base}+", _changed(_shipped(base), _checked(changes)))


@cache
def _shipped(name: str) -> Mapping[str, JSON]:
    names = profile_names()
    if name not in names:
        raise ValueError(
            f"there is no profile {name!r}{nearest(str(name), names)} Shipped: {', '.join(names)}"
        )
    text = (files("orglab.providers.profiles") / f"{name}.yaml").read_text(encoding="utf-8")
    return _checked(yaml.safe_load(text))


def _changed(base: Mapping[str, JSON], changes: Mapping[str, JSON]) -> dict[str, JSON]:
    merged = dict(base)
    for key, value in changes.items():
        merged[key] = {**base[key], **value} if key in _GROUPS else value
    return merged


def _checked(written: Mapping[str, JSON]) -> dict[str, JSON]:
    """The knobs, each known and in its range."""
    knobs = known_only(written, {*_RATES, *_GROUPS, "description"}, "profile")
    for name, value in knobs.items():
        if name in _GROUPS:
            knobs[name] = _group(name, value)
        elif name in _RATES:
            _number(f"profile.{name}", value, most=1.0)
    return knobs


def _group(name: str, value: JSON) -> dict[str, JSON]:
    if not isinstance(value, Mapping):
        raise ValueError(f"profile.{name} must be a mapping of {', '.join(_GROUPS[name])}")
    numbers = known_only(value, _GROUPS[name], f"profile.{name}")
    for key, number in numbers.items():
        _number(f"profile.{name}.{key}", number)
    return numbers


def _number(place: str, value: JSON, most: float = 1e9) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise ValueError(f"{place} must be a number from 0 to {most:g}, not {value!r}")


def _profile(name: str, knobs: Mapping[str, JSON]) -> Profile:
    return Profile(
        name=name,
        description=str(knobs["description"]),
        verdicts={action: float(knobs["verdicts"][action]) for action in _ACTIONS},
        tool_calls=ToolHabit(**knobs["tool_calls"]),
        words=Spread(**knobs["words"]),
        field_words=Spread(**knobs["field_words"]),
        seconds=Seconds(**knobs["seconds"]),
        **{rate: float(knobs[rate]) for rate in _RATES},
    )
