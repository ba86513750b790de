"""The journal of a run: what is durable before the engine acts on it.

The engine asks ``recorded`` at each position. Where nothing is recorded it makes the call under a
``CallGuard`` and then calls ``keep``. A run over a journal with entries is a resumed run; there is
no second code path. ``MemoryJournal`` is for tests and dry runs; ``RunJournal`` writes the study's file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Protocol, Self

from orglab.providers.base import JSON
from orglab.results.records import Event, JournalEntry

_WORDS = {"prompt": (0, 0, ""), "turn": (2, 0, ""), "review": (2, 1, "")}


def position_key(position: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key that puts positions in the order of the run.

    Numbers count as numbers and precede words, except ``prompt``: a prompt's tools are called
    before its turn's first call. ``turn`` precedes ``review``, since a tick's reviews follow its
    turns; any other word follows both, in alphabetical order.
    """
    return tuple(
        (1, int(part), "") if part.isdecimal() else _WORDS.get(part, (2, len(_WORDS), part))
        for part in position.split(".")
    )


class JournalError(Exception):
    """Raised when one position is kept twice."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """A request that is about to be sent for a call.

    Attributes:
        position: Where in the run the call is.
        identity: The call's identity.
        copy: The copy that makes it.
        most_usd: Upper bound of one request's cost in US dollars; 0: free; None: unknown.
        cut: How many earlier requests of the call were interrupted.
    """

    position: str
    identity: str = ""
    copy: str = ""
    most_usd: float | None = 0.0
    cut: int = 0

    def as_json(self) -> dict[str, JSON]:
        """Return the attempt as it is stored, without its position."""
        stored: dict[str, JSON] = {"identity": self.identity, "copy": self.copy}
        if self.most_usd != 0.0:
            stored["reserved"] = self.most_usd
        if self.cut:
            stored["cut"] = self.cut
        return stored


class CallStarts(Protocol):
    """What a guard needs: where money is reserved and starts are made durable."""

    async def reserve(self, attempt: Attempt) -> None:
        """Reserve money for a request; may wait for other calls to end."""

    async def begin(self, attempt: Attempt) -> None:
        """Record a request's start durably."""

    def release(self, position: str) -> None:
        """End what is still reserved for a call."""


class CallGuard:
    """Guards one call of a model: budget, stop request, closed accounts, and its durable start.

    An async context manager around ``ModelClient.call``, which awaits ``reserve`` before an attempt
    is queued and ``begin`` immediately before it is sent. Both raise where no request may be sent.
    Requests that follow no interrupted one share its reservation and its start.
    """

    def __init__(self, starts: CallStarts, first: Attempt) -> None:
        self._starts = starts
        self._first = first
        self._reserved = self._begun = -1

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._starts.release(self._first.position)

    async def reserve(self, cut: int) -> None:
        """Reserve the upper bound of the next request's cost, after ``cut`` interrupted ones."""
        if self._first.most_usd != 0.0 and cut > self._reserved:
            await self._starts.reserve(replace(self._first, cut=cut) if cut else self._first)
            self._reserved = cut

    async def begin(self, cut: int) -> None:
        """Record the next request's start durably, after ``cut`` interrupted ones."""
        if cut > self._begun:
            await self._starts.begin(replace(self._first, cut=cut) if cut else self._first)
            self._begun = cut

    @property
    def sent(self) -> int:
        """How many requests were begun: all but the last one were interrupted."""
        return self._begun + 1


class Journal(Protocol):
    """What the engine needs of a store, for one run."""

    def recorded(self, position: str) -> JournalEntry | None:
        """Return the durable entry at ``position`` that an earlier process left, or None."""

    def guard(self, first: Attempt) -> CallGuard:
        """Return the guard of a call that is about to be made."""

    async def keep(self, entry: JournalEntry) -> None:
        """Store an entry; durable when it returns.

        Raises:
            JournalError: There is an entry at this position.
            ValueError: The entry is not strict JSON.
        """

    def emit(self, events: Sequence[Event]) -> None:
        """Add events; they become durable with the next entry, or at the end of the run.

        A resumed run emits its events again: each place is written once.
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
        self.entries: dict[str, JournalEntry] = dict(earlier.entries) if earlier else {}
        self.attempts: list[str] = list(earlier.attempts) if earlier else []
        self.events: dict[int, Event] = {}
        self.asked_again: int = earlier.asked_again if earlier else 0
        self._in_flight = set(self.attempts) - set(self.entries)

    @classmethod
    def of(cls, entries: Iterable[JournalEntry]) -> MemoryJournal:
        """Return a journal as an earlier process would have left it with ``entries``."""
        journal = cls()
        journal.entries = {entry.position: entry for entry in entries}
        return journal

    def recorded(self, position: str) -> JournalEntry | None:
        """Return the entry at ``position``, or None."""
        return self.entries.get(position)

    def guard(self, first: Attempt) -> CallGuard:
        """Return a guard that only notes starts."""
        return CallGuard(self, first)

    async def reserve(self, attempt: Attempt) -> None:
        """Do nothing: there is no budget."""

    async def begin(self, attempt: Attempt) -> None:
        """Note that a call is about to be made."""
        if attempt.position in self._in_flight:
            self._in_flight.discard(attempt.position)
            self.asked_again += 1
        self.attempts.append(attempt.position)

    def release(self, position: str) -> None:
        """Do nothing: nothing is reserved."""

    async def keep(self, entry: JournalEntry) -> None:
        """Store an entry.

        Raises:
            JournalError: There is an entry at this position.
        """
        if entry.position in self.entries:
            raise JournalError(f"position {entry.position} is kept twice")
        self.entries[entry.position] = entry

    def emit(self, events: Sequence[Event]) -> None:
        """Add events."""
        for event in events:
            self.events[event.seq] = event
