"""A batch on a cluster: as in one process, but for who plays the runs."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

from orglab.engine.run.calls.call_key import digest
from orglab.engine.study.batch.run_gate import Gate
from orglab.engine.study.batch.runner import (
    Batch,
    BatchRun,
    Ending,
    Planned,
    Progress,
    Tally,
    refuse_unbounded,
    room,
)
from orglab.engine.study.cluster.client.address import Address, address_of, connected
from orglab.engine.study.cluster.client.bundle import Frozen, FrozenArm, unit_form
from orglab.engine.study.cluster.client.dispatched_run import Handed
from orglab.engine.study.cluster.client.limit_broker import Permits
from orglab.engine.study.cluster.client.version_check import plugins_used
from orglab.engine.study.cluster.client.worker_connection import Home
from orglab.engine.study.cluster.client.worker_pool import Crew, Study
from orglab.engine.study.cluster.errors import ClusterError, RunLost
from orglab.engine.tools.records.embedding_cache import vectors_file
from orglab.results.store.journal.run_journal import RunJournal
from orglab.results.store.store import Store

__all__ = ["run_on_cluster"]


MOST_LOST = 5
"""So often a run is given to another worker; then it may be what kills them."""
AT_TERMINAL = "human"


async def run_on_cluster(
    batch: Batch,
    store: Store,
    on: str,
    *,
    progress: Progress | None = None,
    stop: asyncio.Event | None = None,
) -> Tally:
    """Runs what of a batch is not done yet, on the workers of a Dask cluster.

    Args:
        batch: What is to be run; its models are those of the specs.
        store: The study's store, open for writing. This process is the only one that writes it.
        on: The address of a Dask scheduler, or ``local:N`` for N worker processes of this machine.
        progress: Called after each run.
        stop: Set it to stop: calls under way are waited for and kept, no other is begun.

    Raises:
        ClusterError: There is no such cluster; its workers have another orglab or other plugins; or
            it went. Every reply that was durable is kept.
        StoreError: The store cannot be written; nothing that is not durable was acted on.
        ValueError: A model's entry is wrong, or money is limited and a model has no largest cost.
    """
    address = address_of(on)
    refuse_unbounded(batch)
    _refuse_what_cannot_travel(batch)
    token = vectors_file.set(store.path.parent / "vectors.duckdb")
    try:
        return await _ClusterRun(batch, store, progress, stop, address=address).run()
    finally:
        vectors_file.reset(token)


def _refuse_what_cannot_travel(batch: Batch) -> None:
    if batch.providers:
        raise ClusterError(
            "models given as objects cannot travel to workers: declare them in specs"
        )
    models = [model for arm in batch.arms for model in arm.team.topology.models.values()]
    if any(model.provider == AT_TERMINAL for model in models):
        raise ClusterError("a person answers at the terminal of one process: run without --on")


class _ClusterRun(BatchRun):
    def __init__(
        self,
        batch: Batch,
        store: Store,
        progress: Progress | None,
        stop: asyncio.Event | None,
        *,
        address: Address,
    ) -> None:
        super().__init__(batch, store, progress, stop)
        self._address = address
        self._frozen = Frozen()
        self._arms = {
            arm.name: FrozenArm(
                arm=arm, frozen=self._frozen, scope="" if batch.share_prefix else arm.key
            )
            for arm in batch.arms
        }
        self._numbers = {arm.name: number for number, arm in enumerate(batch.arms)}
        self._handed = 0
        self._working: set[asyncio.Task[None]] = set()
        self._crew: Crew | None = None

    async def _all(self, waiting: Iterator[Planned]) -> None:
        async with connected(self._address) as client:
            grown = asyncio.Event()
            async with Crew(client, self._study(), grown.set) as crew:
                self._crew = crew
                try:
                    await self._many(waiting, crew, grown)
                finally:
                    if crew.lost:
                        self.tally.warnings.append(_lost_words(crew.lost))

    def _study(self) -> Study:
        permits = Permits(self.registries.lines)
        home = Home(
            frozen=self._frozen,
            arms=list(self._arms.values()),
            permits=permits,
            sharing=self.sharing,
        )
        return Study(
            name=digest(str(self.store.path.resolve()), socket.gethostname()),
            attempt=self.store.session,
            seed=self.batch.seed,
            home=home,
            used=plugins_used(self.batch.arms),
            room=room(self.batch),
            beside=self._address.workers > 0,
            stopping=self._stopping,
        )

    async def _many(self, waiting: Iterator[Planned], crew: Crew, grown: asyncio.Event) -> None:
        """Works on as many runs at once as the workers have room for, as they come and go."""
        growing = asyncio.create_task(grown.wait())
        stopping = asyncio.create_task(self.stop.wait())
        self._more(waiting, crew)
        try:
            while self._working:
                await asyncio.wait(
                    [*self._working, growing, stopping], return_when=asyncio.FIRST_COMPLETED
                )
                if growing.done():
                    grown.clear()
                    growing = asyncio.create_task(grown.wait())
                    self._more(waiting, crew)
                if stopping.done():
                    crew.stop()
                    stopping = asyncio.create_task(asyncio.Event().wait())
        finally:
            for task in (growing, stopping, *self._working):
                task.cancel()
            await asyncio.gather(growing, stopping, *self._working, return_exceptions=True)

    def _more(self, waiting: Iterator[Planned], crew: Crew) -> None:
        wanted = self.batch.at_once or max(1, crew.room + crew.room // 4)
        for _ in range(min(wanted, self.tally.planned) - len(self._working)):
            task = asyncio.create_task(self._work(waiting))
            self._working.add(task)
            task.add_done_callback(self._working.discard)

    async def _play(self, planned: Planned) -> None:
        words = ""
        for _ in range(MOST_LOST):
            try:
                return await super()._play(planned)
            except RunLost as lost:
                words = str(lost)
        raise ClusterError(
            f"a run (unit {planned.unit.id}, arm {planned.arm.name}) was lost {MOST_LOST} times, "
            f"the last time because {words}: it may be what ends the workers"
        )

    async def _played(self, planned: Planned, journal: RunJournal, gate: Gate) -> Ending:
        assert self._crew is not None, "runs are played while there is a crew"
        arm = self._arms[planned.arm.name]
        self._handed += 1
        handed = Handed(
            number=self._handed,
            planned=planned,
            journal=journal,
            gate=gate,
            form={
                "arm": self._numbers[planned.arm.name],
                "replicate": planned.replicate,
                "resumes": bool(journal.earlier),
                "files": arm.files_of(planned.unit),
                "unit": unit_form(planned.unit, self._frozen),
            },
        )
        await self._crew.play(handed)
        return handed.ended.result()


def _lost_words(lost: int) -> str:
    workers = "1 worker went" if lost == 1 else f"{lost} workers went"
    return f"{workers} while runs were under way: others went on with them."
