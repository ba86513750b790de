"""What ``orglab run`` is asked to do: a team, an experiment, a sweep, two files as an experiment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import typer

from orglab.cli.options import overrides_of
from orglab.engine.study.batch.runner import Arm, Batch
from orglab.engine.study.batch.study_folder import (
    experiment_batch,
    experiment_folder,
    load_team,
    open_experiment,
    open_study,
    study_folder,
    units_of,
)
from orglab.engine.study.experiment.load import (
    Experiment,
    experiment_of_files,
    guard,
    kind_of,
    load_experiment,
)
from orglab.engine.study.sweep.load import Sweep, load_sweep
from orglab.engine.study.sweep.study_folder import open_sweep, sweep_batch, sweep_folder
from orglab.providers.terminal_safety import visible
from orglab.results.number_format import amount
from orglab.results.store.store import Store

__all__ = ["Wish", "Work", "sweep_words", "work_of"]


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What was typed: the arguments of ``orglab run`` that say what is to be run."""

    files: Sequence[Path]
    inputs: Sequence[str]
    units: Path | None
    replicates: int | None
    seed: int | None
    models: Path | None
    sets: Sequence[str]
    trust: bool = False


@dataclass(frozen=True, kw_only=True)
class Work:
    """What is to be run.

    Attributes:
        name: What progress calls it.
        batch: The runs.
        folder: The study's default folder.
        open: Opens the study in a folder.
        words: What is told before the first call.
        experiment: The experiment, or None.
        sweep: The sweep, or None.
    """

    name: str
    batch: Batch
    folder: Path
    open: Callable[[Path], Store]
    words: Sequence[str] = ()
    experiment: Experiment | None = None
    sweep: Sweep | None = None

    @property
    def reports(self) -> bool:
        """A report is written when the runs have ended."""
        return self.experiment is not None or self.sweep is not None


def work_of(wish: Wish) -> Work:
    """The work that was asked for; an experiment has passed its guard, also as a sweep's base.

    Raises:
        SpecError: A spec has faults.
        UndeclaredDifference: Arms differ beyond the treatment.
        typer.BadParameter: The arguments do not go together.
    """
    if len(wish.files) == 2:
        return _experiment(_of_files(wish))
    if len(wish.files) > 2:
        raise typer.BadParameter("one spec, or two to compare; an experiment names more arms")
    kind = kind_of(wish.files[0])
    if kind == "sweep":
        return _sweep(wish)
    return _experiment(_of_document(wish)) if kind == "experiment" else _team(wish)


def _team(wish: Wish) -> Work:
    if wish.inputs and wish.units:
        raise typer.BadParameter("--input and --units exclude each other")
    overrides = overrides_of(wish.sets)
    team = load_team(wish.files[0], overrides=overrides, models=wish.models, trust=wish.trust)
    batch = Batch(
        arms=[Arm.alone(team)],
        units=units_of(team, inputs=wish.inputs, units=wish.units),
        replicates=wish.replicates or 1,
        seed=wish.seed or 0,
    )
    return Work(
        name=team.topology.name,
        batch=batch,
        folder=study_folder(team),
        open=lambda folder: open_study(folder, team),
    )


def _of_document(wish: Wish) -> Experiment:
    if wish.inputs or wish.units:
        raise typer.BadParameter("an experiment names its units itself")
    return load_experiment(
        wish.files[0],
        models=wish.models,
        overrides=overrides_of(wish.sets),
        seed=wish.seed,
        replicates=wish.replicates,
        trust=wish.trust,
    )


def _of_files(wish: Wish) -> Experiment:
    if wish.units is None or wish.inputs:
        raise typer.BadParameter("two specs are compared on --units FILE")
    if wish.sets:
        raise typer.BadParameter("--set goes with one spec")
    left, right = wish.files
    return experiment_of_files(
        left,
        right,
        units=wish.units,
        seed=wish.seed or 0,
        replicates=wish.replicates or 1,
        models=wish.models,
        trust=wish.trust,
    )


def _experiment(experiment: Experiment) -> Work:
    guard(experiment)
    return Work(
        name=experiment.name,
        batch=experiment_batch(experiment),
        folder=experiment_folder(experiment),
        open=lambda folder: open_experiment(folder, experiment, tell=_tell),
        words=_treatment(experiment),
        experiment=experiment,
    )


def _sweep(wish: Wish) -> Work:
    if wish.inputs or wish.units:
        raise typer.BadParameter("a sweep, or its base, names its units itself")
    sweep = load_sweep(
        wish.files[0],
        models=wish.models,
        overrides=overrides_of(wish.sets),
        seed=wish.seed,
        replicates=wish.replicates,
        trust=wish.trust,
    )
    if sweep.experiment is not None:
        guard(sweep.experiment)
    return Work(
        name=sweep.name,
        batch=sweep_batch(sweep),
        folder=sweep_folder(sweep),
        open=lambda folder: open_sweep(folder, sweep, tell=_tell),
        words=[sweep_words(sweep)],
        sweep=sweep,
    )


def sweep_words(sweep: Sweep) -> str:
    """``8 variants (cap 4, persona 2), 6 units, 48 runs``; what equal variants save is told."""
    factors = ", ".join(
        f"{factor.name} {len({point[at].label for point in sweep.points})}"
        for at, factor in enumerate(sweep.factors)
    )
    arms = len(sweep.bases)
    wanted, teams = len(sweep.points) * arms, len(sweep.cells)
    same = (
        f"; {wanted - teams} of these teams {'are' if wanted - teams > 1 else 'is'} the same as "
        "another and run once"
        if wanted > teams
        else ""
    )
    each = f" x {arms} arms" if arms > 1 else ""
    runs = teams * len(sweep.units) * sweep.replicates
    points, units = amount(len(sweep.points), "variant"), amount(len(sweep.units), "unit")
    words = f"{points} ({factors}){each}{same}; {units}, {amount(runs, 'run')}"
    return "; ".join([words, *_arms_alike(sweep)])


def _arms_alike(sweep: Sweep) -> Iterator[str]:
    """Arms of an experiment that what varies makes the same: they then differ by chance alone."""
    teams: dict[int, list[tuple[str, str]]] = {}
    for cell in sweep.cells:
        for point in cell.points:
            teams.setdefault(point, []).append((cell.arm, cell.team.topology.hash))
    pairs: Counter[tuple[str, str]] = Counter(
        (one, other)
        for cells in teams.values()
        for (one, spec), (other, its) in combinations(cells, 2)
        if spec == its
    )
    for (one, other), often in pairs.items():
        yield f"ARMS ALIKE: {one} and {other} are the same team in {often} of {len(teams)} variants"


def _tell(words: str) -> None:
    typer.echo(visible(words))


def _treatment(experiment: Experiment) -> list[str]:
    lines = [f"{amount(len(experiment.units), 'unit')}, {amount(len(experiment.arms), 'arm')}"]
    for (arm, reference), paths in experiment.treatments.items():
        lines.append(f"{arm} against {reference}, treatment: {', '.join(paths) or 'nothing'}")
    return lines
