"""Paths of a sweep: which places of which teams a factor sets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from orglab.engine.spec.errors import Problem
from orglab.engine.spec.messages import did_you_mean
from orglab.engine.spec.validate.schema import definition
from orglab.providers.base import JSON

Normal: TypeAlias = Mapping[str, JSON]

_NAMED: Final = ("roles", "links", "models", "pools", "tools")
"""Parts of a team whose things have names of the author's."""
_OWN: Final = {
    "evaluators": "evaluators are the sweep's own, the same for all variants",
    "inputs": "inputs belong to the units, which all variants share",
    "name": "a name changes nothing",
    "description": "a description changes nothing",
    "kind": "it cannot be set",
    "version": "it cannot be set",
    "extends": "it cannot be set: name another base",
}


def places(path: str, normal: Normal) -> list[str]:
    """Return the places of a team that a path sets: itself, or what its ``*`` match; [] for none."""
    parts = path.split(".")
    if any("*" in part for part in parts):
        return [".".join(found) for found in _matches(parts, _by_name(normal))]
    return [path] if _has(parts, normal) else []


def _by_name(normal: Normal) -> dict[str, JSON]:
    """Return the team with its links by their ids, and so in the teams within it."""
    roles = {
        name: {**role, "team": _by_name(role["team"])}
        if isinstance(role.get("team"), Mapping)
        else role
        for name, role in normal["roles"].items()
    }
    return {**normal, "roles": roles, "links": {link["id"]: link for link in normal["links"]}}


def _matches(parts: Sequence[str], held: JSON) -> Iterator[list[str]]:
    """Paths to fields that are there and hold something."""
    if not parts:
        if held is not None:
            yield []
        return
    if not isinstance(held, Mapping):
        return
    wanted = re.compile(".*".join(map(re.escape, parts[0].split("*"))), re.DOTALL)
    for name, below in held.items():
        if wanted.fullmatch(name):
            yield from ([name, *rest] for rest in _matches(parts[1:], below))


def _has(parts: Sequence[str], normal: Normal) -> bool:
    """Return whether the thing is there; a field of it may be new, and the schema knows it or does not."""
    if parts[0] not in _NAMED or len(parts) == 1:
        return True
    thing = _by_name(normal)[parts[0]].get(parts[1])
    if thing is None:
        return False
    to_var = parts[0] == "roles" and parts[2:3] == ["vars"] and len(parts) > 3
    return not to_var or parts[3] in (thing.get("vars") or {})


# --- issues --------------------------------------------------------------------------------------


def path_problems(vary: Iterable[str], teams: Sequence[Normal]) -> Iterator[Problem]:
    """Paths that name nothing in any team, and what a sweep may not vary.

    Args:
        vary: The paths.
        teams: Normal forms of the base's teams; () where they could not all be loaded.
    """
    for path in vary:
        head = path.partition(".")[0]
        known = [key for key in definition("topology")["properties"] if key not in _OWN]
        at = ("vary", path)
        if head in _OWN:
            yield Problem(path=at, wrong=_OWN[head], at_key=True)
        elif "*" in head or head not in known:
            wrong = f"there is no `{head}`"
            yield Problem(path=at, wrong=wrong, hint=did_you_mean(head, known), at_key=True)
        elif teams and not any(places(path, team) for team in teams):
            wrong, hint = _nothing(path.split("."), teams)
            yield Problem(path=at, wrong=wrong, hint=hint, at_key=True)


def _nothing(parts: Sequence[str], teams: Sequence[Normal]) -> tuple[str, str]:
    """Return where a path loses its way, and which name is nearest there."""
    held: list[JSON] = [_by_name(team) for team in teams]
    for depth, part in enumerate(parts):
        names = list(dict.fromkeys(name for each in held for name in _names(each)))
        wanted = re.compile(".*".join(map(re.escape, part.split("*"))), re.DOTALL)
        met = [name for name in names if wanted.fullmatch(name)]
        if not met:
            where = ".".join(parts[:depth])
            return f"there is no `{part}` in `{where}`", did_you_mean(part, names)
        held = [each[name] for each in held for name in met if name in _names(each)]
    return "nothing has this field", "write it in the base, or leave the factor out"


def _names(held: JSON) -> list[str]:
    return (
        [name for name, below in held.items() if below is not None]
        if isinstance(held, Mapping)
        else []
    )


def reach_problems(reach: Mapping[str, Sequence[str]]) -> Iterator[Problem]:
    """Factors that set the same place, or one a place inside another's.

    Args:
        reach: Path as written -> the places that it sets, in all teams.
    """
    taken: dict[str, str] = {}
    for path, found in reach.items():
        other = next((taken[place] for each in found for place in _above(each, taken)), None)
        if other is not None:
            wrong = f"it sets what {other} sets as well"
            yield Problem(path=("vary", path), wrong=wrong, hint="keep one", at_key=True)
        taken.update(dict.fromkeys(found, path))


def _above(place: str, taken: Mapping[str, str]) -> Iterator[str]:
    """Places that are this one, above it or below it."""
    for other in taken:
        if f"{place}.".startswith(f"{other}.") or f"{other}.".startswith(f"{place}."):
            yield other
