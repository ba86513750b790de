"""A run that the client has dispatched, or is about to."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from orglab.engine.study.batch.batch import PlannedRun
from orglab.engine.study.batch.run_gate import RunGate
from orglab.engine.study.batch.runner import Ending
from orglab.providers.base import JSON
from orglab.results.store.journal.run_journal import RunJournal

__all__ = ["DispatchedRun"]


@dataclass(kw_only=True, slots=True, eq=False)
class DispatchedRun:
    """A run under way at a worker.

    Attributes:
        number: Under which it was dispatched: each time another one.
        planned: The run.
        journal: What is durable of it.
        gate: Lets its calls begin, and pays for them.
        form: The run as it travels.
        ended: How it ended; or why it did not.
        error: What went wrong at the client while the run was played.
    """

    number: int
    planned: PlannedRun
    journal: RunJournal
    gate: RunGate
    form: JSON
    ended: asyncio.Future[Ending] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    issue: Exception | None = None

    def end(self, ending: Ending) -> None:
        """It ended at the worker."""
        if not self.ended.done():
            self.ended.set_result(ending)

    def fail(self, why: BaseException) -> None:
        """It did not end."""
        if not self.ended.done():
            self.ended.set_exception(why)
