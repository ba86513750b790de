"""What differs between two topologies: by name, leaf by leaf, each difference classed.

Two documents that differ only in formatting, in the order of their maps, in names, descriptions
or remarks (``x-``) have no differences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from orglab.providers.base import JSON

Kind: TypeAlias = Literal[
    "structure", "authority", "prompts", "models", "tools", "data", "limits", "evaluation"
]


class _Absent:
    """Stands for a value that one side does not have."""

    def __repr__(self) -> str:
        return "(absent)"


ABSENT: Final = _Absent()

_REMARKS: Final = frozenset({"name", "description", "kind", "version"})
_BY_HEAD: Final[Mapping[str, Kind]] = {
    "inputs": "structure",
    "models": "models",
    "pools": "models",
    "tools": "tools",
    "start": "structure",
    "output": "structure",
    "evaluators": "evaluation",
    "limits": "limits",
    "templates": "prompts",
    "files": "data",
}
_THINGS: Final = frozenset({"models", "pools", "tools", "roles", "links"})
_CLOSED_BELOW: Final = {
    "models": {("price",)},
    "tools": {("with",)},
    "roles": {("limits",)},
    "links": {("limits",), ("stake",), ("trigger",)},
}
"""Maps of a thing, beside itself, in which ``x-`` keys are remarks. Elsewhere names are free."""

_BY_ROLE_FIELD: Final[Mapping[str, Kind]] = {
    "system": "prompts",
    "prompt": "prompts",
    "with": "prompts",
    "vars": "prompts",
    "model": "models",
    "tools": "tools",
    "limits": "limits",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """One difference.

    Attributes:
        path: Where, by names: ``("links", "oversight", "cap")``; ``("roles", "(order)")`` where the
            declared order of what both have differs.
        kind: What kind of difference.
        left: The value on the left, or ``ABSENT``.
        right: The value on the right, or ``ABSENT``.
    """

    path: tuple[str, ...]
    kind: Kind
    left: JSON
    right: JSON

    @property
    def where(self) -> str:
        """The path as an author writes it."""
        return ".".join(self.path)


def differences(left: Mapping[str, JSON], right: Mapping[str, JSON]) -> list[Difference]:
    """Return every difference of two normal forms, in the order of the left one, then the right's own.

    A data file counts where both sides name it and it holds other things: where one side alone
    names it, the setting that does so is the difference.
    """
    classes = _Classes(left, right)
    found = _compare((), _named(left, right), _named(right, left))
    return [
        Difference(path=path, kind=classes.kind(path, (one, other)), left=one, right=other)
        for path, one, other in found
    ]


def covered(path: Sequence[str], treatment: Sequence[str]) -> bool:
    """Return whether a treatment path names ``path`` or something above it.

    ``*`` stands for any part of one name. Names that hold dots, such as files, may stand in a path.
    """
    return any(_covers(declared, path) for declared in treatment)


def tested(found: Sequence[Difference]) -> list[Difference]:
    """Return the differences without evaluators, which are the experiment's own, the same for all arms."""
    return [each for each in found if each.kind != "evaluation"]


def undeclared(found: Sequence[Difference], treatment: Sequence[str]) -> list[Difference]:
    """Return the differences that no treatment path covers."""
    return [each for each in found if not covered(each.path, treatment)]


def _covers(declared: str, path: Sequence[str]) -> bool:
    if not path:
        return False
    name, below = path[0], path[1:]
    if declared == name:
        return True
    if declared.startswith(f"{name}.") and _covers(declared[len(name) + 1 :], below):
        return True
    wanted, dot, rest = declared.partition(".")
    if "*" not in wanted or not _matches(wanted, name):
        return False
    return _covers(rest, below) if dot else True


def _matches(wanted: str, name: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, wanted.split("*"))), name, re.DOTALL) is not None


# --- comparing -----------------------------------------------------------------------------------


def _named(normal: Mapping[str, JSON], other: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return a normal form with its links by id, and of its files those that both sides name."""
    named = _by_name(normal)
    theirs = other.get("files", {})
    named["files"] = {name: sha for name, sha in normal.get("files", {}).items() if name in theirs}
    return named


def _by_name(normal: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return a normal form with its links by id, and those of the teams within it."""
    named = {key: value for key, value in normal.items() if key not in _REMARKS}
    named["links"] = {link["id"]: link for link in normal["links"]}
    named["roles"] = {
        name: {**role, "team": _by_name(role["team"])} if "team" in role else role
        for name, role in normal["roles"].items()
    }
    return named


def _inside(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return a path in a team within as one in the team itself."""
    while path[:1] == ("roles",) and path[2:3] == ("team",):
        path = path[3:]
    return path


def _compare(path: tuple[str, ...], left: JSON, right: JSON) -> Iterator[tuple[Any, JSON, JSON]]:
    if isinstance(left, dict) and isinstance(right, dict) and not _whole(path):
        yield from _compare_maps(path, left, right)
    elif _maps_in_step(left, right):
        for index, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from _compare((*path, str(index)), one, other)
    elif not _same(left, right):
        yield path, left, right


def _compare_maps(
    path: tuple[str, ...], left: Mapping[str, JSON], right: Mapping[str, JSON]
) -> Iterator[tuple[Any, JSON, JSON]]:
    keys = [*left, *(key for key in right if key not in left)]
    closed = _closed(path)
    for key in keys:
        if not (closed and key.startswith("x-")):
            yield from _compare((*path, key), left.get(key, ABSENT), right.get(key, ABSENT))
    if _inside(path) in (("roles",), ("links",)):
        ours = [key for key in left if key in right]
        theirs = [key for key in right if key in left]
        if ours != theirs:
            yield (*path, "(order)"), ours, theirs


def _closed(path: tuple[str, ...]) -> bool:
    """Return whether the map at ``path`` is closed, so that its ``x-`` keys are remarks."""
    path = _inside(path)
    if path in ((), ("limits",)):
        return True
    if path[0] == "evaluators" or path[2:4] == ("trigger", "checks"):
        return len(path) in (3, 6)
    if path[0] not in _THINGS or len(path) < 2:
        return False
    below = path[2:]
    is_phase = path[0] == "links" and len(below) == 2 and below[0] == "review"
    return not below or below in _CLOSED_BELOW.get(path[0], ()) or is_phase


def _maps_in_step(left: JSON, right: JSON) -> bool:
    """List of as many maps, such as phases: compared one by one."""
    return (
        isinstance(left, list)
        and isinstance(right, list)
        and len(left) == len(right)
        and all(isinstance(each, dict) for each in [*left, *right])
    )


def _whole(path: tuple[str, ...]) -> bool:
    """JSON Schemas are compared whole: half a schema says nothing."""
    path = _inside(path)
    return (path[:1] == ("inputs",) and len(path) == 2) or (
        path[:1] == ("roles",) and path[2:] == ("output",)
    )


def _same(left: JSON, right: JSON) -> bool:
    """JSON equality: true is not 1, and maps keep their order where order is meant."""
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(_same(one, other) for one, other in pairs)
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


# --- classes -------------------------------------------------------------------------------------


class _Classes:
    """What kind of difference stands at a path."""

    def __init__(self, left: Mapping[str, JSON], right: Mapping[str, JSON]) -> None:
        self._left, self._right = left, right
        links = [*left["links"], *right["links"]]
        self._authority = {link["id"] for link in links if link["kind"] == "authority"}
        self._files = {**left.get("files", {}), **right.get("files", {})}

    def _within(self, role: str) -> _Classes | None:
        """Return the classes of the team of a role, where both sides have one."""
        sides = [each["roles"].get(role, {}).get("team") for each in (self._left, self._right)]
        if None in sides:
            return None
        left, right = ({**side, "files": self._files} for side in sides)
        return _Classes(left, right)

    def kind(self, path: tuple[str, ...], values: tuple[JSON, JSON]) -> Kind:
        if path[0] == "roles" and path[2:3] == ("team",) and len(path) > 3:
            inner = self._within(path[1])
            return inner.kind(path[3:], values) if inner is not None else "structure"
        if path[0] == "roles":
            return _BY_ROLE_FIELD.get(path[2], "structure") if len(path) > 2 else "structure"
        if path[0] == "links":
            return self._of_link(path)
        if path[0] == "tools" and any(isinstance(v, str) and v in self._files for v in values):
            return "data"
        return _BY_HEAD.get(path[0], "structure")

    def _of_link(self, path: tuple[str, ...]) -> Kind:
        if path[1] not in self._authority:
            return "structure"
        return "prompts" if path[-1] in ("directive", "prompt") else "authority"
