"""Experiments and sweeps from Python: what ``orglab run FILE`` does, as a function."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from orglab.api import Study
from orglab.engine.study.batch.runner import Batch, Progress, refuse_unbounded, run_batch
from orglab.engine.study.batch.study_folder import (
    experiment_batch,
    experiment_folder,
    in_here,
    open_experiment,
)
from orglab.engine.study.experiment.load import guard, kind_of, load_experiment
from orglab.engine.study.experiment.tool_drift import refuse_changed_tools
from orglab.engine.study.sweep.load import load_sweep
from orglab.engine.study.sweep.study_folder import open_sweep, sweep_batch, sweep_folder
from orglab.providers.base import JSON, Provider
from orglab.results.store.response_cache import kept_calls_file
from orglab.results.store.store import Store

__all__ = ["run_experiment"]

Opened: TypeAlias = tuple[Batch, Path, Callable[[Path], Store]]


def run_experiment(
    path: Path | str,
    *,
    seed: int | None = None,
    replicates: int | None = None,
    overrides: Mapping[str, JSON] | None = None,
    models: Path | str | None = None,
    out: Path | str | None = None,
    retry_failed: bool = False,
    providers: Mapping[str, Provider] | None = None,
    max_cost: float | None = None,
    cache: bool = True,
    progress: Progress | None = None,
    report: bool = True,
    trust: bool = False,
) -> Study:
    """Runs an experiment or a sweep and writes its report; the same call again goes on where it stopped.

    Args:
        path: The document.
        seed: A root seed in place of the document's.
        replicates: Runs of each unit under each arm, in place of the document's.
        overrides: Values by path, set in every arm.
        models: A catalogue in place of every arm's models.
        out: The study's folder; default ``runs/NAME-HASH``.
        retry_failed: Failed runs are tried again.
        providers: Providers in place of the specs', by alias; ``*`` serves any other.
        max_cost: US dollars that the study may cost in all, judges included.
        cache: Replies that other studies beside this one paid for are taken from them.
        progress: Called after each run.
        report: Write the report into the study's folder once all has ended.
        trust: What the specs name may be run: Python functions, MCP servers.

    Raises:
        SpecError: A document has faults; all of them.
        UndeclaredDifference: Arms differ beyond the treatment.
        StoreError: The study cannot be written, or holds runs of another one.
        ValueError: ``max_cost`` is given, and nobody knows what a call may cost; or the document is a team.
    """
    asked: dict[str, JSON] = {
        "overrides": overrides,
        "seed": seed,
        "replicates": replicates,
        "trust": trust,
    }
    asked["models"] = Path(models) if models is not None else None
    batch, folder, opened = _loaded(Path(path), asked)
    place = Path(out) if out is not None else in_here(folder)
    if out is None:
        refuse_changed_tools(place, [arm.team for arm in batch.arms])
    batch = replace(
        batch,
        retry_failed=retry_failed,
        providers=providers or {},
        max_cost=max_cost,
        kept=kept_calls_file(place) if cache else None,
    )
    refuse_unbounded(batch)
    study = _outside_loops(partial(_run, batch, place, opened, progress))
    return _reported(study) if report and study.tally.done == study.tally.planned else study


def _reported(study: Study) -> Study:
    # Here, so that who wants no report does not pay for SciPy and Matplotlib.
    from orglab.results.report.write import write_report

    write_report(study.folder)
    return study


def _loaded(path: Path, asked: Mapping[str, JSON]) -> Opened:
    """The runs, the default folder, and what opens the study; the guard has passed."""
    kind = kind_of(path)
    if kind == "sweep":
        sweep = load_sweep(path, **asked)
        if sweep.experiment is not None:
            guard(sweep.experiment)
        return sweep_batch(sweep), sweep_folder(sweep), lambda place: open_sweep(place, sweep)
    if kind != "experiment":
        raise ValueError(f"{path} is no experiment and no sweep: orglab.run plays a team")
    experiment = load_experiment(path, **asked)
    guard(experiment)
    batch = experiment_batch(experiment)
    return batch, experiment_folder(experiment), lambda place: open_experiment(place, experiment)


def _run(
    batch: Batch, place: Path, opened: Callable[[Path], Store], progress: Progress | None
) -> Study:
    store = opened(place)
    try:
        tally = asyncio.run(run_batch(batch, store, progress=progress))
    finally:
        store.close()
    return Study(folder=place, tally=tally, runs=tuple(each.id for each in batch.planned()))


def _outside_loops(work: Callable[[], Study]) -> Study:
    """What ``work`` gives, also where an event loop runs already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(work).result()
