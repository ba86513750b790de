"""Experiments: arms that differ in declared paths alone, on the same units, paired.

Loading tells every fault of the document and of its arms in one go; then the guard looks at each
contrast, before anything is called.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from orglab.engine.graph.check import Checked, check_file
from orglab.engine.graph.team import Team
from orglab.engine.run.checks import EvaluationContext, make_evaluator
from orglab.engine.run.identity import canonical, digest
from orglab.engine.run.run import Unit, resolver
from orglab.engine.run.toolbox import Toolbox
from orglab.engine.spec.confine import FileRefused, confined_file, read_limited
from orglab.engine.spec.fault import Fault, Problem, SpecError
from orglab.engine.spec.marks import Mark, Marks
from orglab.engine.spec.model import EvaluatorUse
from orglab.engine.spec.shape import shape_problems
from orglab.engine.spec.words import did_you_mean
from orglab.engine.spec.yaml_reader import Document, read_bytes
from orglab.engine.study.comparison import sample_unit
from orglab.engine.study.diff import Difference, differences, undeclared
from orglab.engine.study.units import UnitError, read_units
from orglab.engine.study.word_diff import changed_words
from orglab.evaluators.base import EvaluationError, Evaluator

__all__ = [
    "Experiment",
    "UndeclaredDifference",
    "check_experiment",
    "experiment_of_files",
    "guard",
    "judges_of",
    "kind_of",
    "load_experiment",
]

JSON: TypeAlias = Any
Contrast: TypeAlias = tuple[str, str]


class UndeclaredDifference(Exception):
    """Raised when arms differ beyond the treatment; ``lines`` says where and how."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = tuple(lines)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A loaded experiment.

    Attributes:
        name: Its name.
        question: What it asks, "" where it does not say.
        folder: The document's folder.
        arms: Arm -> compiled team, in written order.
        contrasts: Pairs (arm, reference).
        treatments: For each contrast the paths in which its arms may differ.
        units: The units of work.
        replicates: Runs of each unit under each arm.
        seed: The root seed.
        share_prefix: Identical calls are made once, until the arms diverge.
        composites: Outcome -> the outcomes whose mean it is.
        analysis: What is tested, as written.
        document: The document as plain data.
    """

    name: str
    question: str
    folder: Path
    arms: Mapping[str, Team]
    contrasts: Sequence[Contrast]
    treatments: Mapping[Contrast, Sequence[str]]
    units: Sequence[Unit]
    replicates: int
    seed: int
    share_prefix: bool
    composites: Mapping[str, Sequence[str]]
    analysis: Mapping[str, JSON]
    document: Mapping[str, JSON]

    @property
    def hash(self) -> str:
        """Digest of what makes its runs: arms, seed, pairing.

        Units, replicates and analysis may grow or change in the same study; frozen plans tell.
        """
        arms = [[name, team.topology.hash] for name, team in self.arms.items()]
        return digest(canonical([self.name, arms, self.seed, self.share_prefix]))

    def plan(self) -> dict[str, JSON]:
        """The frozen plan: what is declared before the first run, as plain data."""
        return {
            "kind": "experiment",
            "name": self.name,
            "question": self.question,
            "arms": {name: team.topology.hash for name, team in self.arms.items()},
            "contrasts": [list(pair) for pair in self.contrasts],
            "treatment": {f"{a} - {b}": list(paths) for (a, b), paths in self.treatments.items()},
            "units": [unit.id for unit in self.units],
            "replicates": self.replicates,
            "seed": self.seed,
            "share_prefix": self.share_prefix,
            "evaluators": next(iter(self.arms.values())).topology.normal["evaluators"],
            "composites": {name: list(parts) for name, parts in self.composites.items()},
            "analysis": dict(self.analysis),
        }


def kind_of(path: Path) -> str:
    """The kind that a document says it is; ``topology`` where it says nothing readable."""
    try:
        data = read_bytes(read_limited(path), str(path)).data
    except FileRefused:
        return "topology"
    kind = data.get("kind") if isinstance(data, dict) else None
    return kind if isinstance(kind, str) else "topology"


def check_experiment(path: Path, *, models: Path | None = None) -> tuple[Fault, ...]:
    """Every fault of an experiment and of its arms; () where it is sound.

    A difference beyond the treatment is no fault of the document: ``guard`` refuses it.
    """
    return tuple(_Loading(path, models).load()[1])


def load_experiment(
    path: Path, *, models: Path | None = None, overrides: Mapping[str, JSON] | None = None
) -> Experiment:
    """Loads an experiment with its arms and units.

    Args:
        path: The document.
        models: A catalogue in place of every arm's models.
        overrides: Values by path, set in every arm.

    Raises:
        SpecError: There are faults; all of them.
    """
    experiment, faults = _Loading(path, models, overrides).load()
    if faults or experiment is None:
        raise SpecError(faults)
    return experiment


def guard(experiment: Experiment) -> None:
    """Refuses arms that differ beyond the treatment.

    Raises:
        UndeclaredDifference: With each difference and, for texts, the words.
    """
    lines: list[str] = []
    for (arm, reference), paths in experiment.treatments.items():
        left = experiment.arms[reference].topology.normal
        right = experiment.arms[arm].topology.normal
        extra = undeclared(_tested(differences(left, right)), paths)
        lines += [f"{arm} and {reference} differ in {_told(each)}" for each in extra]
    if lines:
        cure = "declare it under `treatment`, or make the arms equal there"
        raise UndeclaredDifference([*lines, cure])


def _tested(found: Sequence[Difference]) -> list[Difference]:
    """Evaluators are the experiment's own, the same for all arms."""
    return [each for each in found if each.kind != "evaluation"]


def _told(found: Difference) -> str:
    if isinstance(found.left, str) and isinstance(found.right, str):
        return f"{found.where} ({found.kind}): {changed_words(found.left, found.right)}"
    return f"{found.where} ({found.kind}): {found.right!r} and {found.left!r}"


def judges_of(experiment: Experiment) -> list[Mapping[str, JSON]]:
    """The entries of the models that the experiment's evaluators ask."""
    team = next(iter(experiment.arms.values()))
    made = [(evaluator, context) for _, evaluator, context in _evaluators(team) if evaluator]
    return [entry for evaluator, context in made for entry in evaluator.asks(context)]


def _evaluators(
    team: Team,
) -> Iterator[tuple[EvaluatorUse, Evaluator | None, EvaluationContext]]:
    """A team's evaluators on a sample unit; None for one that only a real unit can make."""
    sample = sample_unit(team.topology)
    resolve = resolver(team.topology.folder, sample)
    toolbox = Toolbox(uses={}, inputs=sample.inputs, resolve=resolve)
    context = EvaluationContext(inputs=sample.inputs, extra={})
    for use in team.topology.evaluators:
        try:
            yield use, make_evaluator(use, toolbox), context
        except ValueError:
            yield use, None, context


# --- loading -------------------------------------------------------------------------------------


class _Loading:
    """One load, step by step."""

    def __init__(
        self, path: Path, models: Path | None, overrides: Mapping[str, JSON] | None = None
    ) -> None:
        self.path = path
        self.models = models
        self.overrides = overrides or {}
        self.faults: list[Fault] = []

    def load(self) -> tuple[Experiment | None, list[Fault]]:
        try:
            document = read_bytes(read_limited(self.path), str(self.path))
        except FileRefused as refused:
            problem = Problem(path=(), wrong=str(refused))
            return None, [Fault(file=str(self.path), line=0, column=0, problem=problem)]
        self.faults += document.faults
        if not document.whole or not isinstance(document.data, dict):
            return None, self.faults
        self.marks = Marks(document.place)
        self._shape(document)
        if self.faults:
            return None, self.faults
        data: dict[str, JSON] = document.data
        arms = self._arms(data)
        if self.faults:
            return None, self.faults
        self._evaluators(next(iter(arms.values())))
        contrasts = self._contrasts(data, list(arms))
        units = self._units(data, arms)
        experiment = self._made(data, arms, contrasts, units)
        return (None if self.faults else experiment), self.faults

    def _shape(self, document: Document) -> None:
        for problem in shape_problems(document.data, "experiment"):
            self._tell(problem)

    def _tell(self, problem: Problem) -> None:
        mark = self.marks.key(problem.path) if problem.at_key else self.marks.value(problem.path)
        self._at(mark, problem)

    def _at(self, mark: Mark, problem: Problem) -> None:
        fault = Fault(file=mark.file, line=mark.line, column=mark.column, problem=problem)
        if fault not in self.faults:
            self.faults.append(fault)

    # -- arms

    def _arms(self, data: Mapping[str, JSON]) -> dict[str, Team]:
        arms: dict[str, Team] = {}
        for name, arm in data["arms"].items():
            file = arm if isinstance(arm, str) else arm["base"]
            sets = {} if isinstance(arm, str) else arm.get("set", {})
            checked = self._checked(name, file, sets, data.get("evaluators", []))
            if checked is None:
                continue
            self.faults += [each for each in self._moved(name, checked) if each not in self.faults]
            if checked.team is not None:
                arms[name] = checked.team
        return arms

    def _checked(
        self, name: str, file: str, sets: Mapping[str, JSON], evaluators: JSON
    ) -> Checked | None:
        folder = self.path.parent
        try:
            confined_file(file, folder=folder, root=folder)
        except FileRefused as refused:
            self._tell(Problem(path=("arms", name), wrong=f"{file}: {refused}"))
            return None
        shown = Path(os.path.normpath(folder / file))
        overrides = {**sets, **self.overrides, "evaluators": evaluators}
        return check_file(shown, overrides=overrides, models=self.models)

    def _moved(self, name: str, checked: Checked) -> Iterator[Fault]:
        """Faults of an arm; those of evaluators and of patches are the experiment's own."""
        for fault in checked.faults:
            problem = fault.problem
            if fault.file == "--set evaluators":
                mark = self.marks.value(problem.path)
            elif fault.file.startswith("--set "):
                where = fault.file.removeprefix("--set ")
                if where in self.overrides:
                    yield fault
                    continue
                mark = self.marks.key(("arms", name, "set", where))
                problem = replace(problem, path=("arms", name, "set", where))
            else:
                yield fault
                continue
            yield Fault(file=mark.file, line=mark.line, column=mark.column, problem=problem)

    def _evaluators(self, team: Team) -> None:
        """Evaluators look at what they will need before anything is run or paid for."""
        for index, (use, evaluator, context) in enumerate(_evaluators(team)):
            if evaluator is None:
                continue
            try:
                evaluator.prepare(context)
            except EvaluationError as wrong:
                self._tell(Problem(path=("evaluators", index, use.use), wrong=str(wrong)))

    # -- contrasts, treatments, units

    def _contrasts(self, data: Mapping[str, JSON], arms: list[str]) -> list[Contrast]:
        written = data.get("analysis", {}).get("contrasts")
        if written is None:
            return [(arm, arms[0]) for arm in arms[1:]]
        for index, pair in enumerate(written):
            for place, arm in enumerate(pair):
                if arm not in arms:
                    path = ("analysis", "contrasts", index, place)
                    cure = did_you_mean(arm, arms)
                    self._tell(Problem(path=path, wrong=f"there is no arm `{arm}`", cure=cure))
        return [(pair[0], pair[1]) for pair in written]

    def _treatments(
        self, data: Mapping[str, JSON], contrasts: Sequence[Contrast]
    ) -> dict[Contrast, list[str]]:
        written = data["treatment"]
        if isinstance(written, list):
            return {pair: list(written) for pair in contrasts}
        for arm in written:
            if arm not in data["arms"]:
                cure = did_you_mean(arm, data["arms"])
                wrong = f"there is no arm `{arm}`"
                self._tell(Problem(path=("treatment", arm), wrong=wrong, cure=cure, at_key=True))
        return {
            (arm, other): [*written.get(arm, []), *written.get(other, [])]
            for arm, other in contrasts
        }

    def _units(self, data: Mapping[str, JSON], arms: Mapping[str, Team]) -> list[Unit]:
        written = data["units"]
        path = self.path.parent / written["file"]
        found: list[Unit] = []
        try:
            confined_file(written["file"], folder=self.path.parent, root=self.path.parent)
            for team in arms.values():
                found = read_units(
                    path,
                    team.topology,
                    id_column=written.get("id"),
                    where=written.get("where"),
                    sample=written.get("sample"),
                    seed=data.get("seed", 0),
                )
        except FileRefused as refused:
            wrong = f"{written['file']}: {refused}"
            self._tell(Problem(path=("units", "file"), wrong=wrong))
        except UnitError as wrong_units:
            for line in wrong_units.faults:
                self._tell(Problem(path=("units",), wrong=line))
        return found

    def _made(
        self,
        data: Mapping[str, JSON],
        arms: Mapping[str, Team],
        contrasts: Sequence[Contrast],
        units: Sequence[Unit],
    ) -> Experiment:
        return Experiment(
            name=data["name"],
            question=data.get("question", ""),
            folder=self.path.resolve().parent,
            arms=arms,
            contrasts=contrasts,
            treatments=self._treatments(data, contrasts),
            units=units,
            replicates=data.get("replicates", 1),
            seed=data.get("seed", 0),
            share_prefix=data.get("pairing", {}).get("share_prefix", False),
            composites=data.get("composites", {}),
            analysis=data.get("analysis", {}),
            document=data,
        )


def experiment_of_files(
    left: Path,
    right: Path,
    *,
    units: Path,
    seed: int = 0,
    replicates: int = 1,
    models: Path | None = None,
) -> Experiment:
    """Two teams as an experiment without a third file: the treatment is what differs.

    Raises:
        SpecError: A spec has faults.
        UnitError: The units do not fit.
        ValueError: The specs do not differ, or share their name.
    """
    names = [left.stem, right.stem]
    if names[0] == names[1]:
        raise ValueError(f"both files are called {left.name}: arms are named after their files")
    arms: dict[str, Team] = {}
    for name, path in zip(names, (left, right), strict=True):
        checked = check_file(path, models=models)
        if checked.faults or checked.team is None:
            raise SpecError(checked.faults)
        arms[name] = checked.team
    normals = [team.topology.normal for team in arms.values()]
    found = _tested(differences(normals[0], normals[1]))
    if not found:
        raise ValueError(f"{left} and {right} do not differ: there is nothing to find out")
    contrast = (names[1], names[0])
    return Experiment(
        name=f"{names[0]}-{names[1]}",
        question="",
        folder=left.resolve().parent,
        arms=arms,
        contrasts=[contrast],
        treatments={contrast: [each.where for each in found]},
        units=read_units(units, arms[names[0]].topology),
        replicates=replicates,
        seed=seed,
        share_prefix=False,
        composites={},
        analysis={},
        document={},
    )
