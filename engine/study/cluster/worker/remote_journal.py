"""On a worker: the journal of a run, and the replies that arms share. Both live with the client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from orglab.engine.run.calls.model_call import SharedResponses
from orglab.engine.study.batch.runner import Ending
from orglab.engine.study.cluster.worker.session import Session
from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import dumps
from orglab.results.records import CallEntry, DecisionEntry, Event, JournalEntry, ToolEntry
from orglab.results.store.journal.journal import Attempt, CallGuard

_KINDS: Mapping[str, type[JournalEntry]] = {
    kind.__name__: kind for kind in (CallEntry, ToolEntry, DecisionEntry)
}
_NAMES: Mapping[type[Any], Sequence[str]] = {
    kind: [each.name for each in fields(kind)]
    for kind in (CallEntry, ToolEntry, DecisionEntry, Attempt, Event, Ending)
}
"""Fields of what travels, in their order."""
Value = TypeVar("Value")


class RemoteJournal:
    """A ``Journal`` whose entries are durable at the client when a call returns.

    Events travel with the next message of the run.

    Args:
        session: The client.
        run: The number under which the client dispatched the run.

    Attributes:
        earlier: What is durable already, by position.
    """

    def __init__(self, session: Session, run: int) -> None:
        self._session = session
        self._run = run
        self.earlier: Mapping[str, JournalEntry] = {}
        self._events: list[JSON] = []

    def recorded(self, position: str) -> JournalEntry | None:
        """Return the durable entry at ``position``, or None."""
        return self.earlier.get(position)

    def guard(self, first: Attempt) -> CallGuard:
        """Return a guard that asks the client."""
        return CallGuard(self, first)

    def release(self, position: str) -> None:
        """Do nothing: the client holds the reservation."""

    async def reserve(self, attempt: Attempt) -> None:
        """Reserve money for a request that is to be made."""
        await self._session.ask("pay", self._run, self.events(), form_of(attempt))

    async def begin(self, attempt: Attempt) -> None:
        """Ask whether a call may be made; durable when it returns."""
        await self._session.ask("begin", self._run, self.events(), form_of(attempt))

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
        forms = [form_of(each) for each in events]
        dumps(forms)
        self._events += forms

    def events(self) -> list[JSON]:
        """Return the events that were not sent yet; whoever takes them sends them."""
        events, self._events = self._events, []
        return events


def form_of(value: object) -> list[JSON]:
    """Return a dataclass as it travels: its fields in order."""
    return [getattr(value, name) for name in _NAMES[type(value)]]


def value_of(kind: type[Value], form: Sequence[JSON]) -> Value:
    """Return the dataclass that travelled as ``form``."""
    return kind(**dict(zip(_NAMES[kind], form, strict=True)))


def entry_form(entry: JournalEntry) -> list[JSON]:
    """Return an entry as it travels: its kind, then its fields."""
    return [type(entry).__name__, *form_of(entry)]


def entry_of(form: Sequence[JSON]) -> JournalEntry:
    """Return the entry that travelled as ``form``."""
    kind, *values = form
    return value_of(_KINDS[kind], values)


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
        """Return the reply to an identical call, or None: then the caller makes it."""
        form = await self._session.ask(
            "claim", identity, dict(request()) if cacheable else None, cacheable
        )
        call = None if form is None else entry_of(form)
        return call if isinstance(call, CallEntry) else None

    def publish(self, identity: str, call: CallEntry | None, *, cacheable: bool) -> None:
        """Let who waits have the reply that was kept, which the client holds already."""
        self._session.note("publish", identity, call is not None, cacheable)
