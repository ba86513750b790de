"""Roles that are teams: which document each names, and what it takes from the one around it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from orglab.engine.spec.compose.extends import Located
from orglab.engine.spec.compose.overrides import patched
from orglab.engine.spec.compose.sources import Sources
from orglab.engine.spec.errors import Problem, SpecPath
from orglab.engine.spec.validate.path_confinement import FileRefused, confined_file, read_limited
from orglab.engine.spec.validate.references import maps
from orglab.engine.spec.yaml.source_map import Place
from orglab.providers.base import JSON

TEAM: Final = "team"
DEEPEST: Final = 5
"""How deep teams may lie within each other."""
MOST_TEAMS: Final = 100
"""Teams within one document, each counted as often as it is named."""

_OVERRIDE: Final = re.compile(r"roles\.([^.]+)\.team\.(.+)", re.DOTALL)


class TeamRefused(ValueError):
    """Raised when a role's team cannot be loaded; the text says why."""


@dataclass(kw_only=True, slots=True)
class Around:
    """What a document knows of those that it lies within.

    Attributes:
        files: The files of the documents around it, the outermost first, and its own.
        depth: How many documents lie around it.
        teams: How many teams were loaded so far within the outermost one.
    """

    files: tuple[tuple[Path, str], ...] = ()
    depth: int = 0
    teams: list[int] = field(default_factory=lambda: [0])

    def inside(self, path: Path | None, shown: str) -> Around:
        """Return what a team of this document knows.

        Raises:
            TeamRefused: Teams lie within each other in a circle, too deep, or are too many.
        """
        known = [file for file, _ in self.files]
        if path is not None and path in known:
            names = [label for _, label in self.files[known.index(path) :]] + [shown]
            raise TeamRefused(f"teams lie within each other in a circle: {' > '.join(names)}")
        if self.depth >= DEEPEST:
            raise TeamRefused(f"teams lie within each other more than {DEEPEST} deep")
        self.teams[0] += 1
        if self.teams[0] > MOST_TEAMS:
            raise TeamRefused(f"more than {MOST_TEAMS} teams within one document")
        files = self.files if path is None else (*self.files, (path, shown))
        return Around(files=files, depth=self.depth + 1, teams=self.teams)


@dataclass(frozen=True, kw_only=True, slots=True)
class Within:
    """A team's document before it is checked.

    Attributes:
        sources: Reads what it names.
        document: The document; None where it could not be read.
        shown: Its file's name in faults.
        stem: Its name where it has none.
        around: What it knows of those around it.
    """

    sources: Sources
    document: Located | None
    shown: str
    stem: str
    around: Around


def teams_of(document: Located) -> Iterator[tuple[str, Located]]:
    """Yield each role's ``team`` that is a path or a map, with its place."""
    for name, role in maps(document.data.get("roles")):
        if isinstance(role.get(TEAM), str | dict):
            place = document.place
            for key in ("roles", name, TEAM):
                place = place.child(key)
            yield name, Located(role[TEAM], place)


def named_team(name: str, place: Place, sources: Sources, around: Around) -> Within:
    """Return the document at the path ``name``.

    Raises:
        TeamRefused: It is not to be read, or cannot be.
    """
    origin = sources.origin(place.mark.file)
    try:
        path = confined_file(name, folder=origin.folder, root=origin.root)
        content = read_limited(path)
    except FileRefused as refused:
        raise TeamRefused(f"{name}: {refused}") from None
    shown = sources.shown(path)
    inside = around.inside(path, shown)
    beside = sources.beside()
    document = beside.document(content, shown, path)
    return Within(sources=beside, document=document, shown=shown, stem=path.stem, around=inside)


def written_team(team: Located, role: str, sources: Sources, around: Around) -> Within:
    """Return the document that is in a role.

    Raises:
        TeamRefused: Teams lie too deep, or are too many.
    """
    if "extends" in team.data:
        raise TeamRefused(
            "a team that is written in its place extends nothing; name a file that extends"
        )
    inside = around.inside(None, "")
    beside, shown = sources.beside(), team.place.mark.file
    head = {"kind": "topology", "version": 1}
    whole = beside.with_catalogue(Located({**head, **team.data}, team.place), shown)
    return Within(sources=beside, document=whole, shown=shown, stem=role, around=inside)


def team_of(inner: Located, outer: Located, only: str | None) -> tuple[Located, bool]:
    """Return a team's document with the models around it, where it has none; and whether it took them.

    Args:
        inner: The team's document.
        outer: The document around it.
        only: The one model that the outer document was written with, or None.
    """
    models = outer.data.get("models")
    if inner.data.get("models") or not isinstance(models, dict) or not models:
        return inner, False
    taken = {"models": models}
    if "pools" in outer.data and "pools" not in inner.data:
        taken["pools"] = outer.data["pools"]
    children = dict(inner.place.children or {})
    children |= {key: outer.place.child(key) for key in taken}
    place = Place(inner.place.mark, inner.place.keys, children)
    data = {**inner.data, **taken}
    return Located(_settled(data, only), place), True


def _settled(data: dict[str, JSON], only: str | None) -> JSON:
    """Return roles without a model keep the one that the outer document was written with."""
    if only is None or only not in data["models"] or len(data["models"]) == 1:
        return data
    lacking = [
        name for name, role in maps(data.get("roles")) if not {"model", "vote", TEAM} & role.keys()
    ]
    changes: dict[SpecPath, JSON] = {("roles", name, "model"): only for name in lacking}
    return patched(data, changes)


def masked(document: Located) -> Located:
    """Return the document with a text in the place of each team that is written in it."""
    written = [name for name, team in teams_of(document) if isinstance(team.data, dict)]
    changes: dict[SpecPath, JSON] = {("roles", name, TEAM): "." for name in written}
    return Located(patched(document.data, changes), document.place)


def split_overrides(
    overrides: Mapping[str, JSON], data: Mapping[str, JSON]
) -> tuple[dict[str, JSON], dict[str, dict[str, JSON]]]:
    """Return overrides of the document itself, and those that reach into the team of a role."""
    teams = {name for name, role in maps(data.get("roles")) if TEAM in role}
    own: dict[str, JSON] = {}
    within: dict[str, dict[str, JSON]] = {}
    for path, value in overrides.items():
        match = _OVERRIDE.fullmatch(path)
        if match and match[1] in teams:
            within.setdefault(match[1], {})[match[2]] = value
        else:
            own[path] = value
    return own, within


def role_paths(normal: Mapping[str, JSON]) -> list[str]:
    """Return names of the roles of a canonical form; of a sub-team, ``ROLE/NAME``."""
    found: list[str] = []
    for name, role in normal["roles"].items():
        found.append(name)
        if isinstance(role.get(TEAM), dict):
            found += [f"{name}/{inner}" for inner in role_paths(role[TEAM])]
    return found


def within(problem: Problem, role: str) -> Problem:
    """Return a problem of a role's team as one of the document around it."""
    return replace(problem, path=("roles", role, TEAM, *problem.path))
