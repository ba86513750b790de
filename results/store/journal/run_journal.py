"""The journal of one run in the study's file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from orglab.providers.structured_output.strict_json import dumps
from orglab.results.records import CallEntry, Event, JournalEntry, RunStatus, ToolEntry
from orglab.results.store.group_commit import GroupCommit, Row
from orglab.results.store.journal.history import use_of
from orglab.results.store.journal.journal import Attempt, CallGuard, JournalError
from orglab.results.store.row_codec import BlobKeeper, entry_row, event_row


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredRun:
    """What earlier processes left of a run.

    Attributes:
        entries: Valid entries by position.
        events: Rows of its events by ``seq``.
        attempts: Highest number of an attempt by position.
        in_flight: Positions of calls that were begun and left no entry.
        asked_again: How many calls were retried after a crash so far.
        retries: How often the run was opened again after it had failed.
    """

    entries: Mapping[str, JournalEntry] = field(default_factory=dict)
    events: Mapping[int, Row] = field(default_factory=dict)
    attempts: Mapping[str, int] = field(default_factory=dict)
    in_flight: frozenset[str] = frozenset()
    asked_again: int = 0
    retries: int = 0


class _JournalStore(Protocol):
    """What the journal needs of the store."""

    @property
    def commits(self) -> GroupCommit: ...

    @property
    def keep_blob(self) -> BlobKeeper: ...


@dataclass(kw_only=True, slots=True)
class RunTotals:
    """Totals of a run, counted as they pass; ``docs/reference/store.md`` explains each."""

    turns: int = 0
    loops: int = 0
    forced: int = 0
    calls: int = 0
    tool_calls: int = 0
    tokens_input: int = 0
    tokens_output: int = 0
    priced_usd: float = 0.0
    unpriced: int = 0
    service_seconds: float = 0.0
    waiting_seconds: float = 0.0
    simulated: bool = False
    _uses: set[tuple[str, str, int]] = field(default_factory=set)
    shared_tokens: int = 0
    shared_usd: float = 0.0
    shared_unpriced: int = 0

    def event(self, event: Event) -> None:
        """Count an event; a loop is a verdict that obliged, or a use of a closing link."""
        if event.kind == "verdict":
            self.loops += bool(event.body.get("obliged"))
            self.forced += bool(event.body.get("forced"))
        elif event.kind in ("turn", "review"):
            self.turns += 1
        elif event.kind == "delivered" and (use := use_of(event)) is not None:
            self.loops += use not in self._uses
            self._uses.add(use)

    def entry(self, entry: JournalEntry) -> None:
        """Count an entry."""
        if isinstance(entry, CallEntry):
            self._call(entry)
        elif isinstance(entry, ToolEntry):
            self.tool_calls += 1

    def _call(self, call: CallEntry) -> None:
        used, cost = call.tokens, call.cost_usd
        read, written = used.get("input", 0), used.get("output", 0)
        self.calls += 1
        self.tokens_input += read
        self.tokens_output += written
        self.priced_usd += cost or 0.0
        # A call without an answer is not known to be billed.
        replied = call.replied
        self.unpriced += cost is None and replied
        self.service_seconds += call.service_seconds
        self.waiting_seconds += call.waiting_seconds
        self.simulated = self.simulated or call.simulated
        if replied and not call.attempts:  # another run of the study paid for it
            self.shared_tokens += read + written
            self.shared_usd += cost or 0.0
            self.shared_unpriced += cost is None

    @property
    def cost_usd(self) -> float | None:
        """US dollars; None where a call's price is unknown."""
        return None if self.unpriced else self.priced_usd


class RunJournal:
    """A ``Journal`` in the study's file, made by ``Store.open_run``.

    Attributes:
        run: The run's number in the file.
        run_id: The run's id.
        status: How the run stood when it was opened.
        totals: Totals so far.
        asked_again: Calls that were under way when a process died, and were retried.
        diverged: The ``seq`` of the first event that differed from the one an earlier process had
            written at its place; None where none did.
    """

    def __init__(
        self, store: _JournalStore, *, run: int, run_id: str, status: RunStatus, earlier: StoredRun
    ) -> None:
        self.run = run
        self.run_id = run_id
        self.status = status
        self.totals = RunTotals()
        self.asked_again = earlier.asked_again
        self.diverged: int | None = None
        self._commits = store.commits
        self._keep_blob = store.keep_blob
        self._earlier = earlier
        self._stored_positions = set(earlier.entries)
        self._attempts = dict(earlier.attempts)
        self._in_flight = set(earlier.in_flight)
        for entry in earlier.entries.values():
            self.totals.entry(entry)

    def recorded(self, position: str) -> JournalEntry | None:
        """Return the durable entry that an earlier process left at ``position``, or None."""
        return self._earlier.entries.get(position)

    @property
    def earlier(self) -> Mapping[str, JournalEntry]:
        """The durable entries that earlier processes left, by position."""
        return self._earlier.entries

    def guard(self, first: Attempt) -> CallGuard:
        """Return a guard that only records starts: the store holds no budget."""
        return CallGuard(self, first)

    async def reserve(self, attempt: Attempt) -> None:
        """Do nothing: the store holds no budget."""

    def release(self, position: str) -> None:
        """Do nothing: nothing is reserved."""

    async def begin(self, attempt: Attempt) -> None:
        """Record that a call is about to be made; durable when it returns.

        Raises:
            StoreError: It could not be written; the call must not be made.
        """
        position = attempt.position
        again = position in self._in_flight
        number = self._attempts.get(position, 0) + 1
        row = (self.run, position, number, self._earlier.retries, again, dumps(attempt.as_json()))
        self._attempts[position] = number
        self._in_flight.discard(position)
        self.asked_again += again
        await self._commits.write([("attempt", row)])

    async def keep(self, entry: JournalEntry) -> None:
        """Keep an entry; durable when it returns.

        Raises:
            JournalError: An entry stands at this position already.
            ValueError: The body is no strict JSON, or a number does not fit.
            StoreError: It could not be written; nothing may be done on it.
        """
        if entry.position in self._stored_positions:
            raise JournalError(f"run {self.run_id}: position {entry.position} is kept twice")
        row = entry_row(self.run, entry, self._keep_blob)
        self._stored_positions.add(entry.position)
        self.totals.entry(entry)
        await self._commits.write([row])

    def emit(self, events: Sequence[Event]) -> None:
        """Add events to the next commit.

        Raises:
            ValueError: A body is no strict JSON.
            StoreError: An earlier commit failed.
        """
        for event in events:
            self.totals.event(event)
        rows = [event_row(self.run, event) for event in events]
        if self._earlier.events:
            rows = [
                row for event, row in zip(events, rows, strict=True) if self._is_new(event, row)
            ]
        self._commits.add("event", rows)

    def _is_new(self, event: Event, row: Row) -> bool:
        there = self._earlier.events.get(event.seq)
        if there is not None and there != row and self.diverged is None:
            self.diverged = event.seq
        return there != row
