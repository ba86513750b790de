"""From points to teams: each variant compiled, equal ones kept once, errors reported where written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from orglab.engine.graph.team import Team
from orglab.engine.spec.errors import Problem, SpecIssue
from orglab.engine.spec.validate.path_confinement import content_hash
from orglab.engine.spec.yaml.source_map import Marks
from orglab.engine.study.batch.preflight import evaluator_problems, files_read
from orglab.engine.study.experiment.document_loading import LoadOptions
from orglab.engine.study.experiment.experiment import Experiment
from orglab.engine.study.experiment.load import ExperimentLoading
from orglab.engine.study.sweep.designs import Point
from orglab.engine.study.sweep.factors import Factor, Level
from orglab.engine.study.sweep.paths import places
from orglab.engine.study.sweep.sweep import Cell, differing, point_name
from orglab.providers.base import JSON


@dataclass(frozen=True, kw_only=True)
class Bases:
    """The teams of a base.

    Attributes:
        files: Arm -> its file, as errors show it; "" is the arm of a topology.
        overrides: Arm -> what the base sets in that file by path.
        teams: Arm -> the team.
        read: SHA-256 of each file that evaluators read.
        experiment: The base, where it is an experiment.
    """

    files: Mapping[str, Path]
    overrides: Mapping[str, Mapping[str, JSON]]
    teams: Mapping[str, Team]
    read: Mapping[str, str]
    experiment: Experiment | None = None


def experiment_bases(path: Path, options: LoadOptions) -> tuple[Bases | None, Sequence[SpecIssue]]:
    """Return the arms of an experiment, or its errors."""
    experiment, issues = ExperimentLoading(path, options).load()
    if experiment is None:
        return None, issues
    evaluators = experiment.document.get("evaluators", [])
    files: dict[str, Path] = {}
    sets: dict[str, Mapping[str, JSON]] = {}
    for name, arm in experiment.document["arms"].items():
        files[name] = path.parent / (arm if isinstance(arm, str) else arm["base"])
        own = {} if isinstance(arm, str) else arm.get("set", {})
        sets[name] = {**own, **options.sets, "evaluators": evaluators}
    found = Bases(
        files=files,
        overrides=sets,
        teams=experiment.arms,
        read=experiment.read,
        experiment=experiment,
    )
    return found, ()


def topology_bases(
    path: Path,
    options: LoadOptions,
    *,
    evaluators: JSON | None,
    marks: Marks,
    report: Callable[[Problem], object],
) -> tuple[Bases | None, Sequence[SpecIssue]]:
    """Return a team, or its errors; errors of the sweep's own evaluators are reported in the sweep.

    Args:
        path: The team's file.
        options: What the user gave.
        evaluators: The sweep's evaluators, or None: the team's own.
        marks: Where the sweep's values were written.
        report: Called with each error of the sweep.
    """
    sets = dict(options.sets)
    sets |= {} if evaluators is None else {"evaluators": evaluators}
    checked = options.check(path, sets)
    issues = [_moved(issue, marks) for issue in checked.issues]
    if checked.team is None:
        of_sweep = all(issue.file == "--set evaluators" for issue in checked.issues)
        return _without_evaluators(path, options) if of_sweep else None, issues
    for problem in evaluator_problems(checked.team):
        if evaluators is not None:
            report(problem)
        else:
            issues.append(checked.loaded.locate(problem))
    named, folder = files_read(checked.team), checked.team.topology.folder
    if (
        evaluators is not None
        and named
        and path.parent.resolve() != Path(marks.root.mark.file).parent.resolve()
    ):
        wrong = f"evaluators read {', '.join(named)}, which would be looked for beside the base"
        report(Problem(path=("base",), wrong=wrong, hint="keep base and sweep in one folder"))
    found = Bases(
        files={"": path},
        overrides={"": sets},
        teams={"": checked.team},
        read={name: content_hash(folder / name) for name in named},
    )
    return found, issues


def _without_evaluators(path: Path, options: LoadOptions) -> Bases | None:
    """Return the team alone, so that the rest of the sweep can be checked against it."""
    team = options.check(path, {**options.sets, "evaluators": []}).team
    if team is None:
        return None
    return Bases(files={"": path}, overrides={"": {}}, teams={"": team}, read={})


def _moved(issue: SpecIssue, marks: Marks) -> SpecIssue:
    if issue.file != "--set evaluators":
        return issue
    mark = marks.value(issue.problem.path)
    return SpecIssue(file=mark.file, line=mark.line, column=mark.column, problem=issue.problem)


Set: TypeAlias = dict[str, Level]
"""Place -> the level that is put there."""

_ENOUGH = 100
"""So many errors of variants are reported; then no other variant is looked at."""


class VariantCompiler:
    """Compiles variants.

    Args:
        bases: What is varied.
        factors: The factors.
        marks: Where the sweep's values were written.
        options: What the user gave.
    """

    def __init__(
        self,
        bases: Bases,
        factors: Sequence[Factor],
        marks: Marks,
        options: LoadOptions,
    ) -> None:
        self.bases, self.factors, self.marks, self.options = bases, factors, marks, options
        self.issues: list[SpecIssue] = []
        self._reported: set[tuple[str, int, int, str]] = set()
        self._places = {
            arm: {factor.name: places(factor.path, team.topology.normal) for factor in factors}
            for arm, team in bases.teams.items()
        }

    def cells(self, points: Sequence[Point]) -> list[Cell]:
        """Return the teams of all points, each once, in the order of the points; see ``errors``."""
        found: dict[tuple[str, str], Cell] = {}
        varying = differing(self.factors, points)
        names = {
            arm: [name for name in varying if self._places[arm][name]] for arm in self.bases.teams
        }
        known: dict[tuple[str, ...], tuple[str, str]] = {}
        for number, point in enumerate(points):
            for arm in self.bases.teams:
                if len(self.issues) >= _ENOUGH:
                    return []
                name = point_name(self.factors, point, arm=arm, names=names[arm])
                labels = (arm, *(level.label for level in self._levels(arm, point).values()))
                key = known.get(labels)
                if key is None:
                    team = self._team(arm, self._levels(arm, point), name)
                    if team is None:
                        continue
                    key = known[labels] = (arm, team.topology.hash)
                    found.setdefault(key, Cell(name=name, arm=arm, team=team, points=()))
                cell = found[key]
                found[key] = replace(cell, points=(*cell.points, number))
        return list(found.values())

    def _levels(self, arm: str, point: Point) -> Set:
        return {
            place: level
            for factor, level in zip(self.factors, point, strict=True)
            for place in self._places[arm][factor.name]
        }

    def _team(self, arm: str, levels: Set, name: str) -> Team | None:
        values = {place: level.value for place, level in levels.items()}
        checked = self.options.check(self.bases.files[arm], {**self.bases.overrides[arm], **values})
        for issue in self._moved(checked.issues, levels, name):
            place = (issue.file, issue.line, issue.column, issue.problem.wrong)
            if place not in self._reported:
                self._reported.add(place)
                self.issues.append(issue)
        return checked.team

    def _moved(self, issues: Sequence[SpecIssue], levels: Set, name: str) -> Iterator[SpecIssue]:
        """Errors of a variant; those of a value are reported where the sweep has it."""
        for issue in issues:
            place = issue.file.removeprefix("--set ")
            if place == issue.file or place not in levels:
                yield issue if place in self.options.sets else self._of_variant(issue, name)
                continue
            path = ("vary", *levels[place].at)
            mark = self.marks.value(path)
            problem = replace(issue.problem, path=path)
            yield SpecIssue(file=mark.file, line=mark.line, column=mark.column, problem=problem)

    def _of_variant(self, issue: SpecIssue, name: str) -> SpecIssue:
        """Return an error that the base alone does not have."""
        wrong = f"{issue.problem.wrong} (in the variant {name})"
        problem: Problem = replace(issue.problem, wrong=wrong)
        return replace(issue, problem=problem)
