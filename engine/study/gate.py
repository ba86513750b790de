"""Stopping cleanly: what is under way is waited for and kept, nothing else is begun."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from orglab.engine.study.budget import Budget, BudgetReached
from orglab.providers.interrupted import Interrupted
from orglab.results.journal import Entry, Journal
from orglab.results.records import Event

__all__ = ["Gate", "Interrupted"]

JSON: TypeAlias = Any


class Gate:
    """A journal that begins no call once it is to stop, or that the budget has no room for.

    Args:
        journal: The run's journal.
        stopping: Whether no other call is to be begun.
        budget: The study's money; None: no call is bounded.
    """

    def __init__(
        self, journal: Journal, stopping: Callable[[], bool], budget: Budget | None = None
    ) -> None:
        self._journal = journal
        self._stopping = stopping
        self._budget = budget
        self._reserved: dict[str, tuple[int, float]] = {}
        self._callers: set[asyncio.Task[Any]] = set()

    async def begin(self, position: str, what: Mapping[str, JSON]) -> None:
        """Begins a call, or sends it once more after a request that was cut.

        Raises:
            Interrupted: The user has said stop, or the budget is reached.
        """
        if self._stopping():
            raise Interrupted(position)
        task = asyncio.current_task()
        if task is not None:
            self._callers.add(task)
        if self._budget is not None:
            await self._reserve(self._budget, position, what.get("reserved") or 0.0)
        await self._journal.begin(position, what)

    async def _reserve(self, budget: Budget, position: str, most: float) -> None:
        requests, before = self._reserved.pop(position, (0, 0.0))
        if requests:  # the one before was cut
            budget.cut(before)
        try:
            await budget.reserve(most)
        except BudgetReached as reached:
            raise Interrupted(position) from reached
        if self._stopping():
            budget.settle(most, 0.0)
            raise Interrupted(position)
        self._reserved[position] = (requests + 1, most)

    async def settle(self) -> None:
        """Waits for the turns beside the one that ended the run, so that their replies are kept."""
        task = asyncio.current_task()
        others = [each for each in self._callers if each is not task]
        if others:
            await asyncio.wait(others)
        if self._budget is not None:
            for _, most in self._reserved.values():  # sent, and no reply was kept
                self._budget.cut(most)
        self._reserved.clear()

    def recorded(self, position: str) -> Entry | None:
        """What the journal holds at ``position``."""
        return self._journal.recorded(position)

    async def keep(self, entry: Entry) -> None:
        """Keeps an entry, and settles what was reserved for it."""
        await self._journal.keep(entry)
        if self._budget is None or entry.position not in self._reserved:
            return
        requests, most = self._reserved.pop(entry.position)
        body = entry.body
        answered_at_unknown_cost = body["error"] is None and body["cost_usd"] is None
        if body["cut"] == requests or answered_at_unknown_cost:
            self._budget.cut(most)
        else:
            self._budget.settle(most, body["cost_usd"] or 0.0)

    def emit(self, events: Sequence[Event]) -> None:
        """Adds events."""
        self._journal.emit(events)
