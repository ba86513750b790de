"""Stopping cleanly: what is under way is waited for and kept, nothing else is begun."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from orglab.results.journal import Entry, Journal
from orglab.results.records import Event

__all__ = ["Gate", "Interrupted"]

JSON: TypeAlias = Any


class Interrupted(Exception):
    """Raised in place of beginning a call once the user has said stop; the run can go on later."""


class Gate:
    """A journal that begins no call once ``stop`` is set."""

    def __init__(self, journal: Journal, stop: asyncio.Event) -> None:
        self._journal = journal
        self._stop = stop

    async def begin(self, position: str, what: Mapping[str, JSON]) -> None:
        """Begins a call.

        Raises:
            Interrupted: The user has said stop.
        """
        if self._stop.is_set():
            raise Interrupted(position)
        await self._journal.begin(position, what)

    def recorded(self, position: str) -> Entry | None:
        """What the journal holds at ``position``."""
        return self._journal.recorded(position)

    async def keep(self, entry: Entry) -> None:
        """Keeps an entry."""
        await self._journal.keep(entry)

    def emit(self, events: Sequence[Event]) -> None:
        """Adds events."""
        self._journal.emit(events)
