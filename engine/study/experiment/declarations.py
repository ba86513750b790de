"""What an experiment declares about its arms, checked against them: contrasts, treatment, analysis."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeAlias

from orglab.engine.spec.errors import Problem
from orglab.engine.spec.messages import did_you_mean
from orglab.engine.spec.validate.schema import definition
from orglab.engine.study.experiment.diff import covered
from orglab.providers.base import JSON

Contrast: TypeAlias = tuple[str, str]
"""An arm and its reference."""

_NAMED = ("models", "pools", "tools", "roles", "links", "inputs")
"""Parts of a team whose things have names of the author's."""


def contrasts_of(data: Mapping[str, JSON]) -> list[Contrast]:
    """Return the declared contrasts; by default every arm against the first."""
    written = data.get("analysis", {}).get("contrasts")
    if written is not None:
        return [(pair[0], pair[1]) for pair in written]
    first, *others = data["arms"]
    return [(arm, first) for arm in others]


def treatments_of(data: Mapping[str, JSON]) -> dict[Contrast, list[str]]:
    """Return the paths in which the arms of each contrast may differ: both arms' own, or one for all."""
    written = data["treatment"]
    contrasts = contrasts_of(data)
    if isinstance(written, list):
        return {pair: list(written) for pair in contrasts}
    return {
        pair: list(dict.fromkeys(path for arm in pair for path in written.get(arm, [])))
        for pair in contrasts
    }


# --- issues --------------------------------------------------------------------------------------


def contrast_problems(data: Mapping[str, JSON]) -> Iterator[Problem]:
    """Contrasts of arms that are not there, of an arm with itself, or declared twice."""
    arms = data["arms"]
    seen: set[frozenset[str]] = set()
    for index, pair in enumerate(data.get("analysis", {}).get("contrasts") or ()):
        path = ("analysis", "contrasts", index)
        yield from (_no_arm(arm, arms, (*path, n)) for n, arm in enumerate(pair) if arm not in arms)
        if pair[0] == pair[1]:
            yield Problem(path=path, wrong=f"`{pair[0]}` is compared with itself")
        elif frozenset(pair) in seen:
            yield Problem(path=path, wrong=f"{pair[0]} and {pair[1]} are compared twice")
        seen.add(frozenset(pair))


def analysis_problems(data: Mapping[str, JSON]) -> Iterator[Problem]:
    """Yield what the statistics would refuse, and arms that are not there."""
    analysis, arms = data.get("analysis", {}), data["arms"]
    for path, arm in _arms_named(analysis):
        if arm not in arms:
            yield _no_arm(arm, arms, ("analysis", *path))
    if not analysis.get("primary"):
        return  # a pilot: it is measured, and nothing is tested
    # Here, so that no command without an analysis pays for SciPy.
    from orglab.results.statistics.errors import PlanError
    from orglab.results.statistics.plan import plan_of

    contrasts = [list(pair) for pair in contrasts_of(data)] or [["arm", "reference"]]
    try:
        plan_of({**analysis, "contrasts": contrasts}, data.get("composites", {}))
    except PlanError as error:
        where, _, reason = str(error).partition(": ")
        yield Problem(path=tuple(where.split(".")), wrong=reason)


def _arms_named(analysis: Mapping[str, JSON]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for part, key in (("dose", "within"), ("drafts", "against")):
        written = analysis.get(part)
        several = isinstance(written, list)
        parts: list[JSON] = written if isinstance(written, list) else [written]
        for at, named in enumerate(parts):
            if isinstance(named, dict) and isinstance(named.get(key), str):
                yield ((part, at, key) if several else (part, key)), named[key]
    for name, subset in (analysis.get("subsets") or {}).items():
        if isinstance(subset, dict) and isinstance(subset.get("arm"), str):
            yield ("subsets", name, "arm"), subset["arm"]


def treatment_problems(
    data: Mapping[str, JSON], teams: Collection[Mapping[str, JSON]]
) -> Iterator[Problem]:
    """Treatments of arms that are not there, and paths that name nothing in any arm.

    Args:
        data: The document.
        teams: Normal forms of its arms; empty where they could not all be loaded.
    """
    written = data["treatment"]
    lists: Mapping[str | None, Sequence[str]] = (
        {None: written} if isinstance(written, list) else written
    )
    for arm, paths in lists.items():
        above = ("treatment",) if arm is None else ("treatment", arm)
        if arm is not None and arm not in data["arms"]:
            yield _no_arm(arm, data["arms"], above, at_key=True)
        for index, path in enumerate(paths if teams else ()):
            wrong, hint = _nothing(path, teams)
            if wrong:
                yield Problem(path=(*above, index), wrong=f"`{path}`: {wrong}", hint=hint)


def _nothing(path: str, teams: Collection[Mapping[str, JSON]]) -> tuple[str, str]:
    """Return why a path names nothing, and what may be meant; ("", "") where it may name something."""
    head, _, rest = path.partition(".")
    known = [*definition("topology")["properties"], "files"]
    if "*" in head or head not in known or not rest or head not in _NAMED:
        wrong = "" if head in known or "*" in head else f"a team has no `{head}`"
        return wrong, did_you_mean(head, known) if wrong else ""
    names = dict.fromkeys(name for team in teams for name in _names(team, head))
    if any(covered((head, name), [path]) or _below(path, head, name) for name in names):
        return "", ""
    name = rest.partition(".")[0]
    return f"no arm has `{name}` in `{head}`", did_you_mean(name, names)


def _below(path: str, head: str, name: str) -> bool:
    """Return whether a path leads to a field of this thing."""
    shorter = path
    while "." in shorter:
        shorter = shorter.rpartition(".")[0]
        if shorter != head and covered((head, name), [shorter]):
            return True
    return False


def _names(team: Mapping[str, JSON], head: str) -> list[str]:
    things = team[head]
    return [link["id"] for link in things] if head == "links" else list(things)


def _no_arm(
    arm: str, arms: Collection[str], path: tuple[str | int, ...], *, at_key: bool = False
) -> Problem:
    wrong, hint = f"there is no arm `{arm}`", did_you_mean(arm, arms)
    return Problem(path=path, wrong=wrong, hint=hint, at_key=at_key)
