"""Stopping cleanly: what is under way is waited for and kept, nothing else is begun."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from orglab.engine.run.errors import ACCOUNT_ERRORS
from orglab.engine.study.batch.budget import Budget, BudgetReached
from orglab.providers.base import Interrupted
from orglab.results.records import CallEntry, Event, JournalEntry
from orglab.results.store.journal.journal import Attempt, CallGuard, CallStarts, Journal


class GuardedJournal(Journal, CallStarts, Protocol):
    """A journal that records starts itself."""


@dataclass(kw_only=True, slots=True)
class _Held:
    """Money of a call under way.

    Attributes:
        lost: US dollars of its requests that were cut.
        most: US dollars reserved for the next one.
        task: Who makes the call.
        sent: The request for which it is reserved has begun.
    """

    lost: float
    most: float
    task: asyncio.Task[Any] | None
    sent: bool = False


class RunGate:
    """A journal that begins no call once it is to stop, or that the budget has no room for.

    Args:
        journal: The run's journal.
        stopping: Whether no other call is to be begun.
        budget: The study's money; None: no call is bounded.
        closed: Called with a message that an account is empty, or takes no key.
    """

    def __init__(
        self,
        journal: GuardedJournal,
        stopping: Callable[[], bool],
        budget: Budget | None = None,
        closed: Callable[[str], None] | None = None,
    ) -> None:
        self._journal = journal
        self._stopping = stopping
        self._budget = budget
        self._closed = closed
        self._held: dict[str, _Held] = {}
        self._callers: set[asyncio.Task[Any]] = set()

    def guard(self, first: Attempt) -> CallGuard:
        """Return the guard of a call: money, the stop request, closed accounts, its start."""
        return CallGuard(self, first)

    async def reserve(self, attempt: Attempt) -> None:
        """Reserve the most that a call's next request can cost; the one before was cut.

        Raises:
            Interrupted: The user has said stop, or the budget is reached.
        """
        if self._stopping():
            raise Interrupted(attempt.position)
        self._meet()
        if self._budget is not None:
            await self._reserve(self._budget, attempt.position, attempt.most_usd or 0.0)
        await self._journal.reserve(attempt)

    async def begin(self, attempt: Attempt) -> None:
        """Begin a call, or send it once more after a request that was cut.

        Raises:
            Interrupted: The user has said stop, or the budget is reached.
        """
        position = attempt.position
        if self._stopping():
            self._give_back(position)
            raise Interrupted(position)
        self._meet()
        if self._budget is not None:
            held = self._held.get(position)
            if held is None or held.sent:
                await self._reserve(self._budget, position, attempt.most_usd or 0.0)
            self._held[position].sent = True
        await self._journal.begin(attempt)

    def _meet(self) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._callers.add(task)

    async def _reserve(self, budget: Budget, position: str, most: float) -> None:
        lost, before = 0.0, self._held.pop(position, None)
        if before is not None:
            lost = before.lost + before.most
            budget.cut(before.most)
        try:
            await budget.reserve(most)
        except BudgetReached as reached:
            raise Interrupted(position) from reached
        self._held[position] = _Held(lost=lost, most=most, task=asyncio.current_task())
        if self._stopping():
            self._give_back(position)
            raise Interrupted(position)

    def _give_back(self, position: str) -> None:
        """End a reservation of which nothing was sent."""
        held = self._held.get(position)
        if self._budget is not None and held is not None and not held.sent:
            del self._held[position]
            self._budget.settle(held.most, 0.0)

    async def settle(self) -> None:
        """Wait for the turns beside the one that ended the run, so that their replies are kept."""
        task = asyncio.current_task()
        for position, held in list(self._held.items()):
            if held.task is None or held.task is task or held.task.done():
                self.release(position)  # the others may be waiting for this money
        others = [each for each in self._callers if each is not task]
        if others:
            await asyncio.wait(others)
        for position in list(self._held):
            self.release(position)

    def release(self, position: str) -> None:
        """End a call without a stored reply: what was sent may have been billed."""
        if self._budget is None:
            return
        self._give_back(position)
        held = self._held.pop(position, None)
        if held is not None:
            self._budget.cut(held.most)

    def recorded(self, position: str) -> JournalEntry | None:
        """Return what the journal holds at ``position``."""
        return self._journal.recorded(position)

    async def keep(self, entry: JournalEntry) -> None:
        """Keep an entry, and settle what was reserved for it."""
        await self._journal.keep(entry)
        if not isinstance(entry, CallEntry):
            return
        error = entry.error
        if self._closed is not None and error and error["kind"] in ACCOUNT_ERRORS:
            self._closed(f"{error['kind']}: {error['message']}")
        held = self._held.pop(entry.position, None)
        if self._budget is None or held is None:
            return
        unknown = (entry.reserved_usd or 0.0) - held.lost
        self._budget.settle(held.most, entry.cost_usd or 0.0, unknown)

    def emit(self, events: Sequence[Event]) -> None:
        """Add events."""
        self._journal.emit(events)
