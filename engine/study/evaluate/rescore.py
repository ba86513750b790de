"""Scoring stored runs again, or with new evaluators, without running them again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from orglab.engine.run.calls.model_registry import ModelRegistries
from orglab.engine.run.outcome import Unit
from orglab.engine.spec.build import build
from orglab.engine.spec.compose.sources import Sources
from orglab.engine.spec.compose.subteams import role_paths
from orglab.engine.spec.errors import Problem, SpecError, SpecPath
from orglab.engine.spec.model import EvaluatorUse, Topology
from orglab.engine.spec.plugin_settings import PluginCheck, evaluator_places, spread
from orglab.engine.spec.validate.path_confinement import FileRefused, confined_file
from orglab.engine.spec.validate.schema_errors import shape_problems
from orglab.engine.spec.yaml.source_map import Marks, Place
from orglab.engine.study.batch.budget import Budget
from orglab.engine.study.batch.preflight import preflight_problems
from orglab.engine.study.batch.response_sharing import sharing_of
from orglab.engine.study.evaluate.judging import Judging, RunEvaluator
from orglab.engine.study.experiment.document_loading import DocumentLoading, LoadOptions
from orglab.engine.tools.file_cache import vectors_file
from orglab.providers.base import JSON
from orglab.results.report.experiment.plan_history import sweep_plan
from orglab.results.store.reader import RunRow
from orglab.results.store.store import Store

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
    reading = _Reading(path, LoadOptions(trust=trust))
    uses = reading.uses(roles)
    reading.refuse(preflight_problems(uses, sample, path.parent.resolve(), trust=trust))
    return uses


class _Reading(DocumentLoading[list[EvaluatorUse]]):
    def uses(self, roles: Collection[str]) -> list[EvaluatorUse]:
        """Return the evaluators, short forms spread out, files relative to the document's folder.

        Raises:
            SpecError: One is wrong; all errors.
        """
        document = self.open()
        self.refuse(())
        written: JSON = None if document is None else document.data
        if document is not None and isinstance(written, list):
            self.marks = Marks(Place(document.place.mark, None, {"evaluators": document.place}))
        elif isinstance(written, dict):
            written = written.get("evaluators")
        if not isinstance(written, list) or not written:
            wrong = "expected a list of evaluators, or a map with `evaluators`"
            self.refuse([Problem(path=(), wrong=wrong)])
        data: dict[str, JSON] = {"evaluators": written, "roles": dict.fromkeys(roles)}
        self.refuse(
            problem
            for path, item, _ in evaluator_places(data)
            for problem in shape_problems(item, "evaluator", path)
        )
        sources = Sources(folder=self.folder)
        check = PluginCheck(marks=self.marks, sources=sources, problems=[], files={}, arguments={})
        check.document(data)
        self.refuse(check.problems)
        return [self._use(path, item, check) for path, item, _ in evaluator_places(data)]

    def refuse(self, problems: Iterable[Problem]) -> None:
        """Raise the errors so far, and these."""
        self.report(*problems)
        if self.issues:
            raise SpecError(list(self.issues))

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


# --- the runs ------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Rescoring:
    """Measures every ended run of a study with what has not measured it yet.

    Attributes:
        store: The study, open for writing.
        uses: The evaluators.
        folder: Where the files that evaluators name lie, and those of the units' inputs.
        anew: Measures again what was measured with the same arguments; judges' replies are kept
            and not requested again.
        progress: Called with the number of runs measured so far, and of all.
        stop: Set it to stop: calls under way are waited for and kept, no other is begun.
        kept: The file of the calls that studies keep for each other, or None.
        report: Called with a message about what goes wrong with that file or an account.
        trust: The evaluators may have keys sent where they say.
        budget: The study's money, of ``budget_of``; None: judges may cost anything.
    """

    store: Store
    uses: Sequence[EvaluatorUse]
    folder: Path
    anew: bool = False
    progress: Callable[[int, int], object] = lambda _done, _all: None
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    kept: Path | None = None
    report: Callable[[str], object] = str
    trust: bool = False
    budget: Budget | None = None

    def __post_init__(self) -> None:
        """Read the study's plans, by which calls are shared."""
        self.registries = ModelRegistries()
        self._topologies: dict[str, Topology] = {}
        plans = self.store.rows("SELECT hash FROM specs WHERE kind IN ('experiment', 'sweep')")
        shares = [(self.store.spec(row["hash"]) or {}).get("share_prefix") for row in list(plans)]
        self._apart = bool(shares) and True not in shares
        self._sweep = sweep_plan(self.store)
        self.sharing = sharing_of(
            self.store, arms=True in shares, kept=self.kept, report=self.report
        )
        self._done = 0
        self._issue: Exception | None = None

    async def run(self) -> int:
        """Measure the runs; return how many were looked at.

        Raises:
            StoreError: The store cannot be written.
        """
        rows = [row for row in self.store.runs() if row.status != "running"]
        waiting = iter(rows)
        token = vectors_file.set(self.store.path.parent / "vectors.duckdb")
        try:
            workers = min(AT_ONCE, len(rows))
            await asyncio.gather(*(self._work(waiting, len(rows)) for _ in range(workers)))
        finally:
            vectors_file.reset(token)
            await self.registries.aclose()
            if self.sharing is not None:
                self.sharing.close()
        if self._issue is not None:
            raise self._issue
        return self._done

    async def _work(self, waiting: Iterator[RunRow], every: int) -> None:
        for row in waiting:
            if self.stopping() or self._issue is not None:
                return
            try:
                await self._evaluate(row)
            except Exception as error:  # noqa: BLE001 - raised when the others' replies are kept
                self._issue = self._issue or error
                return
            if self.stopping():
                return
            self._done += 1
            self.progress(self._done, every)

    def stopping(self) -> bool:
        """No other call is to be begun."""
        return self.stop.is_set() or (self.budget is not None and self.budget.reached)

    def _closed(self, reason: str) -> None:
        """Stop after a judge's account refuses us."""
        if not self.stop.is_set():
            self.report(f"Stopped: no call of this account can be answered ({reason}).")
        self.stop.set()

    async def _evaluate(self, row: RunRow) -> None:
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
