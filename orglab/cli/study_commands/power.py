"""``orglab power``: how many pairs an experiment needs, before anything is paid for."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from orglab.cli.options import Models, Trust
from orglab.engine.study.batch.executor import run_batch
from orglab.engine.study.batch.study_folder import open_experiment
from orglab.engine.study.experiment.experiment import Experiment, guard
from orglab.engine.study.experiment.load import judges_of, kind_of, load_experiment
from orglab.results.statistics.models.wilson import wilson

SIMULATED = frozenset({"scripted", "simulated"})
"""Providers that stand for no language model."""
EFFECTS = (0.2, 0.3, 0.42, 0.5, 0.8)
"""Effect sizes (d_z) that the table shows; 0.42 is the published study's."""


def power_of(
    file: Annotated[Path, typer.Argument(help="An experiment.")],
    simulate: Annotated[
        int, typer.Option(min=0, help="Also run so many simulated experiments, seeds apart.")
    ] = 0,
    models: Models = None,
    trust: Trust = False,
) -> None:
    """Show the pairs needed by effect size, and the power of this experiment's units.

    With --simulate the experiment is run on its simulated models, whose effect was planted by their
    profiles, and the primary tests that reject are counted. No model that is billed is ever asked.
    """
    if kind_of(file) != "experiment":
        raise ValueError(f"{file} is no experiment: power is about the pairs of one")
    experiment = load_experiment(file, models=models, trust=trust)
    guard(experiment)
    console = Console()
    pairs = len(experiment.units)
    console.print(_table(pairs))
    console.print(
        f"{pairs} units; a pair counts when both its runs complete. Two-sided paired t, alpha .05.",
        highlight=False,
    )
    if simulate:
        _refuse_billed(experiment)
        console.print(_simulated(experiment, simulate, console))


def _table(pairs: int) -> Table:
    # Here, so that no other command pays for SciPy.
    from orglab.results.statistics.tests.power import pairs_needed, power

    table = Table(
        "d_z", "pairs for 80 %", "pairs for 90 %", f"power with {pairs} pairs", title="Power"
    )
    for effect in EFFECTS:
        table.add_row(
            f"{effect:.2f}",
            str(pairs_needed(effect, 0.8)),
            str(pairs_needed(effect, 0.9)),
            f"{power(effect, pairs):.2f}" if pairs > 1 else "no test with one pair",
        )
    return table


def _refuse_billed(experiment: Experiment) -> None:
    billed = {
        f"{arm}: {alias}"
        for arm, team in experiment.arms.items()
        for alias, model in team.topology.models.items()
        if model.provider not in SIMULATED
    }
    judges = judges_of(experiment)
    billed |= {
        f"judge: {entry['provider']}" for entry in judges if entry["provider"] not in SIMULATED
    }
    if billed:
        raise ValueError(
            f"power is simulated on simulated models alone; these are not: {', '.join(sorted(billed))}"
        )


def _simulated(experiment: Experiment, number: int, console: Console) -> Table:
    hits: Counter[str] = Counter()
    tested: Counter[str] = Counter()
    for index in range(number):
        found = _one(replace(experiment, seed=experiment.seed + 1 + index))
        for outcome, p in found.items():
            tested[outcome] += p is not None
            hits[outcome] += p is not None and p < 0.05
        if not console.is_terminal and (index + 1) % max(1, number // 10) == 0:
            console.print(f"{index + 1} of {number} experiments", highlight=False)
    table = Table("primary outcome", "rejected", "of", "rate", "95 %", title="SIMULATED power")
    for outcome in tested:
        low, high = wilson(hits[outcome], number)
        rate = f"{hits[outcome] / number:.3f}"
        table.add_row(outcome, str(hits[outcome]), str(number), rate, f"{low:.3f} to {high:.3f}")
    return table


def _one(experiment: Experiment) -> dict[str, float | None]:
    """One simulated experiment: the p of each primary test, uncorrected."""
    from orglab.results.report.experiment.findings import read_findings

    with tempfile.TemporaryDirectory() as folder:
        store = open_experiment(Path(folder), experiment)
        try:
            asyncio.run(run_batch(experiment.batch(), store))
        finally:
            store.close()
        findings = read_findings(Path(folder))
    if findings.analysis is None or not findings.analysis.primary:
        raise ValueError("; ".join(findings.errors) or "the experiment declares no primary outcome")
    return {
        f"{row.outcome} ({row.arm} - {row.reference})": row.p for row in findings.analysis.primary
    }
