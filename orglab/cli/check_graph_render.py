"""Commands for authors of specs: check, graph, render, schema, new."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from orglab.cli.diff import GATE
from orglab.cli.options import MOST_SEED, Trust, overrides_of
from orglab.cli.run_request import sweep_words
from orglab.engine.graph.check import check_file
from orglab.engine.graph.draw.draw import draw
from orglab.engine.graph.team import Team
from orglab.engine.spec.validate.schema import schema as spec_schema
from orglab.engine.study.batch.preflight import evaluator_problems
from orglab.engine.study.batch.study_folder import load_team, units_of
from orglab.engine.study.experiment.load import (
    UndeclaredDifference,
    check_experiment,
    guard,
    kind_of,
    load_experiment,
)
from orglab.engine.study.plan.dry_run import rendered_prompts
from orglab.engine.study.sweep.load import check_sweep, load_sweep
from orglab.providers.base import JSON
from orglab.providers.terminal_safety import visible

__all__ = ["check", "graph", "new", "render", "schema"]


Sets = Annotated[
    list[str] | None, typer.Option("--set", help="path=value: changes one field of the spec.")
]
Catalogue = Annotated[
    Path | None, typer.Option("--models", help="A catalogue in place of the spec's models.")
]


def check(
    files_: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Specs to check.")],
    sets: Sets = None,
    models: Catalogue = None,
    trust: Trust = False,
) -> None:
    """Tells every fault of a spec: where, what is wrong, what was expected, how to mend it."""
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
    """Tells the faults of a team, or that it is sound; the exit code."""
    checked = check_file(path, overrides=overrides, models=models, trust=trust)
    faults = list(checked.faults)
    if checked.team is not None:
        faults += [checked.loaded.locate(each) for each in evaluator_problems(checked.team)]
    for fault in faults:
        typer.echo(visible(str(fault)))
    for warning in checked.warnings:
        typer.echo(visible(f"warning: {warning}"))
    if checked.team is not None and not faults:
        typer.echo(_sound(path, checked.team))
    return 2 if faults else 0


def _check_experiment(
    path: Path, overrides: Mapping[str, JSON], models: Path | None, trust: bool
) -> int:
    """Tells the faults of an experiment, or that its arms differ as declared; the exit code."""
    faults = check_experiment(path, models=models, overrides=overrides, trust=trust)
    for fault in faults:
        typer.echo(visible(str(fault)))
    if faults:
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
    """Tells the faults of a sweep, or that every variant is sound; the exit code."""
    faults = check_sweep(path, models=models, overrides=overrides, trust=trust)
    for fault in faults:
        typer.echo(visible(str(fault)))
    if faults:
        return 2
    sweep = load_sweep(path, models=models, overrides=overrides, trust=trust)
    if sweep.experiment is not None:
        try:
            guard(sweep.experiment)
        except UndeclaredDifference as refused:
            for line in refused.lines:
                typer.echo(visible(f"{path}: {line}"))
            return GATE
    typer.echo(visible(f"{path}: sound: {sweep_words(sweep)}; hash {sweep.hash[:8]}"))
    return 0


def _sound(path: Path, team: Team) -> str:
    topology, bounds = team.topology, team.bounds
    return (
        f"{path}: sound: {len(topology.roles)} roles, {len(topology.links)} links; a run takes at "
        f"most {bounds.turns:,} turns and {bounds.calls:,} model calls; hash {topology.hash[:8]}"
    )


def graph(
    file: Annotated[Path, typer.Argument(help="The spec of a team.")],
    format_: Annotated[
        Literal["mermaid", "dot", "svg", "json"], typer.Option("--format", help="Kind of drawing.")
    ] = "mermaid",
    sets: Sets = None,
    trust: Trust = False,
) -> None:
    """Draws a team: forward links solid, authority dashed with its cap."""
    typer.echo(draw(load_team(file, overrides=overrides_of(sets or []), trust=trust), format_))


def render(
    file: Annotated[Path, typer.Argument(help="The spec of a team.")],
    inputs: Annotated[
        list[str] | None, typer.Option("--input", help="name=value: one input of one unit.")
    ] = None,
    units: Annotated[Path | None, typer.Option(help="A file of units; its first is used.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Root seed of every draw.")] = 0,
    sets: Sets = None,
    models: Catalogue = None,
    trust: Trust = False,
) -> None:
    """Shows every prompt of a team for a unit, with its tokens; no model is called."""
    team = load_team(file, overrides=overrides_of(sets or []), models=models, trust=trust)
    unit = units_of(team, inputs=inputs or [], units=units)[0]
    console = Console()
    found = asyncio.run(rendered_prompts(team, unit, seed=seed))
    for prompt in found.prompts:
        console.rule(visible(prompt.title), align="left")
        for message in prompt.messages:
            console.print(f"[{message.role}]", style="bold", markup=False, highlight=False)
            console.print(visible(message.content), markup=False, highlight=False)
        console.print(f"about {prompt.tokens:,} tokens", style="dim", highlight=False)
    if found.fault:
        typer.echo(f"The run would end here: {visible(found.fault)}", err=True)
        raise typer.Exit(2)


def schema(
    kind: Annotated[str, typer.Argument(help="topology, experiment or sweep.")] = "topology",
) -> None:
    """Prints the JSON Schema of a kind of spec, for editors."""
    typer.echo(json.dumps(spec_schema(kind), indent=2, ensure_ascii=False))


def new(
    name: Annotated[str, typer.Argument(help="The new team's name; NAME.yaml is written.")],
) -> None:
    """Writes a first spec to edit: a writer and an editor who may send the draft back."""
    path = Path(name if name.endswith(".yaml") else f"{name}.yaml")
    if not path.stem[:1].isalnum():
        raise typer.BadParameter(f"{name!r} is no name: begin it with a letter or a digit")
    if path.exists():
        raise typer.BadParameter(f"{path} exists; nothing was written")
    text = (files("orglab.cli") / "new.yaml").read_text(encoding="utf-8")
    path.write_text(text.replace("NAME", path.stem), encoding="utf-8")
    typer.echo(f"{path} written. Next:")
    typer.echo(f"  orglab check {path}")
    typer.echo(f'  orglab run {path} --input topic="the case for small teams"')
