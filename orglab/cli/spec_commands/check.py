"""``orglab check``: every error of a spec."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from orglab.cli.options import Models, Sets, Trust, overrides_of
from orglab.cli.run_options import sweep_summary
from orglab.cli.spec_commands.diff import GATE
from orglab.engine.graph.check import check_file
from orglab.engine.graph.team import Team
from orglab.engine.study.batch.preflight import evaluator_problems
from orglab.engine.study.experiment.load import (
    UndeclaredDifference,
    check_experiment,
    guard,
    kind_of,
    load_experiment,
)
from orglab.engine.study.sweep.load import check_sweep, load_sweep
from orglab.providers.base import JSON
from orglab.providers.terminal_safety import visible

__all__ = ["check"]


def check(
    files_: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Specs to check.")],
    sets: Sets = None,
    models: Models = None,
    trust: Trust = False,
) -> None:
    """Tell every error of a spec: where, what is wrong, what was expected, how to mend it."""
    code = 0
    for path in files_:
        kind = kind_of(path)
        if kind == "experiment":
            found = _check_experiment(path, overrides_of(sets or []), models, trust)
        elif kind == "sweep":
            found = _check_sweep(path, overrides_of(sets or []), models, trust)
        else:
            found = _check_team(path, overrides_of(sets or []), models, trust)
        code = found if code in (0, GATE) and found else code
    if code:
        raise typer.Exit(code)


def _check_team(path: Path, overrides: Mapping[str, JSON], models: Path | None, trust: bool) -> int:
    """Tell the errors of a team, or that it is sound; the exit code."""
    checked = check_file(path, overrides=overrides, models=models, trust=trust)
    issues = list(checked.issues)
    if checked.team is not None:
        issues += [checked.loaded.locate(each) for each in evaluator_problems(checked.team)]
    for issue in issues:
        typer.echo(visible(str(issue)))
    for warning in checked.warnings:
        typer.echo(visible(f"warning: {warning}"))
    if checked.team is not None and not issues:
        typer.echo(_sound(path, checked.team))
    return 2 if issues else 0


def _check_experiment(
    path: Path, overrides: Mapping[str, JSON], models: Path | None, trust: bool
) -> int:
    """Tell the errors of an experiment, or that its arms differ as declared; the exit code."""
    issues = check_experiment(path, models=models, overrides=overrides, trust=trust)
    for issue in issues:
        typer.echo(visible(str(issue)))
    if issues:
        return 2
    experiment = load_experiment(path, models=models, overrides=overrides, trust=trust)
    try:
        guard(experiment)
    except UndeclaredDifference as refused:
        for line in refused.lines:
            typer.echo(visible(f"{path}: {line}"))
        return GATE
    arms = len(experiment.arms)
    runs = arms * len(experiment.units) * experiment.replicates
    typer.echo(
        f"{path}: sound: {arms} arms, {len(experiment.units)} units, {runs} runs; the arms differ "
        f"in nothing beyond the treatment; hash {experiment.hash[:8]}"
    )
    return 0


def _check_sweep(
    path: Path, overrides: Mapping[str, JSON], models: Path | None, trust: bool
) -> int:
    """Tell the errors of a sweep, or that every variant is sound; the exit code."""
    issues = check_sweep(path, models=models, overrides=overrides, trust=trust)
    for issue in issues:
        typer.echo(visible(str(issue)))
    if issues:
        return 2
    sweep = load_sweep(path, models=models, overrides=overrides, trust=trust)
    if sweep.experiment is not None:
        try:
            guard(sweep.experiment)
        except UndeclaredDifference as refused:
            for line in refused.lines:
                typer.echo(visible(f"{path}: {line}"))
            return GATE
    typer.echo(visible(f"{path}: sound: {sweep_summary(sweep)}; hash {sweep.hash[:8]}"))
    return 0


def _sound(path: Path, team: Team) -> str:
    topology, bounds = team.topology, team.bounds
    return (
        f"{path}: sound: {len(topology.roles)} roles, {len(topology.links)} links; a run takes at "
        f"most {bounds.turns:,} turns and {bounds.calls:,} model calls; hash {topology.hash[:8]}"
    )
