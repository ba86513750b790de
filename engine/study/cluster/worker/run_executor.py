"""On a worker: runs are executed as in any process, but every durable thing is the client's."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from orglab.engine.run.calls.model_registry import ModelRegistries
from orglab.engine.run.engine import run_team
from orglab.engine.run.run_plan import RunPlan
from orglab.engine.study.batch.run_gate import RunGate
from orglab.engine.study.batch.runner import Ending
from orglab.engine.study.cluster.errors import SessionGone
from orglab.engine.study.cluster.worker.bundle_loader import BundleLoader
from orglab.engine.study.cluster.worker.remote_journal import (
    RemoteJournal,
    RemoteSharing,
    entry_of,
    form_of,
)
from orglab.engine.study.cluster.worker.remote_limits import RemoteModelClients
from orglab.engine.study.cluster.worker.session import Session
from orglab.engine.tools.file_cache import vectors_file
from orglab.engine.tools.source_pool import SourcePool
from orglab.providers.base import JSON, Interrupted


class RunExecutor:
    """Plays the runs of one client on this worker.

    Args:
        session: The client.
        about: What it said of the study: ``seed``, ``shares``.
        folder: The worker's own folder.
    """

    def __init__(self, session: Session, about: Mapping[str, JSON], folder: Path) -> None:
        self._session = session
        self._about = about
        self._loader = BundleLoader(session, folder)
        self._sources = SourcePool()
        self._registries = ModelRegistries(lines=RemoteModelClients(session))
        self._sharing = RemoteSharing(session) if about["shares"] else None
        self._arms: dict[int, tuple[Mapping[str, JSON], RunPlan]] = {}
        self._making: dict[int, asyncio.Lock] = {}
        self.running: set[asyncio.Task[None]] = set()

    async def execute(self, form: Mapping[str, JSON]) -> None:
        """Execute a run, and report its end to the client.

        Raises:
            SessionGone: The client is gone, or the run is another worker's.
        """
        task = asyncio.current_task()
        assert task is not None, "each run has a task of its own"
        self.running.add(task)
        task.add_done_callback(self.running.discard)
        run: int = form["run"]
        journal = RemoteJournal(self._session, run)
        gate = RunGate(journal, lambda: bool(self._session.gone))
        try:
            ending = await self._ended(form, journal, gate)
        except Interrupted:
            await gate.settle()
            await self._session.ask("left", run, journal.events(), None)
        except SessionGone:
            await gate.settle()
            raise
        except Exception as error:  # noqa: BLE001 - reported at the client, where it ends the study
            await gate.settle()
            reason = f"{type(error).__name__}: {error}"
            await self._session.ask("left", run, journal.events(), reason)
        else:
            await self._session.ask("end", run, journal.events(), form_of(ending))

    async def _ended(
        self, form: Mapping[str, JSON], journal: RemoteJournal, gate: RunGate
    ) -> Ending:
        earlier = await self._session.ask("entries", form["run"], []) if form["resumes"] else []
        journal.earlier = {entry.position: entry for entry in map(entry_of, earlier)}
        arm, plan = await self._arm(form["arm"])
        await self._loader.put(plan.topology.folder, form["files"])
        unit = await self._loader.unit(form["unit"])
        vectors_file.set(self._loader.root / "vectors.duckdb")  # in the context of this task alone
        outcome = await run_team(
            plan,
            unit,
            seed=self._about["seed"],
            journal=gate,
            replicate=form["replicate"],
            arm=arm["scope"],
            sharing=self._sharing,
        )
        return Ending.of(outcome)

    async def _arm(self, number: int) -> tuple[Mapping[str, JSON], RunPlan]:
        async with self._making.setdefault(number, asyncio.Lock()):
            if number not in self._arms:
                form = await self._session.ask("arm", number)
                team = await self._loader.team(form, number)
                registry = self._registries.of(team.topology.models)
                self._arms[number] = (form, RunPlan(team, registry, self._sources))
        return self._arms[number]

    async def aclose(self) -> None:
        """End what is still under way, close models and tools, and remove the files."""
        for task in list(self.running):
            task.cancel()
        await asyncio.gather(*self.running, return_exceptions=True)
        await self._registries.aclose()
        await self._sources.aclose()
        self._loader.remove()
