"""Experiments from files: arms that differ in declared paths alone, on the same units, paired.

Loading tells every error of the document and of its arms together; then ``guard`` looks at each
contrast, before anything is called.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, Unpack

from orglab.engine.graph.check import Checked, check_file
from orglab.engine.graph.team import Team
from orglab.engine.spec.errors import Problem, SpecError, SpecIssue, SpecPath
from orglab.engine.spec.model import Topology
from orglab.engine.spec.validate.path_confinement import (
    FileRefused,
    confined_file,
    content_hash,
    read_limited,
)
from orglab.engine.spec.yaml.reader import read_bytes
from orglab.engine.study.batch.preflight import asked_models, evaluator_problems, files_read
from orglab.engine.study.batch.units import read_units
from orglab.engine.study.experiment.declarations import (
    analysis_problems,
    contrast_problems,
    contrasts_of,
    treatment_problems,
    treatments_of,
)
from orglab.engine.study.experiment.diff import differences, tested
from orglab.engine.study.experiment.document_loading import (
    DocumentLoading,
    LoadKeywords,
    LoadOptions,
)
from orglab.engine.study.experiment.experiment import (
    Experiment,
)
from orglab.providers.base import JSON


def kind_of(path: Path) -> str:
    """Return the kind that a document says it is; ``topology`` where it says nothing readable."""
    try:
        data = read_bytes(read_limited(path), str(path)).data
    except FileRefused:
        return "topology"
    kind = data.get("kind") if isinstance(data, dict) else None
    return kind if isinstance(kind, str) else "topology"


def load_experiment(path: Path, **given: Unpack[LoadKeywords]) -> Experiment:
    """Load an experiment with its arms and units; ``given`` are fields of ``LoadOptions``.

    A difference beyond the treatment is no error of the document: ``guard`` refuses it.

    Raises:
        SpecError: There are errors; all of them.
    """
    return ExperimentLoading(path, LoadOptions(**given)).loaded()


def judges_of(experiment: Experiment) -> list[Mapping[str, JSON]]:
    """Return the entries of the models that the experiment's evaluators ask."""
    return asked_models(next(iter(experiment.arms.values())))


# --- loading -------------------------------------------------------------------------------------


_UNDONE: Final = "change the arms, or leave --set out"


class ExperimentLoading(DocumentLoading[Experiment]):
    """One load of an experiment."""

    def load(self) -> tuple[Experiment | None, list[SpecIssue]]:
        """Return the experiment, or None and every error."""
        data = self.read("experiment")
        if data is None:
            return None, list(self.issues)
        arms = self._arms(data) if "arms" in data else {}
        complete = "arms" in data and len(arms) == len(data["arms"])
        self._declared(data, arms if complete else {})
        self._evened(data.get("treatment", []))
        units = self.units(data, _with_all_inputs(arms)) if arms and "units" in data else []
        self.outcomes(data, list(arms.values()) if complete else [], units)
        if self.issues or not complete:
            return None, self.sorted_issues()
        experiment = Experiment(
            **self.declared(data),
            arms=arms,
            contrasts=contrasts_of(data),
            treatments=treatments_of(data),
            units=units,
            read=_hashes(next(iter(arms.values()))),
        )
        return experiment, []

    # -- arms

    def _arms(self, data: Mapping[str, JSON]) -> dict[str, Team]:
        arms: dict[str, Team] = {}
        for name, arm in data["arms"].items():
            file = arm if isinstance(arm, str) else arm["base"]
            path = ("arms", name) if isinstance(arm, str) else ("arms", name, "base")
            checked = self._checked(path, file, self._sets(name, arm), data.get("evaluators", []))
            if checked is None:
                continue
            self.issues |= dict.fromkeys(self._moved(name, checked))
            if checked.team is not None:
                arms[name] = checked.team
                self._beside(path, checked.team)
        for problem in evaluator_problems(next(iter(arms.values()))) if arms else ():
            self.report(problem)
        return arms

    def _sets(self, name: str, arm: JSON) -> dict[str, JSON]:
        """Return what an arm sets; evaluators are the experiment's own."""
        sets = {} if isinstance(arm, str) else arm.get("set", {})
        own = [path for path in sets if path.partition(".")[0] == "evaluators"]
        for path in own:
            wrong = "evaluators are the experiment's own, the same for all arms"
            self.report(Problem(path=("arms", name, "set", path), wrong=wrong, at_key=True))
        for path in sets:
            for other in self.options.sets:
                if _covers(other, path) or _covers(path, other):
                    wrong = f"--set {other} would undo what this arm sets"
                    at: SpecPath = ("arms", name, "set", path)
                    self.report(Problem(path=at, wrong=wrong, hint=_UNDONE, at_key=True))
        return {path: value for path, value in sets.items() if path not in own}

    def _evened(self, treatment: JSON) -> None:
        """Refuse a ``--set`` of what the arms differ in: it would silently remove the treatment."""
        lists = treatment if isinstance(treatment, dict) else {"": treatment}
        for name, paths in lists.items():
            for index, path in enumerate(paths):
                for other in self.options.sets:
                    if _covers(other, path):
                        at: SpecPath = ("treatment", *([name] if name else []), index)
                        wrong = f"--set {other} would make the arms alike in this treatment"
                        self.report(Problem(path=at, wrong=wrong, hint=_UNDONE))

    def _checked(
        self, path: tuple[str, ...], file: str, sets: Mapping[str, JSON], evaluators: JSON
    ) -> Checked | None:
        try:
            confined_file(file, folder=self.folder, root=self.folder)
        except FileRefused as refused:
            self.report(Problem(path=path, wrong=f"{file}: {refused}"))
            return None
        shown = Path(os.path.normpath(self.folder / file))
        overrides = {**sets, **self.options.sets, "evaluators": evaluators}
        return self.options.check(shown, overrides)

    def _moved(self, name: str, checked: Checked) -> Iterator[SpecIssue]:
        """Errors of an arm; those of evaluators and of patches are the experiment's own."""
        for issue in checked.issues:
            problem, where = issue.problem, issue.file.removeprefix("--set ")
            if where == issue.file or where in self.options.sets:
                yield issue
                continue
            if where == "evaluators":
                mark = self.marks.value(problem.path)
            else:
                problem = replace(problem, path=("arms", name, "set", where))
                mark = self.marks.key(problem.path)
            yield SpecIssue(file=mark.file, line=mark.line, column=mark.column, problem=problem)

    def _beside(self, path: tuple[str, ...], team: Team) -> None:
        """Files of evaluators are looked for in the arm's folder, so that it must be ours."""
        named = files_read(team)
        if named and team.topology.folder != self.folder.resolve():
            wrong = f"evaluators read {', '.join(named)}, which would be looked for beside the arm"
            hint = "keep arms and experiment in one folder"
            self.report(Problem(path=path, wrong=wrong, hint=hint))

    # -- contrasts, treatments, analysis, units

    def _declared(self, data: Mapping[str, JSON], arms: Mapping[str, Team]) -> None:
        if "arms" not in data:
            return
        normals = [team.topology.normal for team in arms.values()]
        checks: list[tuple[str, Callable[[], Iterator[Problem]]]] = [
            ("analysis", lambda: contrast_problems(data)),
            ("analysis", lambda: analysis_problems(data)),
            ("treatment", lambda: treatment_problems(data, normals)),
        ]
        for part, check in checks:
            for problem in check() if part in data else ():
                self.report(problem)


def _covers(outer: str, inner: str) -> bool:
    """Return whether whatever is at the path ``inner`` is set by setting ``outer``; ``*`` is any part."""
    theirs = inner.split(".")
    ours = outer.split(".")
    pairs = zip(ours, theirs, strict=False)
    return len(ours) <= len(theirs) and all(fnmatchcase(a, b) for a, b in pairs)


def _hashes(team: Team) -> dict[str, str]:
    folder = team.topology.folder
    return {name: content_hash(folder / name) for name in files_read(team)}


def _with_all_inputs(arms: Mapping[str, Team]) -> Topology:
    """Return a topology that asks of units what any of the arms does: they share their units."""
    first = next(iter(arms.values())).topology
    inputs = {name: each for team in arms.values() for name, each in team.topology.inputs.items()}
    return replace(first, inputs=inputs)


# --- two files -----------------------------------------------------------------------------------


def experiment_of_files(
    left: Path,
    right: Path,
    *,
    units: Path,
    seed: int = 0,
    replicates: int = 1,
    models: Path | None = None,
    trust: bool = False,
) -> Experiment:
    """Two teams as an experiment without a third file: the treatment is what differs.

    Both arms are measured by the evaluators of both.

    Raises:
        SpecError: A spec has errors.
        UnitError: The units do not fit.
        ValueError: The specs do not differ, or share their name.
    """
    names = [left.stem, right.stem]
    if names[0] == names[1]:
        raise ValueError(f"both files are called {left.name}: arms are named after their files")
    arms = _measured_alike(dict(zip(names, _teams((left, right), models, trust), strict=True)))
    normals = [team.topology.normal for team in arms.values()]
    found = tested(differences(normals[0], normals[1]))
    if not found:
        raise ValueError(f"{left} and {right} do not differ: there is nothing to find out")
    contrast = (names[1], names[0])
    return Experiment(
        name=f"{names[0]}-{names[1]}",
        folder=left.resolve().parent,
        arms=arms,
        contrasts=[contrast],
        treatments={contrast: [each.where for each in found]},
        units=read_units(units, _with_all_inputs(arms)),
        replicates=replicates,
        seed=seed,
        read=_hashes(arms[names[0]]),
    )


def _teams(paths: Sequence[Path], models: Path | None, trust: bool) -> list[Team]:
    """Return the teams of two files; the errors of both are reported together."""
    checked = [check_file(path, models=models, trust=trust) for path in paths]
    issues = [issue for each in checked for issue in each.issues]
    for each in checked:
        problems = evaluator_problems(each.team) if each.team is not None else ()
        issues += [each.loaded.locate(problem) for problem in problems]
    teams = [each.team for each in checked if each.team is not None]
    if issues or len(teams) < len(paths):
        raise SpecError(list(dict.fromkeys(issues)))
    return teams


def _measured_alike(arms: Mapping[str, Team]) -> dict[str, Team]:
    uses = [use for team in arms.values() for use in team.topology.evaluators]
    every = tuple(use for index, use in enumerate(uses) if use not in uses[:index])
    written = [{use.use: dict(use.arguments)} for use in every]
    return {
        name: replace(
            team,
            topology=replace(
                team.topology,
                evaluators=every,
                normal={**team.topology.normal, "evaluators": written},
            ),
        )
        for name, team in arms.items()
    }
