"""A batch on a cluster: as in one process, but for who executes the runs."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

from orglab.engine.run.calls.call_key import digest
from orglab.engine.study.batch.batch import Batch, PlannedRun, Progress
from orglab.engine.study.batch.run_gate import RunGate
from orglab.engine.study.batch.runner import BatchRun, Ending, room
from orglab.engine.study.cluster.client.address import address_of, connected
from orglab.engine.study.cluster.client.bundle import Bundle, BundledArm, unit_form
from orglab.engine.study.cluster.client.limit_broker import LimitBroker
from orglab.engine.study.cluster.client.version_check import plugins_used
from orglab.engine.study.cluster.client.worker_connection import DispatchedRun, StudyServices
from orglab.engine.study.cluster.client.worker_pool import StudyContext, WorkerPool
from orglab.engine.study.cluster.errors import ClusterError, RunLost
from orglab.results.store.journal.run_journal import RunJournal
from orglab.results.store.store import Store

__all__ = ["ClusterRun"]


MOST_LOST = 5
"""So often a run is given to another worker; then it may be what kills them."""
AT_TERMINAL = "human"


def _refuse_local_providers(batch: Batch) -> None:
    if batch.providers:
        raise ClusterError(
            "models given as objects cannot travel to workers: declare them in specs"
        )
    models = [model for arm in batch.arms for model in arm.team.topology.models.values()]
    if any(model.provider == AT_TERMINAL for model in models):
        raise ClusterError("a person answers at the terminal of one process: run without --on")


class ClusterRun(BatchRun):
    """A batch whose runs are executed by the workers of a Dask cluster.

    Args:
        batch: What is to be run; its models are those of the specs.
        store: The study's store, open for writing. This process is the only one that writes it.
        progress: Called after each run.
        stop: Set it to stop.
        on: The address of a Dask scheduler, or ``local:N`` for N worker processes of this machine.

    Raises:
        ClusterError: There is no such cluster.
    """

    def __init__(
        self,
        batch: Batch,
        store: Store,
        progress: Progress | None,
        stop: asyncio.Event | None,
        *,
        on: str,
    ) -> None:
        self._address = address_of(on)
        _refuse_local_providers(batch)
        super().__init__(batch, store, progress, stop)
        self._bundle = Bundle()
        self._arms = {
            arm.name: BundledArm(
                arm=arm, bundle=self._bundle, scope="" if batch.share_prefix else arm.key
            )
            for arm in batch.arms
        }
        self._numbers = {arm.name: number for number, arm in enumerate(batch.arms)}
        self._dispatched = 0
        self._working: set[asyncio.Task[None]] = set()
        self._pool: WorkerPool | None = None

    async def _run_all(self, waiting: Iterator[PlannedRun]) -> None:
        async with connected(self._address) as client:
            grown = asyncio.Event()
            async with WorkerPool(client, self._study(), grown.set) as pool:
                self._pool = pool
                try:
                    await self._run_as_workers_come(waiting, pool, grown)
                finally:
                    if pool.lost:
                        self.tally.warnings.append(_lost_workers_warning(pool.lost))

    def _study(self) -> StudyContext:
        limits = LimitBroker(self.registries.lines)
        services = StudyServices(
            bundle=self._bundle,
            arms=list(self._arms.values()),
            limits=limits,
            sharing=self.sharing,
        )
        return StudyContext(
            name=digest(str(self.store.path.resolve()), socket.gethostname()),
            attempt=self.store.session,
            seed=self.batch.seed,
            services=services,
            used=plugins_used(self.batch.arms),
            room=room(self.batch),
            same_machine=self._address.workers > 0,
            stopping=self._stopping,
        )

    async def _run_as_workers_come(
        self, waiting: Iterator[PlannedRun], pool: WorkerPool, grown: asyncio.Event
    ) -> None:
        """Work on as many runs at once as the workers have room for, as they come and go."""
        growing = asyncio.create_task(grown.wait())
        stopping = asyncio.create_task(self.stop.wait())
        self._start_more(waiting, pool)
        try:
            while self._working:
                await asyncio.wait(
                    [*self._working, growing, stopping], return_when=asyncio.FIRST_COMPLETED
                )
                if growing.done():
                    grown.clear()
                    growing = asyncio.create_task(grown.wait())
                    self._start_more(waiting, pool)
                if stopping.done():
                    pool.stop()
                    stopping = asyncio.create_task(asyncio.Event().wait())
        finally:
            for task in (growing, stopping, *self._working):
                task.cancel()
            await asyncio.gather(growing, stopping, *self._working, return_exceptions=True)

    def _start_more(self, waiting: Iterator[PlannedRun], pool: WorkerPool) -> None:
        wanted = self.batch.at_once or max(1, pool.room + pool.room // 4)
        for _ in range(min(wanted, self.tally.planned) - len(self._working)):
            task = asyncio.create_task(self._work(waiting))
            self._working.add(task)
            task.add_done_callback(self._working.discard)

    async def _execute(self, planned: PlannedRun) -> None:
        reason = ""
        for _ in range(MOST_LOST):
            try:
                return await super()._execute(planned)
            except RunLost as lost:
                reason = str(lost)
        raise ClusterError(
            f"a run (unit {planned.unit.id}, arm {planned.arm.name}) was lost {MOST_LOST} times, "
            f"the last time because {reason}: it may be what ends the workers"
        )

    async def _ending_of(self, planned: PlannedRun, journal: RunJournal, gate: RunGate) -> Ending:
        assert self._pool is not None, "runs are dispatched while there is a pool"
        arm = self._arms[planned.arm.name]
        self._dispatched += 1
        dispatched = DispatchedRun(
            number=self._dispatched,
            planned=planned,
            journal=journal,
            gate=gate,
            form={
                "arm": self._numbers[planned.arm.name],
                "replicate": planned.replicate,
                "resumes": bool(journal.earlier),
                "files": arm.files_of(planned.unit),
                "unit": unit_form(planned.unit, self._bundle),
            },
        )
        await self._pool.dispatch(dispatched)
        return dispatched.ended.result()


def _lost_workers_warning(lost: int) -> str:
    workers = "1 worker went" if lost == 1 else f"{lost} workers went"
    return f"{workers} while runs were under way: others went on with them."
