"""On a worker: the journal of a run, and the replies that arms share. Both live with the client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields

from orglab.engine.run.calls.model_call import SharedResponses
from orglab.engine.study.cluster.worker.session import Session
from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import dumps
from orglab.results.records import CallEntry, DecisionEntry, Event, JournalEntry, ToolEntry
from orglab.results.store.journal.journal import Attempt, CallGuard

__all__ = ["RemoteJournal", "RemoteSharing", "attempt_form", "entry_form", "entry_of", "event_of"]


_KINDS: Mapping[str, type[JournalEntry]] = {
    kind.__name__: kind for kind in (CallEntry, ToolEntry, DecisionEntry)
}
_FIELDS = {kind: [each.name for each in fields(kind)] for kind in _KINDS.values()}


class RemoteJournal:
    """A ``Journal`` whose entries are durable at the client when a call returns.

    Events travel with the next message of the run.

    Args:
        session: The client.
        run: The number under which the client dispatched the run.
        earlier: What is durable already, by position.
    """

    def __init__(self, session: Session, run: int, earlier: Mapping[str, JournalEntry]) -> None:
        self._session = session
        self._run = run
        self._earlier = earlier
        self._events: list[JSON] = []

    def recorded(self, position: str) -> JournalEntry | None:
        """Return the durable entry at ``position``, or None."""
        return self._earlier.get(position)

    def guard(self, first: Attempt) -> CallGuard:
        """Return a guard that asks the client."""
        return CallGuard(self, first)

    def release(self, position: str) -> None:
        """Do nothing: the client holds the reservation."""

    async def reserve(self, attempt: Attempt) -> None:
        """Reserve money for a request that is to be made."""
        await self._session.ask("money", self._run, self.events(), attempt_form(attempt))

    async def begin(self, attempt: Attempt) -> None:
        """Ask whether a call may be made; durable when it returns."""
        await self._session.ask("begin", self._run, self.events(), attempt_form(attempt))

    async def keep(self, entry: JournalEntry) -> None:
        """Keep an entry; durable when it returns."""
        form = entry_form(entry)
        dumps(form)  # what cannot travel is refused before the events go
        await self._session.ask("keep", self._run, self.events(), form)

    def emit(self, events: Sequence[Event]) -> None:
        """Add events to the next message.

        Raises:
            ValueError: A body is no strict JSON.
        """
        forms = [[each.seq, each.tick, each.kind, dict(each.body)] for each in events]
        dumps(forms)
        self._events += forms

    def events(self) -> list[JSON]:
        """The events that were not sent yet; whoever takes them sends them."""
        events, self._events = self._events, []
        return events


def entry_form(entry: JournalEntry) -> list[JSON]:
    """Return an entry as it travels."""
    kind = type(entry)
    return [kind.__name__, {name: getattr(entry, name) for name in _FIELDS[kind]}]


def entry_of(form: Sequence[JSON]) -> JournalEntry:
    """An entry that has travelled."""
    kind, values = form
    return _KINDS[kind](**values)


def attempt_form(attempt: Attempt) -> JSON:
    """Return an attempt as it travels."""
    return asdict(attempt)


def event_of(form: Sequence[JSON]) -> Event:
    """An event that has travelled."""
    seq, tick, kind, body = form
    return Event(seq=seq, tick=tick, kind=kind, body=body)


class RemoteSharing(SharedResponses):
    """Asks the client for replies to identical calls.

    Args:
        session: The client.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    async def claim(
        self, identity: str, request: Callable[[], Mapping[str, JSON]], *, cacheable: bool
    ) -> CallEntry | None:
        """The reply to an identical call, or None: then the caller makes it."""
        form = await self._session.ask(
            "claim", identity, dict(request()) if cacheable else None, cacheable
        )
        call = None if form is None else entry_of(form)
        return call if isinstance(call, CallEntry) else None

    def publish(self, identity: str, call: CallEntry | None, *, cacheable: bool) -> None:
        """Let who waits have the reply that was kept, which the client holds already."""
        if not self._session.gone:
            self._session.tell("publish", identity, call is not None, cacheable)
