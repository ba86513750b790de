"""Many concurrent runs, resumable, each measured when it ends.

The same call again resumes where an earlier one stopped: what is completed or stopped stays, a
failed run stays failed unless it is to be tried again, everything else is resumed from its
durable replies.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from orglab.engine.graph.checks.cost_limit import roles_by_model
from orglab.engine.run.calls.model_registry import ModelRegistries
from orglab.engine.run.engine import run_team
from orglab.engine.run.outcome import Outcome
from orglab.engine.run.run_plan import RunPlan
from orglab.engine.study.batch.batch import Arm, Batch, BatchTally, PlannedRun, Progress
from orglab.engine.study.batch.budget import budget_of, refuse_unbounded
from orglab.engine.study.batch.response_sharing import sharing_of
from orglab.engine.study.batch.run_gate import RunGate
from orglab.engine.study.evaluate.judging import Judging, RunEvaluator
from orglab.engine.tools.file_cache import vectors_file
from orglab.engine.tools.source_pool import SourcePool
from orglab.providers.base import Interrupted, Provider
from orglab.providers.registry import load_plugin
from orglab.results.records import RunStatus
from orglab.results.store.journal.run_journal import RunJournal, RunTotals
from orglab.results.store.store import Store

MOST_AT_ONCE = 64
"""Runs under way at once, unless models have room for fewer or the user says otherwise."""
MOST_HOSTED_AT_ONCE = 512
"""The same where a server is asked: its answers take seconds, and a run that waits costs nothing."""
BEGUN_TOGETHER = 8
"""Runs that are begun before other tasks of the event loop may run."""
RUNS_A_SLOT = 4
"""Runs under way for each call that the models take at once: none waits while others write."""


def _quiet(_: BatchTally) -> None:
    """No progress."""


def room(batch: Batch) -> int:
    """Return how many runs are worth having under way at once in one process."""
    slots, most = 0, MOST_AT_ONCE
    models = {
        alias: model for arm in batch.arms for alias, model in arm.team.topology.models.items()
    }
    for alias, model in models.items():
        given = batch.providers.get(alias) or batch.providers.get("*")
        kind: Provider | type[Provider] = given or load_plugin("orglab.providers", model.provider)
        slots += model.max_concurrency or kind.default_concurrency
        most = most if kind.free else MOST_HOSTED_AT_ONCE
    return max(1, min(most, RUNS_A_SLOT * slots))


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """How a run ended, as far as a batch needs to know.

    Attributes:
        status: ``completed``, ``stopped`` or ``failed``.
        reason: What stopped or failed it; "" when completed.
        answer: Id of the answer, None unless completed.
        last: Id of the last output of an output role.
        turns: Turns taken.
        loops: Verdicts that obliged, and uses of closing links.
        tokens: Tokens used.
        cost_usd: US dollars of calls whose price is known.
        seconds: Seconds on the critical path.
    """

    status: Literal["completed", "stopped", "failed"]
    reason: str
    answer: str | None
    last: str | None
    turns: int
    loops: int
    tokens: int
    cost_usd: float
    seconds: float

    @classmethod
    def of(cls, outcome: Outcome) -> Ending:
        """Return the ending of an outcome."""
        names = ("status", "reason", "turns", "loops", "tokens", "cost_usd", "seconds")
        return cls(
            answer=outcome.answer.id if outcome.answer else None,
            last=outcome.last.id if outcome.last else None,
            **{name: getattr(outcome, name) for name in names},
        )


class BatchRun:
    """A batch under way in this process, by ``run_batch``; a cluster's client overrides its parts.

    Args:
        batch: What is to be run.
        store: The study's store, open for writing.
        progress: Called after each run.
        stop: Set it to stop.
    """

    def __init__(
        self,
        batch: Batch,
        store: Store,
        progress: Progress | None = None,
        stop: asyncio.Event | None = None,
    ) -> None:
        refuse_unbounded(batch.max_cost, batch.teams)
        self.batch, self.store = batch, store
        self.progress, self.stop = progress or _quiet, stop or asyncio.Event()
        self.sources = SourcePool()
        self.registries = ModelRegistries(batch.providers, store.add_limit_change)
        self.budget = budget_of(batch.max_cost, store)
        planned = len(batch.units) * batch.replicates * len(batch.arms)
        self.tally = BatchTally(planned=planned, teams=len(batch.arms), budget=self.budget)
        self.sharing = sharing_of(
            store, arms=batch.share_prefix, kept=batch.kept, report=self.tally.warnings.append
        )
        self.plans = {
            arm.name: RunPlan(arm.team, self.registries.of(arm.team.topology.models), self.sources)
            for arm in batch.arms
        }
        self.run_evaluators = {
            arm.name: RunEvaluator(
                self._judging(arm), arm.team.topology.evaluators, retry=batch.retry_failed
            )
            for arm in batch.arms
        }
        self.statuses: Mapping[str, RunStatus] = store.statuses()
        self.issue: Exception | None = None
        self._found_in_store = 0
        self._ready = False

    def _judging(self, arm: Arm) -> Judging:
        return Judging(
            topology=arm.team.topology,
            store=self.store,
            registries=self.registries,
            seed=self.batch.seed,
            arm="" if self.batch.share_prefix else arm.key,
            sharing=self.sharing,
            budget=self.budget,
            closed=self._closed,
        )

    async def run(self) -> BatchTally:
        """Run what is not done yet."""
        token = vectors_file.set(self.store.path.parent / "vectors.duckdb")
        try:
            return await self._run()
        finally:
            vectors_file.reset(token)

    async def _run(self) -> BatchTally:
        for arm in self.batch.arms:
            topology = arm.team.topology
            self.store.add_spec(
                topology.hash, kind="topology", name=topology.name, normal=topology.normal
            )
        try:
            await self._run_all(self.batch.planned())
        finally:
            await self.registries.aclose()
            await self.sources.aclose()
            if self.sharing is not None:
                self.sharing.close()
                self.tally.reused = self.sharing.reused
                self.tally.reused_usd = self.sharing.reused_usd
        if self.issue is not None:
            raise self.issue
        if self.statuses:
            self.tally.others = self._others()
        self.tally.interrupted = self.stop.is_set()
        return self.tally

    def _others(self) -> int:
        """Return runs in the study that are not of this batch."""
        if self.tally.done == self.tally.planned:
            return len(self.statuses) - self._found_in_store
        return len(self.statuses.keys() - {run.id for run in self.batch.planned()})

    async def _run_all(self, waiting: Iterator[PlannedRun]) -> None:
        at_once = min(self.batch.at_once or room(self.batch), max(1, self.tally.planned))
        async with asyncio.TaskGroup() as group:
            for begun in range(at_once):
                group.create_task(self._work(waiting))
                if begun % BEGUN_TOGETHER == BEGUN_TOGETHER - 1:
                    await asyncio.sleep(0)  # the first calls leave while later runs are prepared

    def _stopping(self) -> bool:
        over = self.budget is not None and self.budget.reached
        return over or self.stop.is_set() or self.issue is not None

    async def _work(self, waiting: Iterator[PlannedRun]) -> None:
        for planned in waiting:
            if self._stopping():
                return
            try:
                await self._run_one(planned)
            except Exception as error:  # noqa: BLE001 - raised again when the others' replies are kept
                self.issue = self.issue or error
                return
            self.progress(self.tally)

    async def _run_one(self, planned: PlannedRun) -> None:
        status = self.statuses.get(planned.id)
        self._found_in_store += status is not None
        if status in ("completed", "stopped") or (
            status == "failed" and not self.batch.retry_failed
        ):
            counted = "failed" if status == "failed" else "kept"
            setattr(self.tally, counted, getattr(self.tally, counted) + 1)
            await self._evaluate(planned)
            return
        if status == "failed":
            self.store.reopen(planned.id)
        self.tally.resumed += status is not None
        await self._execute(planned)

    async def _execute(self, planned: PlannedRun) -> None:
        topology = planned.arm.team.topology
        unit = planned.unit
        journal = self.store.open_run(
            planned.id,
            arm=planned.arm.name,
            unit=unit.id,
            inputs=unit.inputs,
            extra=unit.extra,
            replicate=planned.replicate,
            seed=self.batch.seed,
            spec_hash=topology.hash,
            order=planned.order,
        )
        ending = await self._ending(planned, journal)
        if ending is not None:
            await self.store.finish(
                planned.id,
                status=ending.status,
                reason=ending.reason,
                answer=ending.answer,
                last=ending.last,
                seconds=ending.seconds,
            )
            await self._evaluate(planned)
            self._count(ending, journal.totals)

    async def _ending(self, planned: PlannedRun, journal: RunJournal) -> Ending | None:
        """Return how a run ended; None where it was interrupted."""
        gate = RunGate(journal, self._stopping, self.budget, self._closed)
        before = journal.asked_again
        try:
            return await self._ending_of(planned, journal, gate)
        except Interrupted:
            if not self._stopping():
                self.stop.set()  # who answers said so: a person at the terminal
            await gate.settle()
            self.store.leave(planned.id)
            return None
        except Exception:
            await gate.settle()
            self.store.leave(planned.id)
            raise
        finally:
            self.tally.asked_again += journal.asked_again - before

    def _make_providers(self) -> None:
        """Make the providers of all arms before the first call, so that a missing key costs nothing.

        Raises:
            ValueError: A provider refuses a model's entry.
        """
        if self._ready:
            return
        for arm in {run.arm.name: run.arm for run in self._undone()}.values():
            for alias in roles_by_model(arm.team.topology):
                self.plans[arm.name].registry.bound_model(alias)
        self._ready = True

    def _undone(self) -> Iterator[PlannedRun]:
        """Return runs to be played, until there is one of each arm."""
        arms: set[str] = set()
        for planned in self.batch.planned():
            if len(arms) == len(self.batch.arms):
                return
            status = self.statuses.get(planned.id, "running")
            if status == "running" or (status == "failed" and self.batch.retry_failed):
                arms.add(planned.arm.name)
                yield planned

    def _closed(self, reason: str) -> None:
        """Stop after an account refuses us: further calls would each fail a run."""
        if not self.stop.is_set():
            self.tally.warnings.append(
                f"Stopped: no call of this account can be answered ({reason}). After the account is "
                "usable again, the same command with --retry-failed resumes the runs."
            )
        self.stop.set()

    async def _ending_of(
        self,
        planned: PlannedRun,
        journal: RunJournal,  # noqa: ARG002 - whoever executes it elsewhere sends what it holds
        gate: RunGate,
    ) -> Ending:
        self._make_providers()
        outcome = await run_team(
            self.plans[planned.arm.name],
            planned.unit,
            seed=self.batch.seed,
            journal=gate,
            replicate=planned.replicate,
            arm="" if self.batch.share_prefix else planned.arm.key,
            sharing=self.sharing,
        )
        return Ending.of(outcome)

    async def _evaluate(self, planned: PlannedRun) -> None:
        run_evaluator = self.run_evaluators[planned.arm.name]
        await run_evaluator.evaluate(planned.id, planned.unit, planned.replicate, self._stopping)

    def _count(self, ending: Ending, used: RunTotals) -> None:
        tally = self.tally
        setattr(tally, ending.status, getattr(tally, ending.status) + 1)
        tally.turns += ending.turns
        tally.loops += ending.loops
        tally.tokens += ending.tokens - used.shared_tokens
        tally.cost_usd += ending.cost_usd - used.shared_usd
        tally.unpriced += used.unpriced - used.shared_unpriced
