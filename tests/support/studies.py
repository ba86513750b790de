"""Studies run by tests: files written, experiments run on a provider, rows read back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Unpack

from orglab.engine.run.outcome import Unit
from orglab.engine.spec.errors import SpecError, SpecIssue
from orglab.engine.study.batch.batch import BatchTally
from orglab.engine.study.batch.executor import run_batch
from orglab.engine.study.batch.study_folder import open_experiment
from orglab.engine.study.experiment.document_loading import LoadKeywords
from orglab.engine.study.experiment.experiment import Experiment
from orglab.engine.study.experiment.load import load_experiment
from orglab.engine.study.sweep.load import load_sweep
from orglab.providers.base import Provider
from orglab.results.store.reader import Reader

__all__ = [
    "check_experiment",
    "check_sweep",
    "query",
    "run_experiment",
    "units",
    "write_experiment",
    "write_files",
]

REPLIES = '{"role": "x", "reply": "x"}\n'


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files into a folder, and a script for the models that tests answer for."""
    for name, text in {"replies.jsonl": REPLIES, **files}.items():
        (folder / name).write_text(text, encoding="utf-8")


def write_experiment(folder: Path, files: Mapping[str, str]) -> Experiment:
    """Write files, and load `experiment.yaml` of them."""
    write_files(folder, files)
    return load_experiment(folder / "experiment.yaml")


def run_experiment(
    experiment: Experiment,
    folder: Path,
    provider: Provider | None = None,
    stop: asyncio.Event | None = None,
    **batch: Any,
) -> BatchTally:
    """Run what of an experiment is not done, with one provider for all models."""
    store = open_experiment(folder, experiment)
    providers = {} if provider is None else {"*": provider}
    try:
        made = experiment.batch(providers=providers, **batch)
        return asyncio.run(run_batch(made, store, stop=stop))
    finally:
        store.close()


def query(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    """Return rows of a study's file."""
    with Reader(folder) as reader:
        return [tuple(row) for row in reader.rows(sql)]


def units(number: int) -> list[Unit]:
    """Return units that differ in their topic."""
    return [Unit(id=f"u{n}", inputs={"topic": f"tea {n}"}, index=n) for n in range(number)]


def check_experiment(path: Path, **given: Unpack[LoadKeywords]) -> tuple[SpecIssue, ...]:
    """Return every error of an experiment and of its arms."""
    return _issues(lambda: load_experiment(path, **given))


def check_sweep(path: Path, **given: Unpack[LoadKeywords]) -> tuple[SpecIssue, ...]:
    """Return every error of a sweep and of its variants."""
    return _issues(lambda: load_sweep(path, **given))


def _issues(load: Callable[[], object]) -> tuple[SpecIssue, ...]:
    try:
        load()
    except SpecError as error:
        return tuple(error.issues)
    return ()
