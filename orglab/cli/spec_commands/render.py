"""``orglab render``: every prompt of a team."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from orglab.cli.options import MOST_SEED, Inputs, Models, Sets, Trust, overrides_of
from orglab.engine.study.batch.study_folder import load_team, units_of
from orglab.engine.study.plan.dry_run import rendered_prompts
from orglab.providers.terminal_safety import visible


def render(
    file: Annotated[Path, typer.Argument(help="The spec of a team.")],
    inputs: Inputs = None,
    units: Annotated[Path | None, typer.Option(help="A file of units; its first is used.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Root seed of every draw.")] = 0,
    sets: Sets = None,
    models: Models = None,
    trust: Trust = False,
) -> None:
    """Show every prompt of a team for a unit, with its tokens; no model is called."""
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
    if found.issue:
        typer.echo(f"The run would end here: {visible(found.issue)}", err=True)
        raise typer.Exit(2)
