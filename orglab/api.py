"""The Python API: what the command line does, as functions."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from orglab.engine.graph.check import check_file
from orglab.engine.graph.team import Team
from orglab.engine.run.outcome import Unit
from orglab.engine.spec.errors import SpecIssue
from orglab.engine.study.batch.batch import Batch, BatchTally, Progress
from orglab.engine.study.batch.executor import run_batch
from orglab.engine.study.batch.study_folder import load_team
from orglab.engine.study.batch.units import UnitError, read_units, unit_of
from orglab.providers.base import JSON, Provider
from orglab.results.records import RunRecord, Score
from orglab.results.store.reader import Reader
from orglab.results.store.store import Store
from orglab.run_request import RunRequest, document_request, team_request


def check(
    path: Path | str,
    *,
    overrides: Mapping[str, JSON] | None = None,
    models: Path | str | None = None,
    trust: bool = False,
) -> list[SpecIssue]:
    """Return every error of a spec; an empty list where it is sound.

    Args:
        path: The spec.
        overrides: Values by path, such as ``{"links.oversight.cap": 0}``.
        models: A catalogue in place of the spec's models.
        trust: What the spec names may be run: Python functions, MCP servers.
    """
    return list(
        check_file(Path(path), overrides=overrides, models=_path(models), trust=trust).issues
    )


def load(
    path: Path | str,
    *,
    overrides: Mapping[str, JSON] | None = None,
    models: Path | str | None = None,
    trust: bool = False,
) -> Team:
    """Return a spec, loaded, checked and compiled.

    Args:
        path: The spec.
        overrides: Values by path, such as ``{"links.oversight.cap": 0}``.
        models: A catalogue in place of the spec's models.
        trust: What the spec names may be run: Python functions, MCP servers.

    Raises:
        SpecError: It has errors; ``errors`` holds all of them.
    """
    return load_team(Path(path), overrides=overrides, models=_path(models), trust=trust)


@dataclass(frozen=True, kw_only=True)
class Study:
    """A study on disk, after a batch.

    Attributes:
        folder: Where it lies; it may hold runs of other units, replicates and seeds as well.
        tally: How the batch went.
        runs: Ids of the runs that were asked for, in their order.
    """

    folder: Path
    tally: BatchTally
    runs: tuple[str, ...] = ()

    def records(self) -> Iterator[RunRecord]:
        """Yield every run that was asked for, whole, one after another."""
        with Reader(self.folder) as reader:
            known = reader.statuses()
            for run in self.runs:
                if run in known:
                    yield reader.record(run)

    def scores(self) -> Iterator[tuple[str, Score]]:
        """Yield every score of a run that was asked for, with the run's id."""
        with Reader(self.folder) as reader:
            known = reader.statuses()
            for run in self.runs:
                for score in reader.scores(run) if run in known else ():
                    yield run, score


def run(
    team: Team | Path | str,
    *,
    inputs: Mapping[str, JSON] | None = None,
    units: Path | str | Sequence[Unit] | None = None,
    replicates: int = 1,
    seed: int = 0,
    out: Path | str | None = None,
    retry_failed: bool = False,
    providers: Mapping[str, Provider] | None = None,
    at_once: int | None = None,
    cache: bool = True,
    progress: Progress | None = None,
    on: str | None = None,
    trust: bool = False,
) -> Study:
    """Run a team and keeps everything; the same call again resumes where it stopped.

    Args:
        team: A compiled team, or the path of a spec.
        inputs: The inputs of one unit; a file input is a path.
        units: A file of units, or units; in place of ``inputs``.
        replicates: Runs of each unit.
        seed: The root seed of every draw.
        out: The study's folder; default ``runs/NAME-HASH``.
        retry_failed: Failed runs are tried again.
        providers: Providers in place of the spec's, by alias; ``*`` serves any other.
        at_once: Runs under way at once.
        cache: Replies that other studies beside this one paid for are taken from them, and this
            one's are kept for others; not those of simulated or scripted models.
        progress: Called after each run.
        on: A Dask cluster: the address of its scheduler, or ``local:N``; None: this process.
        trust: What a spec names may be run: Python functions, MCP servers.

    Raises:
        SpecError: The spec has errors.
        UnitError: The units do not fit the team's inputs.
        StoreError: The study cannot be written, or holds runs of another spec.
        ClusterError: The cluster cannot be reached, or its workers have another orglab.
    """
    work = run_async(
        team,
        inputs=inputs,
        units=units,
        replicates=replicates,
        seed=seed,
        out=out,
        retry_failed=retry_failed,
        providers=providers,
        at_once=at_once,
        cache=cache,
        progress=progress,
        on=on,
        trust=trust,
    )
    return _outside_loops(lambda: asyncio.run(work))


async def run_async(
    team: Team | Path | str,
    *,
    inputs: Mapping[str, JSON] | None = None,
    units: Path | str | Sequence[Unit] | None = None,
    replicates: int = 1,
    seed: int = 0,
    out: Path | str | None = None,
    retry_failed: bool = False,
    providers: Mapping[str, Provider] | None = None,
    at_once: int | None = None,
    cache: bool = True,
    progress: Progress | None = None,
    stop: asyncio.Event | None = None,
    on: str | None = None,
    trust: bool = False,
) -> Study:
    """``run`` for who has an event loop already; set ``stop`` to stop cleanly."""
    compiled = team if isinstance(team, Team) else load(team, trust=trust)
    request = team_request(
        compiled, _units(compiled, inputs, units), replicates=replicates, seed=seed
    )
    folder, batch = request.prepared(
        _path(out),
        cache=cache,
        retry_failed=retry_failed,
        providers=providers or {},
        at_once=at_once,
    )
    store = request.open(folder)
    return await _run_and_close(batch, store, folder, on=on, progress=progress, stop=stop)


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
    """Run an experiment or a sweep and writes its report; the same call again resumes where it stopped.

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
        SpecError: A document has errors; all of them.
        UndeclaredDifference: Arms differ beyond the treatment.
        StoreError: The study cannot be written, or holds runs of another one.
        ValueError: ``max_cost`` is given, and nobody knows what a call may cost; or the document is a team.
    """
    request = document_request(
        Path(path),
        overrides=overrides,
        models=_path(models),
        seed=seed,
        replicates=replicates,
        trust=trust,
    )
    folder, batch = request.prepared(
        _path(out),
        cache=cache,
        retry_failed=retry_failed,
        providers=providers or {},
        max_cost=max_cost,
    )
    study = _outside_loops(lambda: _run_study(request, batch, folder, progress))
    if report and study.tally.done == study.tally.planned:
        from orglab.results.report.write import write_report  # needs SciPy and Matplotlib

        write_report(study.folder)
    return study


def _run_study(request: RunRequest, batch: Batch, folder: Path, progress: Progress | None) -> Study:
    store = request.open(folder)  # compares the arms' prompts in an event loop of its own
    return asyncio.run(_run_and_close(batch, store, folder, progress=progress))


async def _run_and_close(
    batch: Batch,
    store: Store,
    folder: Path,
    *,
    on: str | None = None,
    progress: Progress | None = None,
    stop: asyncio.Event | None = None,
) -> Study:
    try:
        tally = await run_batch(batch, store, on=on, progress=progress, stop=stop)
    finally:
        store.close()
    return Study(folder=folder, tally=tally, runs=tuple(run.id for run in batch.planned()))


def _path(given: Path | str | None) -> Path | None:
    return Path(given) if given is not None else None


def _outside_loops(work: Callable[[], Study]) -> Study:
    """Return ``work()``; in a thread where an event loop runs already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(work).result()


def _units(
    team: Team, inputs: Mapping[str, JSON] | None, units: Path | str | Sequence[Unit] | None
) -> Sequence[Unit]:
    if units is None:
        return [unit_of(inputs or {}, team.topology)]
    if isinstance(units, str | Path):
        return read_units(Path(units), team.topology)
    twice = [name for name, often in Counter(unit.id for unit in units).items() if often > 1]
    if twice:
        raise UnitError([f"the unit {name!r} is given more than once" for name in twice])
    return units
