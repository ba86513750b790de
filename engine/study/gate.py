"""Stopping cleanly: what is under way is waited for and kept, nothing else is begun."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from orglab.results.journal import Entry, Journal
from orglab.results.records import Event

__all__ = ["Gate", "Interrupted"]

JSON: TypeAlias = Any


class Interrupted(BaseException):
    """Raised in place of beginning a call once the user has said stop; the run can go on later.

    It is no ``Exception``, so that nothing which records the faults of plugins takes it for one.
    """


class Gate:
    """A journal that begins no call once it is to stop.

    Args:
        journal: The run's journal.
        stopping: Whether no other call is to be begun.
    """

    def __init__(self, journal: Journal, stopping: Callable[[], bool]) -> None:
        self._journal = journal
        self._stopping = stopping
        self._callers: set[asyncio.Task[Any]] = set()

    async def begin(self, position: str, what: Mapping[str, JSON]) -> None:
        """Begins a call.

        Raises:
            Interrupted: The user has said stop.
        """
        if self._stopping():
            raise Interrupted(position)
        task = asyncio.current_task()
        if task is not None:
            self._callers.add(task)
        await self._journal.begin(position, what)

    async def settle(self) -> None:
        """Waits for the turns beside the one that ended the run, so that their replies are kept."""
        task = asyncio.current_task()
        others = [each for each in self._callers if each is not task]
        if others:
            await asyncio.wait(others)

    def recorded(self, position: str) -> Entry | None:
        """What the journal holds at ``position``."""
        return self._journal.recorded(position)

    async def keep(self, entry: Entry) -> None:
        """Keeps an entry."""
        await self._journal.keep(entry)

    def emit(self, events: Sequence[Event]) -> None:
        """Adds events."""
        self._journal.emit(events)
