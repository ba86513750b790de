"""Profiles of the simulated model: how it judges, calls tools, writes, revises and takes its time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import msgspec
import yaml

from orglab.providers.base import JSON
from orglab.providers.options import known_options, suggestion

_DEFAULT = "careful"
_RANGES = {"rate": (0, 1), "size": (0, 1e9), "signed": (-1e9, 1e9)}


@dataclass(frozen=True, kw_only=True, slots=True)
class NormalSpread:
    """A normal distribution."""

    mean: float
    sd: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolHabit:
    """Tool calls a turn after the first look: geometric with ``mean``; never more than ``max``."""

    mean: float
    max: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RevisionHabit:
    """What a directive does to a draft.

    Attributes:
        kept: Share of the draft's words that stand in the next one, in their order.
        words: Words that are added, on balance.
        hedges: By how much the number of hedges a thousand words rises.
        spread: How much that number varies from one revision to another beyond pure chance:
            standard deviation of the logarithm of its mean.
        concessions: Sentences that say that the superior's wish was met, a revision.
    """

    kept: NormalSpread
    words: NormalSpread
    hedges: float
    spread: float
    concessions: float


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgingCriterion:
    """How a judge scores one criterion, in points.

    Attributes:
        kind: Criteria of one kind share a part of a report's quality.
        level: The score of a middling report without hedges and concessions.
        shared: Standard deviation of the report's quality that all criteria of its kind share.
        own: Standard deviation of the report's quality in this criterion alone.
        halo: Standard deviation of a judge's chance that all criteria of its kind share.
        noise: Standard deviation of a judge's chance in this criterion alone.
        hedges: What one hedge a thousand words adds (below 0: takes away).
        concessions: What one concession adds.
    """

    kind: str
    level: float
    shared: float
    own: float
    halo: float
    noise: float
    hedges: float
    concessions: float


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgingHabit:
    """How a judge scores.

    Attributes:
        severity: Taken from every score.
        bother: How much hedges and concessions move this judge, as a multiple of what its
            criteria say.
        criteria: How it scores each criterion; ``other`` stands for those not named.
    """

    severity: float
    bother: float
    criteria: Mapping[str, JudgingCriterion]

    def criterion(self, name: str) -> JudgingCriterion:
        """Return how it scores this criterion."""
        return self.criteria.get(name, self.criteria["other"])


@dataclass(frozen=True, kw_only=True, slots=True)
class Seconds:
    """Seconds of service that are reported (nothing waits): a call, a token read, one written."""

    latency: float
    per_input_token: float
    per_output_token: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """How a simulated model behaves; ``docs/reference/simulated.md`` explains each setting.

    Attributes:
        name: The profile's name, ``NAME+`` where a spec changed it.
        description: In words.
        verdicts: Weight of each action; only those offered count.
        verdicts_on: Weights for outputs of a role, in place of ``verdicts``.
        again: What is left of the weight of obliging actions once it has obliged.
        unseen: What is left of that weight where it sees the output alone, without the board.
        discerning: How much it sees of an output's quality: obliging actions weigh e to the power
            of this as much for an output one standard deviation below the middling one.
        target: Share of ``revise`` verdicts that name a target, where one is offered.
        tool_calls: How many tools it calls a turn.
        looks_first: Chance that it begins with a tool that shows the columns.
        foreign_columns: Chance that a column it names is not in the table.
        truthful: Chance that a figure it reports is the one a tool gave.
        exact: Chance that a specification it passes on is the one it read.
        optional: Chance that it fills in an optional field.
        words: Length of free text, where the task does not ask for one.
        asked_words: Length as a multiple of what the task asks for.
        field_words: Length of a text in a field.
        reasoning: Tokens of reasoning that a reply reports beside its text.
        vocabulary: Share of the words it knows that one text makes use of.
        hedges: Hedges a thousand words of a first draft, by class.
        revision: What a directive does to a draft.
        judging: How it scores.
        seconds: The time it says it took.
    """

    name: str
    description: str
    verdicts: Mapping[str, float]
    verdicts_on: Mapping[str, Mapping[str, float]]
    again: float
    unseen: float
    discerning: float
    target: float
    tool_calls: ToolHabit
    looks_first: float
    foreign_columns: float
    truthful: float
    exact: float
    optional: float
    words: NormalSpread
    asked_words: NormalSpread
    field_words: NormalSpread
    reasoning: NormalSpread
    vocabulary: float
    hedges: Mapping[str, float]
    revision: RevisionHabit
    judging: JudgingHabit
    seconds: Seconds


def profile_names() -> list[str]:
    """Return the names of the shipped profiles, sorted."""
    folder = files("orglab.providers.simulated.profiles")
    names = (each.name for each in folder.iterdir())
    return sorted(
        name.removesuffix(".yaml")
        for name in names
        if name.endswith(".yaml") and not name.startswith("_")
    )


def make_profile(written: JSON) -> Profile:
    """Return the profile that a spec names, or a shipped one with changes.

    Args:
        written: A name; or a mapping of settings to change, with ``base``, the profile to start
            from (default ``careful``); or None for the default.

    Raises:
        ValueError: There is no such profile or setting, or a value is out of range.
    """
    if written is None or isinstance(written, str):
        return _profile(written or _DEFAULT, _shipped(written or _DEFAULT))
    if not isinstance(written, Mapping):
        raise ValueError(f"profile must be a name or a mapping of settings, not {written!r}")
    base = written.get("base", _DEFAULT)
    changes = {key: value for key, value in written.items() if key != "base"}
    return _profile(f"{base}+", _changed(_shipped(base), _checked(changes)))


@cache
def _shipped(name: str) -> Mapping[str, JSON]:
    """Return a shipped profile's settings: the common ones of ``_common.yaml``, and its own."""
    names = profile_names()
    if name not in names:
        raise ValueError(
            f"there is no profile {name!r}{suggestion(str(name), names)} Shipped: {', '.join(names)}"
        )
    own = dict(_data(f"profiles/{name}.yaml"))
    base = own.pop("base", None)
    common = _shipped(base) if base else _checked(_data("profiles/_common.yaml"))
    return _changed(common, _checked(own))


@cache
def _data(name: str) -> Mapping[str, JSON]:
    text = (files("orglab.providers.simulated") / name).read_text(encoding="utf-8")
    found: dict[str, JSON] = yaml.safe_load(text)
    return found


def _changed(base: Mapping[str, JSON], changes: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return ``base`` with ``changes``; of a group, only the settings that ``changes`` names."""
    merged = dict(base)
    for name, value in changes.items():
        inside = isinstance(value, Mapping) and isinstance(merged.get(name), Mapping)
        merged[name] = _changed(merged[name], value) if inside else value
    return merged


def _checked(written: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the settings; ValueError where one is not known, or out of its range."""
    return _checked_group("profile", written, _data("profile_schema.yaml"))


def _checked_group(place: str, value: JSON, kinds: Mapping[str, JSON]) -> dict[str, JSON]:
    own_names = "each" in kinds
    if not isinstance(value, Mapping):
        what = kinds["of"] if own_names else ", ".join(kinds)
        raise ValueError(f"{place} must be a mapping of {what}")
    known = value if own_names else known_options(value, kinds, place)
    return {
        str(name): _checked_setting(
            f"{place}.{name}", each, kinds["each"] if own_names else kinds[name]
        )
        for name, each in known.items()
    }


def _checked_setting(place: str, value: JSON, kind: JSON) -> JSON:
    if not isinstance(kind, str):
        return _checked_group(place, value, kind)
    if kind == "text":
        return str(value)
    least, most = _RANGES[kind]
    wrong = isinstance(value, bool) or not isinstance(value, int | float)
    if wrong or not least <= value <= most:
        raise ValueError(f"{place} must be a number from {least:g} to {most:g}, not {value!r}")
    return value


def _profile(name: str, settings: Mapping[str, JSON]) -> Profile:
    """Return the profile of all settings."""
    judging, verdicts = settings["judging"], settings["verdicts"]
    other = judging["criteria"]["other"]
    criteria = {each: {**other, **own} for each, own in judging["criteria"].items()}
    on = {role: {**verdicts, **weights} for role, weights in settings["verdicts_on"].items()}
    made = {"judging": {**judging, "criteria": criteria}, "verdicts_on": on, "name": name}
    return msgspec.convert({**settings, **made}, Profile)
