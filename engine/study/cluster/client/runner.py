"""A batch on a cluster: as in one process, but for who executes the runs."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from orglab.engine.run.calls.call_key import digest
from orglab.engine.study.batch.batch import Batch, PlannedRun, Progress
from orglab.engine.study.batch.run_gate import RunGate
from orglab.engine.study.batch.runner import BatchRun, Ending, room
from orglab.engine.study.cluster.client.bundle import Bundle, BundledArm, unit_form
from orglab.engine.study.cluster.client.worker_connection import (
    DispatchedRun,
    LimitBroker,
    StudyServices,
)
from orglab.engine.study.cluster.client.worker_pool import StudyContext, WorkerPool, plugins_used
from orglab.engine.study.cluster.errors import ClusterError, RunLost
from orglab.results.store.journal.run_journal import RunJournal
from orglab.results.store.store import Store

if TYPE_CHECKING:
    from distributed import Client

_LOCAL: Final = re.compile(r"local:([1-9]\d{0,3})")
_SCHEDULER: Final = re.compile(r"(tcp|tls|ucx|ws|wss|inproc)://\S+")
_CONNECT_SECONDS: Final = 15


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterAddress:
    """A cluster.

    Attributes:
        scheduler: The address of its scheduler; "" for worker processes of this machine.
        workers: How many of these.
    """

    scheduler: str = ""
    workers: int = 0


def address_of(text: str) -> ClusterAddress:
    """Read what was typed.

    Raises:
        ClusterError: It is no address of a cluster.
    """
    local = _LOCAL.fullmatch(text)
    if local:
        return ClusterAddress(workers=int(local[1]))
    if _SCHEDULER.fullmatch(text):
        return ClusterAddress(scheduler=text)
    raise ClusterError(
        f"{text!r} is not a cluster address: expected a Dask scheduler such as "
        "tcp://10.0.0.1:8786, or local:4 for four worker processes of this machine"
    )


@asynccontextmanager
async def connected(address: ClusterAddress) -> AsyncIterator[Client]:
    """Return a client of the cluster; worker processes of this machine are started, and ended again.

    Raises:
        ClusterError: Dask is not installed, or the scheduler cannot be reached.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError as missing:
        raise ClusterError("--on needs Dask: pip install 'orglab[dask]'") from missing
    if address.workers:
        async with (
            LocalCluster(
                n_workers=address.workers,
                threads_per_worker=1,
                processes=True,
                memory_limit=0,
                dashboard_address=":0",  # any port: 8787 may be taken
                silence_logs=logging.CRITICAL,
                asynchronous=True,
            ) as cluster,
            Client(cluster, asynchronous=True, set_as_default=False) as client,
        ):
            yield client
        return
    try:
        client = await Client(
            address.scheduler,
            asynchronous=True,
            set_as_default=False,
            timeout=_CONNECT_SECONDS,
        )
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        raise ClusterError(f"no scheduler responds at {address.scheduler}: {error}") from error
    try:
        yield client
    finally:
        await client.close()


MOST_LOST = 5
"""So often a run is given to another worker; then it may be what kills them."""
AT_TERMINAL = "human"


def _refuse_local_providers(batch: Batch) -> None:
    if batch.providers:
        raise ClusterError(
            "providers given as objects cannot be sent to workers: declare models in specs"
        )
    models = [model for arm in batch.arms for model in arm.team.topology.models.values()]
    if any(model.provider == AT_TERMINAL for model in models):
        raise ClusterError("the provider `human` needs a terminal: run without --on")


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
            f"the last time because {reason}: the run may be what ends the workers"
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
    workers = "1 worker was" if lost == 1 else f"{lost} workers were"
    return f"{workers} lost during runs: other workers resumed them."
