"""Loading a spec: a file -> its canonical form and topology, and every error together."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from orglab.engine.spec.build import build
from orglab.engine.spec.canonical_form import normal_form, used_models, weights_key
from orglab.engine.spec.compose.extends import Located
from orglab.engine.spec.compose.overrides import apply_overrides, patched
from orglab.engine.spec.compose.sources import Sources
from orglab.engine.spec.compose.subteams import (
    TEAM,
    Around,
    TeamRefused,
    Within,
    masked,
    named_team,
    split_overrides,
    team_of,
    teams_of,
    within,
    written_team,
)
from orglab.engine.spec.compose.text_files import inlined_texts
from orglab.engine.spec.errors import Problem, SpecIssue, SpecPath
from orglab.engine.spec.messages import did_you_mean, got, quoted
from orglab.engine.spec.model import Topology
from orglab.engine.spec.model_catalogue import DEFAULT_ALIAS, swapped
from orglab.engine.spec.plugin_settings import (
    WEIGHTS,
    PluginCheck,
    evaluator_places,
    spread,
    weights_file,
)
from orglab.engine.spec.validate.json_schema import written_schema_problems
from orglab.engine.spec.validate.partial_document import sound_parts
from orglab.engine.spec.validate.path_confinement import FileRefused, content_hash, read_limited
from orglab.engine.spec.validate.references import name_problems
from orglab.engine.spec.validate.schema import KINDS
from orglab.engine.spec.validate.schema_errors import shape_problems
from orglab.engine.spec.yaml.source_map import Mark, Marks, Place
from orglab.providers.base import JSON
from orglab.providers.llama.weights_digest import weights_digest

_MOST_SHOWN: Final = 1_000
"""Errors of one document that are reported."""


@dataclass(kw_only=True)
class Loaded:
    """A loaded document.

    Attributes:
        file: The file as the user named it.
        kind: ``topology``, ``experiment`` or ``sweep``.
        normal: The canonical form; None where there are faults.
        topology: The topology; where there are errors, one of the sound parts, so that its graph
            can be checked too; None where none can be built.
        partial: The topology lacks what the errors errors: what merely follows from a missing part
            is no fault.
        problems: What is wrong, in no order.
    """

    file: str
    kind: str
    normal: Mapping[str, JSON] | None = None
    topology: Topology | None = None
    partial: bool = False
    problems: list[Problem] = field(default_factory=list)
    _marks: Marks
    _located: dict[Problem, list[SpecIssue]] = field(default_factory=dict)
    _links: list[int] = field(default_factory=list)
    _teams: dict[str, Loaded] = field(default_factory=dict)

    @property
    def issues(self) -> list[SpecIssue]:
        """Every error with its place: this file's first, then others', each in order of lines."""
        found: dict[SpecIssue, None] = {}
        for problem in self.problems:
            known = self._located.get(problem) or [self.locate(problem)]
            found.update(dict.fromkeys(known))
        return sorted(found, key=self._order)

    def locate(self, problem: Problem) -> SpecIssue:
        """Return the place of a problem, also of one that a check of ``topology`` found."""
        if problem in self._located:
            return self._located[problem][0]
        if (inner := self._team(problem.path)) is not None:
            found = inner.locate(replace(problem, path=problem.path[3:]))
            return replace(found, problem=problem)
        if problem not in self.problems:
            problem = replace(problem, path=self._written(problem.path))
        marks = self._marks
        mark = marks.key(problem.path) if problem.at_key else marks.value(problem.path)
        return mark.issue(problem)

    def _team(self, path: SpecPath) -> Loaded | None:
        """Return the document of the team in which a path lies."""
        inside = path[:1] == ("roles",) and path[2:3] == (TEAM,)
        return self._teams.get(str(path[1])) if inside else None

    def _written(self, path: SpecPath) -> SpecPath:
        """Return a path in ``topology`` as one in the document, where a partial topology lacks links."""
        if len(path) > 1 and path[0] == "links" and isinstance(path[1], int):
            known = self._links
            return ("links", known[path[1]], *path[2:]) if path[1] < len(known) else path
        return path

    def _order(self, issue: SpecIssue) -> tuple[bool, str, int, int, str]:
        return (issue.file != self.file, issue.file, issue.line, issue.column, str(issue))


def load(
    path: Path,
    *,
    overrides: Mapping[str, JSON] | None = None,
    models: Path | None = None,
    shown_as: str | None = None,
    trust: bool = False,
) -> Loaded:
    """Load a spec with all that it extends and names.

    Args:
        path: The file. What it names stays in its folder.
        overrides: Values by path, such as ``{"links.oversight.cap": 0}``; null removes.
        models: A catalogue in place of the document's ``models``; its entry ``default`` serves
            every alias it lacks.
        shown_as: The file's name in errors; default: the path as given.
        trust: The user trusts the spec: what it names may be run, and asked what it is.

    Returns:
        The document, or its errors; it never raises for what a file holds.
    """
    shown = shown_as or str(path)
    sources = Sources(folder=path.parent, shown_folder=os.path.dirname(shown))  # noqa: PTH120
    try:
        content = read_limited(path)
    except FileRefused as refused:
        problem = Problem(path=(), wrong=str(refused))
        return _unread(shown, [SpecIssue(file=shown, line=0, column=0, problem=problem)])
    document = sources.document(content, shown, path)
    around = Around(files=((path.resolve(), shown),))
    loading = _Loading(sources, shown, path.stem, trust, around)
    return loading.run(document, overrides or {}, models)


def load_text(
    text: str,
    folder: Path,
    name: str,
    *,
    overrides: Mapping[str, JSON] | None = None,
    models: Path | None = None,
) -> Loaded:
    """Load a spec from text, as if it lay in ``folder`` under ``name``; see ``load``."""
    sources = Sources(folder=folder)
    document = sources.document(text.encode("utf-8", "surrogatepass"), name, None)
    return _Loading(sources, name, Path(name).stem).run(document, overrides or {}, models)


def _unread(shown: str, issues: list[SpecIssue]) -> Loaded:
    loaded = Loaded(file=shown, kind="topology", _marks=Marks(Place(Mark(shown, 1, 1))))
    _add_located(loaded, issues)
    return loaded


def _add_located(loaded: Loaded, issues: list[SpecIssue]) -> None:
    if len(issues) > _MOST_SHOWN:
        loaded.problems.append(_too_many(len(issues)))
    for issue in issues[:_MOST_SHOWN]:
        loaded.problems.append(issue.problem)
        loaded._located.setdefault(issue.problem, []).append(issue)  # noqa: SLF001 - own class


class _Loading:
    """One load, step by step."""

    def __init__(
        self,
        sources: Sources,
        shown: str,
        stem: str,
        trust: bool = False,
        around: Around | None = None,
    ) -> None:
        self.sources = sources
        self.shown = shown
        self.stem = stem
        self.around = around or Around()
        self.teams: dict[str, Loaded] = {}
        self.problems: list[Problem] = []
        self.catalogue = ""
        self.trust = trust
        self.above = ""

    def run(
        self, document: Located | None, overrides: Mapping[str, JSON], models: Path | None
    ) -> Loaded:
        if document is None or not self.sources.whole:
            return _unread(self.shown, self.sources.issues)
        if _is_catalogue(document.data):
            wrong = "this is a catalogue of models, not a topology"
            hint = f"give it to a topology: `--models {self.shown}`"
            self.problems.append(Problem(path=(), wrong=wrong, hint=hint))
            return self._done("topology", document)
        kind = self._kind(document.data)
        if kind != "topology":
            return self._done(kind, document)
        only = _only_model(document.data)
        own, within_teams = split_overrides(overrides, document.data)
        document = self._changed(document, own, models)
        self._load_teams(document, within_teams, models, only)
        data = self._checked(masked(document))
        loaded = self._done("topology", document)
        self._build(loaded, data)
        return loaded

    def _kind(self, data: Mapping[str, JSON]) -> str:
        kind = data.get("kind")
        if isinstance(kind, str) and kind in KINDS and kind != "topology":
            wrong = f"expected a topology, got a document of kind {kind}"
            self.problems.append(Problem(path=("kind",), wrong=wrong))
            return str(kind)
        if "kind" not in data:
            problem = Problem(
                path=("kind",), wrong="`kind` is required", hint="write `kind: topology`"
            )
            self.problems.append(problem)
        elif kind != "topology":
            name = quoted(kind) if isinstance(kind, str) else got(kind)
            hint = did_you_mean(kind, KINDS) if isinstance(kind, str) else "write `kind: topology`"
            wrong = f"{name} is not one of {', '.join(KINDS)}"
            self.problems.append(Problem(path=("kind",), wrong=wrong, hint=hint))
        return "topology"

    def _changed(
        self, document: Located, overrides: Mapping[str, JSON], models: Path | None
    ) -> Located:
        if models is not None:
            self.catalogue = str(models)
            catalogue = self.sources.catalogue(models, self.catalogue)
            if catalogue is not None:
                document = swapped(document, catalogue)
        return apply_overrides(document, overrides, self.sources.tell, self.above)

    # -- roles that are teams

    def _load_teams(
        self,
        document: Located,
        overrides: Mapping[str, Mapping[str, JSON]],
        models: Path | None,
        only: str | None,
    ) -> None:
        for name, team in teams_of(document):
            try:
                if isinstance(team.data, str):
                    found = named_team(team.data, team.place, self.sources, self.around)
                else:
                    found = written_team(team, name, self.sources, self.around)
            except TeamRefused as refused:
                self.problems.append(Problem(path=("roles", name, TEAM), wrong=str(refused)))
                continue
            self._load_team(name, found, document, overrides.get(name, {}), models, only)

    def _load_team(
        self,
        name: str,
        found: Within,
        outer: Located,
        overrides: Mapping[str, JSON],
        models: Path | None,
        only: str | None,
    ) -> None:
        inner, taken = found.document, False
        if inner is not None and found.sources.whole:
            inner, taken = team_of(inner, outer, only)
        loading = _Loading(found.sources, found.shown, found.stem, self.trust, found.around)
        loading.above = f"{self.above}roles.{name}.{TEAM}."
        loaded = loading.run(inner, overrides, None if taken else models)
        reported = [each for each in loaded.problems if not (taken and each.path[:1] in _TAKEN)]
        self.problems += [within(problem, name) for problem in reported]
        self.teams[name] = loaded

    def _checked(self, document: Located) -> dict[str, JSON]:
        """Return every check of the document; its data with texts, arguments and paths put in."""
        marks = Marks(document.place)
        found, problems = inlined_texts(document.data, marks, self.sources)
        self.problems += problems
        known = {p.path for p in self.problems if p.path == ("kind",)}
        self.problems += [p for p in shape_problems(found) if p.path not in known]
        self.problems += name_problems(
            found, models_known=self.sources.models_known, catalogue=self.catalogue
        )
        self.problems += written_schema_problems(found)
        self.plugins = PluginCheck(
            marks=marks,
            sources=self.sources,
            problems=self.problems,
            files={},
            arguments={},
            trust=self.trust,
            inner_roles=self._inner_roles(),
        )
        self.plugins.document(found)
        self.problems = _bounded(self.problems)
        return self._settled(found)

    def _settled(self, data: dict[str, JSON]) -> dict[str, JSON]:
        """Return evaluators' short forms spread out; paths of data files relative to the spec's folder."""
        changes: dict[SpecPath, JSON] = {}
        for path, item, _ in evaluator_places(data):
            named = spread(item)
            if named is not None and path in self.plugins.arguments:
                name, _ = named
                changes[path] = {name: self._with_files(path, name)}
        for path, file in self.plugins.files.items():
            if path[0] in {"tools", "models"}:
                at = (*path[:-1], "file") if path[0] == "models" and path[2] == "model" else path
                changes[at] = self._relative(file)
        found: dict[str, JSON] = patched(data, changes)
        return found

    def _with_files(self, path: SpecPath, name: str) -> dict[str, JSON]:
        arguments = dict(self.plugins.arguments[path])
        for where, file in self.plugins.files.items():
            if where[: len(path) + 1] == (*path, name) and where[-1] in arguments:
                arguments[str(where[-1])] = self._relative(file)
        return arguments

    def _relative(self, file: Path) -> str:
        return Path(os.path.relpath(file, self.sources.folder.resolve())).as_posix()

    def _inner_roles(self) -> list[str]:
        """Return names of the roles of teams, as evaluators may name them."""
        teams = {name: team.topology for name, team in self.teams.items()}
        return [
            f"{name}/{role}" for name, team in teams.items() if team for role in team.role_paths
        ]

    # -- the result

    def _done(self, kind: str, document: Located) -> Loaded:
        loaded = Loaded(file=self.shown, kind=kind, _marks=Marks(document.place))
        loaded.problems += self.problems
        loaded._teams = self.teams  # noqa: SLF001 - own class
        _add_located(loaded, self.sources.issues)
        loaded.problems = list(dict.fromkeys(loaded.problems))
        return loaded

    def _build(self, loaded: Loaded, data: dict[str, JSON]) -> None:
        hashes = self._hashes(loaded)
        if not loaded.problems:
            loaded._links = list(range(len(data.get("links", []))))  # noqa: SLF001 - own class
        else:
            sound = sound_parts(data, loaded.problems)
            if sound.data is None:
                return
            data, loaded._links, loaded.partial = sound.data, sound.links, True  # noqa: SLF001
        teams = {name: team.topology for name, team in self.teams.items() if team.topology}
        data, files = _with_teams(data, teams)
        normal = normal_form(
            data, name=self.stem, files={**files, **hashes}, served=self.plugins.served
        )
        if not loaded.problems:
            normal["files"] |= self._weights(normal)
        loaded.normal = None if loaded.problems else normal
        topology = build(normal, self.sources.folder.resolve(), teams)
        loaded.topology = replace(topology, trusted=self.trust)

    def _hashes(self, loaded: Loaded) -> dict[str, str]:
        found: dict[str, str] = {}
        for path, file in self.plugins.files.items():
            if path[0] == "models" and (path[-1] == "model" or file.name.endswith(WEIGHTS)):
                continue  # below
            try:
                name, large = self._relative(file), file.name.endswith(WEIGHTS)
                found[name] = weights_digest(file) if large else content_hash(file)
            except (FileRefused, OSError) as refused:
                loaded.problems.append(Problem(path=path, wrong=str(refused)))
        return found

    def _weights(self, normal: Mapping[str, JSON]) -> dict[str, str]:
        """Return digests of the weights of models in use, where they are on this machine."""
        found: dict[str, str] = {}
        for model in used_models(normal).values():
            file, name = model.get("file"), model["model"]
            options = {"file": str(self.sources.folder.resolve() / file)} if file else {}
            weights = weights_file(model["provider"], name, options)
            if weights is not None:
                found[weights_key(file or name)] = weights_digest(weights)
        return found


_TAKEN: Final = (("models",), ("pools",))
"""What a team may take from the document around it: its errors are reported there."""


def _only_model(data: Mapping[str, JSON]) -> str | None:
    """Return the model of roles that name none, before a catalogue brings more."""
    models = data.get("models")
    if not models:
        return DEFAULT_ALIAS
    return next(iter(models)) if isinstance(models, dict) and len(models) == 1 else None


def _with_teams(
    data: dict[str, JSON], teams: Mapping[str, Topology]
) -> tuple[dict[str, JSON], dict[str, str]]:
    """Return a document with the normal forms of its teams in their places, and their data files."""
    files: dict[str, str] = {}
    changes: dict[SpecPath, JSON] = {}
    for name, role in data["roles"].items():
        if name in teams and TEAM in role:
            whole = dict(teams[name].normal)
            files |= whole.pop("files")
            changes["roles", name, TEAM] = whole
        elif TEAM in role:  # it could not be loaded
            changes["roles", name] = {k: v for k, v in role.items() if k not in (TEAM, "with")}
    return patched(data, changes), files


def _bounded(problems: list[Problem]) -> list[Problem]:
    """Return the first errors, and how many more there are: nobody mends thousands one by one."""
    if len(problems) <= _MOST_SHOWN:
        return problems
    return [_too_many(len(problems)), *problems[:_MOST_SHOWN]]


def _too_many(number: int) -> Problem:
    return Problem(path=(), wrong=f"{number:,} errors; the first {_MOST_SHOWN:,} are shown")


def _is_catalogue(data: Mapping[str, JSON]) -> bool:
    """Return a map of models alone, bare or under ``models``."""
    models = data.get("models") if list(data) == ["models"] else data
    if not isinstance(models, dict) or not models or "kind" in data:
        return False
    return all(isinstance(part, dict) and "provider" in part for part in models.values())
