"""The request that the arguments of ``orglab run`` make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import typer

from orglab.cli.options import overrides_of
from orglab.engine.study.batch.study_folder import load_team, units_of
from orglab.engine.study.batch.units import UnitError
from orglab.engine.study.experiment.comparison import sample_unit
from orglab.engine.study.experiment.experiment import Experiment
from orglab.engine.study.experiment.load import experiment_of_files, kind_of
from orglab.engine.study.sweep.sweep import Sweep
from orglab.providers.terminal_safety import visible
from orglab.results.number_format import amount
from orglab.run_request import RunRequest, design_request, document_request, team_request


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The arguments of ``orglab run`` that say what is to be run."""

    files: Sequence[Path]
    inputs: Sequence[str]
    units: Path | None
    replicates: int | None
    seed: int | None
    models: Path | None
    sets: Sequence[str]
    trust: bool = False


def request_of(options: RunOptions, *, make_up_unit: bool = False) -> RunRequest:
    """Return the request; an experiment has passed its guard, also as a sweep's base.

    Args:
        options: The arguments.
        make_up_unit: Use a sample unit for a team where no unit is named and inputs are required.

    Raises:
        SpecError: A spec has errors.
        UndeclaredDifference: Arms differ beyond the treatment.
        typer.BadParameter: The arguments do not go together.
    """
    if len(options.files) == 2:
        return design_request(_experiment_of_two_files(options), _print)
    if len(options.files) > 2:
        raise typer.BadParameter("one spec, or two to compare; an experiment names more arms")
    kind = kind_of(options.files[0])
    if kind not in ("experiment", "sweep"):
        return _team_request(options, make_up_unit=make_up_unit)
    if options.inputs or options.units:
        name = "an experiment" if kind == "experiment" else "a sweep, or its base,"
        raise typer.BadParameter(f"{name} names its units itself")
    return document_request(
        options.files[0],
        _print,
        models=options.models,
        overrides=overrides_of(options.sets),
        seed=options.seed,
        replicates=options.replicates,
        trust=options.trust,
    )


def _team_request(options: RunOptions, *, make_up_unit: bool) -> RunRequest:
    if options.inputs and options.units:
        raise typer.BadParameter("--input and --units exclude each other")
    overrides = overrides_of(options.sets)
    team = load_team(
        options.files[0], overrides=overrides, models=options.models, trust=options.trust
    )
    made_up = False
    try:
        units = units_of(team, inputs=options.inputs, units=options.units)
    except UnitError:
        if options.inputs or options.units or not make_up_unit:
            raise
        units, made_up = [sample_unit(team.topology)], True
    return team_request(
        team,
        units,
        replicates=options.replicates or 1,
        seed=options.seed or 0,
        made_up_unit=made_up,
    )


def _experiment_of_two_files(options: RunOptions) -> Experiment:
    if options.units is None or options.inputs:
        raise typer.BadParameter("two specs are compared on --units FILE")
    if options.sets:
        raise typer.BadParameter("--set goes with one spec")
    left, right = options.files
    return experiment_of_files(
        left,
        right,
        units=options.units,
        seed=options.seed or 0,
        replicates=options.replicates or 1,
        models=options.models,
        trust=options.trust,
    )


def design_summary(request: RunRequest) -> list[str]:
    """Return lines that describe an experiment's arms or a sweep's variants; none for a team."""
    experiment = request.design
    if isinstance(experiment, Sweep):
        return [sweep_summary(experiment)]
    if experiment is None:
        return []
    lines = [f"{amount(len(experiment.units), 'unit')}, {amount(len(experiment.arms), 'arm')}"]
    for (arm, reference), paths in experiment.treatments.items():
        lines.append(f"{arm} against {reference}, treatment: {', '.join(paths) or 'nothing'}")
    return lines


def _print(notice: str) -> None:
    typer.echo(visible(notice))


def sweep_summary(sweep: Sweep) -> str:
    """Return ``8 variants (cap 4, persona 2), 6 units, 48 runs``, with what equal variants save."""
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
    counts = f"{points} ({factors}){each}{same}; {units}, {amount(runs, 'run')}"
    return "; ".join([counts, *_equal_arms(sweep)])


def _equal_arms(sweep: Sweep) -> Iterator[str]:
    """Yield a warning for each pair of arms that the variation makes equal."""
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
