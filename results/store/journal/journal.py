"""The journal of a run: what is durable before the engine acts on it.

The engine asks ``recorded`` at each position; where nothing is recorded it says ``begin``, makes the
call and says ``keep``. Running again over a journal that holds entries is resuming; there is no
second code path. ``MemoryJournal`` keeps everything in memory, for tests; ``RunJournal`` (in
``run_journal``) keeps it in the study's file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from orglab.providers.base import JSON
from orglab.results.records import Event

__all__ = ["Entry", "EntryKind", "Journal", "JournalError", "MemoryJournal"]

EntryKind: TypeAlias = Literal["call", "tool", "decision"]


class JournalError(Exception):
    """Raised when a journal is used against its rules: one position is kept twice."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One durable thing of a run; strict JSON throughout.

    Attributes:
        position: Where in the run it stands: ``tick.kind.index.step``; unique in the run.
        kind: A model's reply, a tool's result, or what clock, money or a final fault decided.
        identity: Hex digest of everything that makes it what it is; "" for decisions.
        body: For ``call``: ``{request: {provider, model, params, seed, messages, tools, schema},
            copy, role, purpose, visit, error, read, cost_usd}`` and the fields of ``Completion``
            (``usage`` as ``{input, output, cached_input, reasoning}``; ``model`` is the model that
            served). For ``tool``: ``{copy, role, visit, tool, arguments, result, error, refused,
            seconds, prompt}``. For ``decision``: ``{what, …}``; where it is a fault that ends a
            turn: ``error: {kind, message}``, and ``copy`` of whom.
    """

    position: str
    kind: EntryKind
    identity: str
    body: Mapping[str, JSON]


class Journal(Protocol):
    """What the engine needs of a store, for one run."""

    def recorded(self, position: str) -> Entry | None:
        """The durable entry at ``position`` that an earlier process left, or None."""

    async def reserve(self, position: str, what: Mapping[str, JSON]) -> None:
        """Sets money aside for a request that is to be made; nothing durable.

        It may wait for other calls to end, so nothing that they need may be held meanwhile.

        Args:
            position: Where the call stands.
            what: What ``begin`` will be told of the request.
        """

    async def begin(self, position: str, what: Mapping[str, JSON]) -> None:
        """Says that a call is about to be made; durable when it returns."""

    async def keep(self, entry: Entry) -> None:
        """Keeps an entry; durable when it returns.

        Raises:
            JournalError: An entry stands at this position already.
            ValueError: The body is no strict JSON.
        """

    def emit(self, events: Sequence[Event]) -> None:
        """Adds events; they become durable with the next entry, or at the end of the run.

        A run that is played again gives its events again: the same place is written once.
        """


class MemoryJournal:
    """A journal in memory.

    Attributes:
        entries: What was kept, by position.
        attempts: Positions of calls begun, in order, earlier processes' first.
        events: The events by ``seq``.
        asked_again: Calls that an earlier process had begun without keeping a reply.
    """

    def __init__(self, earlier: MemoryJournal | None = None) -> None:
        self.entries: dict[str, Entry] = dict(earlier.entries) if earlier else {}
        self.attempts: list[str] = list(earlier.attempts) if earlier else []
        self.events: dict[int, Event] = {}
        self.asked_again: int = earlier.asked_again if earlier else 0
        self._in_flight = set(self.attempts) - set(self.entries)

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> MemoryJournal:
        """A journal as an earlier process would have left it with ``entries``."""
        journal = cls()
        journal.entries = {entry.position: entry for entry in entries}
        return journal

    def recorded(self, position: str) -> Entry | None:
        """The entry at ``position``, or None."""
        return self.entries.get(position)

    async def reserve(self, position: str, what: Mapping[str, JSON]) -> None:
        """Nothing: there is no budget."""

    async def begin(self, position: str, what: Mapping[str, JSON]) -> None:  # noqa: ARG002 - the protocol's
        """Notes that a call is about to be made."""
        if position in self._in_flight:
            self._in_flight.discard(position)
            self.asked_again += 1
        self.attempts.append(position)

    async def keep(self, entry: Entry) -> None:
        """Keeps an entry.

        Raises:
            JournalError: An entry stands at this position already.
        """
        if entry.position in self.entries:
            raise JournalError(f"position {entry.position} is kept twice")
        self.entries[entry.position] = entry

    def emit(self, events: Sequence[Event]) -> None:
        """Adds events."""
        for event in events:
            self.events[event.seq] = event
