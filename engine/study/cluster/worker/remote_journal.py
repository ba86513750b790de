"""On a worker: the journal of a run, and the replies that arms share. Both live with the client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from orglab.engine.run.turn import SharedResponses
from orglab.engine.study.cluster.worker.session import Session
from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import dumps
from orglab.results.records import Event
from orglab.results.store.journal.journal import Entry

__all__ = ["RemoteJournal", "RemoteSharing", "entry_form", "entry_of", "event_of"]


class RemoteJournal:
    """A ``Journal`` whose entries are durable at the client when a call returns.

    Events travel with the next message of the run.

    Args:
        session: The client.
        run: The number under which the client dispatched the run.
        earlier: What is durable already, by position.
    """

    def __init__(self, session: Session, run: int, earlier: Mapping[str, Entry]) -> None:
        self._session = session
        self._run = run
        self._earlier = earlier
        self._events: list[JSON] = []

    def recorded(self, position: str) -> Entry | None:
        """Return the durable entry at ``position``, or None."""
        return self._earlier.get(position)

    async def reserve(self, position: str, what: Mapping[str, JSON]) -> None:
        """Reserve money for a request that is to be made."""
        await self._session.ask("money", self._run, self.events(), position, dict(what))

    async def begin(self, position: str, what: Mapping[str, JSON]) -> None:
        """Ask whether a call may be made; durable when it returns."""
        await self._session.ask("begin", self._run, self.events(), position, dict(what))

    async def keep(self, entry: Entry) -> None:
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


def entry_form(entry: Entry) -> list[JSON]:
    """Return an entry as it travels."""
    return [entry.position, entry.kind, entry.identity, dict(entry.body)]


def entry_of(form: Sequence[JSON]) -> Entry:
    """An entry that has travelled."""
    position, kind, identity, body = form
    return Entry(position=position, kind=kind, identity=identity, body=body)


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
        self, identity: str, request: Callable[[], Mapping[str, JSON]], *, keeps: bool
    ) -> Mapping[str, JSON] | None:
        """Return the reply to an identical call, or None: then the caller makes it."""
        body: Mapping[str, JSON] | None = await self._session.ask(
            "claim", identity, dict(request()) if keeps else None, keeps
        )
        return body

    def publish(self, identity: str, body: Mapping[str, JSON] | None, *, keeps: bool) -> None:
        """Let who waits have the reply that was kept, which the client holds already."""
        if not self._session.gone:
            self._session.tell("publish", identity, body is not None, keeps)
