"""Scoring stored runs again, or with new evaluators, without running them again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from orglab.engine.run.calls.model_registry import ModelRegistries
from orglab.engine.run.engine import Unit
from orglab.engine.spec.build import build
from orglab.engine.spec.compose.sources import Sources
from orglab.engine.spec.compose.subteams import role_paths
from orglab.engine.spec.errors import Problem, SpecError, SpecIssue, SpecPath
from orglab.engine.spec.model import EvaluatorUse, Topology
from orglab.engine.spec.plugin_settings import PluginCheck, evaluator_places, spread
from orglab.engine.spec.validate.path_confinement import FileRefused, confined_file, read_limited
from orglab.engine.spec.validate.schema_errors import shape_problems
from orglab.engine.spec.yaml.reader import Document, read_bytes
from orglab.engine.spec.yaml.source_map import Mark, Marks, Place
from orglab.engine.study.batch.budget import Budget
from orglab.engine.study.batch.preflight import preflight_problems
from orglab.engine.study.batch.response_sharing import sharing_of
from orglab.engine.study.evaluate.evaluate_run import RunEvaluator
from orglab.engine.study.evaluate.judging import Judging
from orglab.engine.tools.records.embedding_cache import vectors_file
from orglab.providers.base import JSON
from orglab.results.store.reader import RunRow
from orglab.results.store.store import Store
from orglab.results.tables.sweep_plan import sweep_plan

__all__ = ["evaluators_of", "rescore", "roles_of"]

AT_ONCE = 16
"""Runs measured at once."""


def roles_of(store: Store) -> set[str]:
    """Return the roles of all teams of a study."""
    hashes = {row["spec"] for row in store.rows("SELECT DISTINCT spec FROM runs")}
    specs = [store.spec(each) for each in hashes]
    return {role for spec in specs if spec is not None for role in role_paths(spec)}


# --- the document --------------------------------------------------------------------------------


def evaluators_of(
    path: Path, roles: Collection[str], sample: Unit, *, trust: bool = False
) -> list[EvaluatorUse]:
    """Return the evaluators of a document: its ``evaluators``, or the document is the list itself.

    Args:
        path: The document; the files that it names lie in its folder.
        roles: Roles that evaluators may name.
        sample: A unit, on which it is tried whether they could do their work.
        trust: The document may have keys sent where it says.

    Raises:
        SpecError: It cannot be read, or an evaluator is wrong; all errors.
    """
    try:
        document = read_bytes(read_limited(path), str(path))
    except FileRefused as refused:
        problem = Problem(path=(), wrong=str(refused))
        raise SpecError([SpecIssue(file=str(path), line=0, column=0, problem=problem)]) from refused
    if document.issues:
        raise SpecError(document.issues)
    reading = _Reading(path, document, roles)
    uses = reading.uses()
    reading.tell(preflight_problems(uses, sample, path.parent.resolve(), trust=trust))
    return uses


class _Reading:
    def __init__(self, path: Path, document: Document, roles: Collection[str]) -> None:
        data, place = document.data, document.place
        if isinstance(data, list):
            data, place = {"evaluators": data}, Place(place.mark, None, {"evaluators": place})
        self.path, self.marks = path, Marks(place)
        self.written = data.get("evaluators") if isinstance(data, dict) else None
        self.roles = roles

    def uses(self) -> list[EvaluatorUse]:
        """Return the evaluators, short forms spread out, files relative to the document's folder.

        Raises:
            SpecError: One is wrong; all errors.
        """
        if not isinstance(self.written, list) or not self.written:
            wrong = "expected a list of evaluators, or a map with `evaluators`"
            self.tell([Problem(path=(), wrong=wrong)])
        data: dict[str, JSON] = {"evaluators": self.written, "roles": dict.fromkeys(self.roles)}
        self.tell(
            problem
            for path, item, _ in evaluator_places(data)
            for problem in shape_problems(item, "evaluator", path)
        )
        sources = Sources(folder=self.path.parent)
        check = PluginCheck(marks=self.marks, sources=sources, problems=[], files={}, arguments={})
        check.document(data)
        self.tell(check.problems)
        return [self._use(path, item, check) for path, item, _ in evaluator_places(data)]

    def _use(self, path: SpecPath, item: JSON, check: PluginCheck) -> EvaluatorUse:
        name = (spread(item) or ("", None))[0]
        plain = {k: v for k, v in check.arguments[path].items() if not k.startswith("x-")}
        named = {
            str(where[-1]) if where[-1] in plain else next(iter(plain)): self._relative(file)
            for where, file in check.files.items()
            if where[:2] == path
        }
        return EvaluatorUse(use=name, arguments={**plain, **named})

    def _relative(self, file: Path) -> str:
        return Path(os.path.relpath(file, self.path.parent.resolve())).as_posix()

    def tell(self, problems: Iterator[Problem] | Sequence[Problem]) -> None:
        """Raise what is wrong, in its place."""
        issues = [self._issue(problem) for problem in problems]
        if issues:
            raise SpecError(issues)

    def _issue(self, problem: Problem) -> SpecIssue:
        marks = self.marks
        mark: Mark = marks.key(problem.path) if problem.at_key else marks.value(problem.path)
        return SpecIssue(file=mark.file, line=mark.line, column=mark.column, problem=problem)


# --- the runs ------------------------------------------------------------------------------------


async def rescore(
    store: Store,
    uses: Sequence[EvaluatorUse],
    *,
    folder: Path,
    anew: bool = False,
    progress: Callable[[int, int], None] | None = None,
    stop: asyncio.Event | None = None,
    kept: Path | None = None,
    tell: Callable[[str], object] | None = None,
    trust: bool = False,
    budget: Budget | None = None,
) -> int:
    """Measure every ended run with what has not measured it yet.

    Args:
        store: The study, open for writing.
        uses: The evaluators.
        folder: Where the files that evaluators name lie, and those of the units' inputs.
        anew: Measures again what was measured with the same arguments; judges' replies are kept
            and not requested again.
        progress: Called with the number of runs measured so far, and of all.
        stop: Set it to stop: calls under way are waited for and kept, no other is begun.
        kept: The file of the calls that studies keep for each other, or None.
        tell: Called with a message about what goes wrong with that file.
        trust: The evaluators may have keys sent where they say.
        budget: The study's money, of ``budget_of``; None: judges may cost anything.

    Returns:
        How many runs were looked at.

    Raises:
        StoreError: The store cannot be written.
    """
    rescoring = _Rescoring(
        store, uses, folder, anew, stop or asyncio.Event(), kept, tell, trust, budget
    )
    return await _each(rescoring, progress or _nobody)


async def _each(rescoring: _Rescoring, progress: Callable[[int, int], None]) -> int:
    """Measure every ended run; how many were looked at."""
    rows = [row for row in rescoring.store.runs() if row.status != "running"]
    waiting = iter(rows)
    issues: list[Exception] = []
    done = 0

    async def work() -> None:
        nonlocal done
        for row in waiting:
            if rescoring.stopping() or issues:
                return
            try:
                await rescoring.run(row)
            except Exception as error:  # noqa: BLE001 - raised when the others' replies are kept
                issues.append(error)
                return
            if rescoring.stopping():
                return
            done += 1
            progress(done, len(rows))

    token = vectors_file.set(rescoring.store.path.parent / "vectors.duckdb")
    try:
        await asyncio.gather(*(work() for _ in range(min(AT_ONCE, len(rows)))))
    finally:
        vectors_file.reset(token)
        await rescoring.registries.aclose()
        if rescoring.sharing is not None:
            rescoring.sharing.close()
    if issues:
        raise issues[0]
    return done


def _nobody(_done: int, _all: int) -> None:
    """Tell nobody how far it has come."""


def _quiet(_: str) -> None:
    """Tell nobody."""


@dataclass
class _Rescoring:
    store: Store
    uses: Sequence[EvaluatorUse]
    folder: Path
    anew: bool
    stop: asyncio.Event
    kept: Path | None = None
    tell: Callable[[str], object] | None = None
    trust: bool = False
    budget: Budget | None = None

    def __post_init__(self) -> None:
        self.registries = ModelRegistries()
        self._topologies: dict[str, Topology] = {}
        plans = self.store.rows("SELECT hash FROM specs WHERE kind IN ('experiment', 'sweep')")
        shares = [(self.store.spec(row["hash"]) or {}).get("share_prefix") for row in list(plans)]
        self._apart = bool(shares) and True not in shares
        self._sweep = sweep_plan(self.store)
        self.sharing = sharing_of(
            self.store, arms=True in shares, kept=self.kept, tell=self.tell or _quiet
        )

    def stopping(self) -> bool:
        """No other call is to be begun."""
        return self.stop.is_set() or (self.budget is not None and self.budget.reached)

    def _closed(self, words: str) -> None:
        """An account of a judge is closed to us."""
        if not self.stop.is_set() and self.tell is not None:
            self.tell(f"Ended at once, since no call of this account can be answered ({words}).")
        self.stop.set()

    async def run(self, row: RunRow) -> None:
        """Measure one run."""
        record = self.store.record(row.id)
        judging = Judging(
            topology=self._topology(row.spec),
            store=self.store,
            registries=self.registries,
            seed=row.seed,
            arm=self._key(row) if self._apart else "",
            sharing=self.sharing,
            budget=self.budget,
            closed=self._closed,
        )
        unit = Unit(
            id=row.unit,
            inputs=record.inputs,
            extra=record.extra,
            files=self._files(judging.topology, record.inputs),
        )
        run_evaluator = RunEvaluator(judging, self.uses, anew=self.anew)
        await run_evaluator.evaluate(row.id, unit, row.replicate, self.stopping)

    def _key(self, row: RunRow) -> str:
        """Return what tells the run's calls from those of other arms, as when it was run."""
        return row.arm if self._sweep is None else self._sweep.key(row.arm, row.spec)

    def _topology(self, spec: str) -> Topology:
        if spec not in self._topologies:
            normal = self.store.spec(spec)
            if normal is None:
                raise ValueError(f"the study does not hold its spec {spec[:8]}")
            topology = build(normal, self.folder.resolve())
            self._topologies[spec] = replace(topology, trusted=self.trust)
        return self._topologies[spec]

    def _files(self, topology: Topology, inputs: Mapping[str, JSON]) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for name, declared in topology.inputs.items():
            text = inputs.get(name)
            if declared.file and isinstance(text, str):
                try:
                    found[text] = confined_file(text, folder=self.folder, root=self.folder)
                except FileRefused:
                    continue  # the evaluator that needs it says so in its record
        return found
