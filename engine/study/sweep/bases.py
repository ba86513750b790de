"""What a sweep varies: the teams of its base, as they stand before anything is varied."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orglab.engine.graph.team import Team
from orglab.engine.spec.errors import Problem, SpecIssue
from orglab.engine.spec.validate.path_confinement import content_hash
from orglab.engine.spec.yaml.source_map import Marks
from orglab.engine.study.batch.preflight import evaluator_problems, files_read
from orglab.engine.study.experiment.document_loading import LoadOptions
from orglab.engine.study.experiment.experiment import Experiment
from orglab.engine.study.experiment.load import ExperimentLoading
from orglab.providers.base import JSON

__all__ = ["Bases", "experiment_bases", "topology_bases"]


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
