"""``orglab check``: every error of a spec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from orglab.cli.options import Models, Sets, Trust, overrides_of
from orglab.cli.run_options import sweep_summary
from orglab.cli.spec_commands.diff import GATE
from orglab.engine.graph.check import check_file
from orglab.engine.graph.team import Team
from orglab.engine.spec.errors import SpecError, SpecIssue
from orglab.engine.study.batch.preflight import evaluator_problems
from orglab.engine.study.experiment.experiment import Experiment, UndeclaredDifference, guard
from orglab.engine.study.experiment.load import kind_of, load_experiment
from orglab.engine.study.sweep.load import load_sweep
from orglab.engine.study.sweep.sweep import Sweep
from orglab.providers.base import JSON
from orglab.providers.terminal_safety import visible


def check(
    files_: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Specs to check.")],
    sets: Sets = None,
    models: Models = None,
    trust: Trust = False,
) -> None:
    """Tell every error of a spec: where, what is wrong, what was expected, how to mend it."""
    code = 0
    overrides = overrides_of(sets or [])
    for path in files_:
        kind = kind_of(path)
        if kind in ("experiment", "sweep"):
            load = load_experiment if kind == "experiment" else load_sweep
            try:
                found = _check_design(
                    path, load(path, models=models, overrides=overrides, trust=trust)
                )
            except SpecError as error:
                found = _print_issues(error.issues)
        else:
            found = _check_team(path, overrides, models, trust)
        code = found if code in (0, GATE) and found else code
    if code:
        raise typer.Exit(code)


def _print_issues(issues: Sequence[SpecIssue]) -> int:
    for issue in issues:
        typer.echo(visible(str(issue)))
    return 2 if issues else 0


def _check_team(path: Path, overrides: Mapping[str, JSON], models: Path | None, trust: bool) -> int:
    """Tell the errors of a team, or that it is sound; the exit code."""
    checked = check_file(path, overrides=overrides, models=models, trust=trust)
    issues = list(checked.issues)
    if checked.team is not None:
        issues += [checked.loaded.locate(each) for each in evaluator_problems(checked.team)]
    code = _print_issues(issues)
    for warning in checked.warnings:
        typer.echo(visible(f"warning: {warning}"))
    if checked.team is not None and not issues:
        typer.echo(_sound(path, checked.team))
    return code


def _check_design(path: Path, design: Experiment | Sweep) -> int:
    """Print that arms differ as declared and every variant is valid, or what differs; the exit code."""
    experiment = design if isinstance(design, Experiment) else design.experiment
    if experiment is not None:
        try:
            guard(experiment)
        except UndeclaredDifference as refused:
            for line in refused.lines:
                typer.echo(visible(f"{path}: {line}"))
            return GATE
    if isinstance(design, Experiment):
        arms, units = len(design.arms), len(design.units)
        summary = (
            f"{arms} arms, {units} units, {arms * units * design.replicates} runs; the arms differ "
            "in nothing beyond the treatment"
        )
    else:
        summary = sweep_summary(design)
    typer.echo(visible(f"{path}: sound: {summary}; hash {design.hash[:8]}"))
    return 0


def _sound(path: Path, team: Team) -> str:
    topology, bounds = team.topology, team.bounds
    return (
        f"{path}: sound: {len(topology.roles)} roles, {len(topology.links)} links; a run takes at "
        f"most {bounds.turns:,} turns and {bounds.calls:,} model calls; hash {topology.hash[:8]}"
    )
