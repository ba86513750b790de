"""A run within a run, seen from outside: its names, its journal, its events.

A role that is a team plays a whole run in each of its turns. Inside, the run knows nothing of the
one around it; what it leaves behind bears the names of both: ``lead/writer`` is the writer of the
team of ``lead``. Turns of a copy and uses of a link count on over the turns of the role, so that
``lead/writer@3`` is one output of the whole run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from orglab.engine.run.replicas import Replica
from orglab.engine.run.routing import EventDraft
from orglab.providers.base import JSON
from orglab.results.records import Event
from orglab.results.store.journal.history import use_of
from orglab.results.store.journal.journal import Entry, Journal

__all__ = ["OUTSIDE", "InnerJournal", "Names", "outside", "renamed"]

Body: TypeAlias = Mapping[str, JSON]

_TAKING: Final = {"turn": "copy", "review": "superior"}
"""Events by which a copy takes a turn, and where it stands in them."""
OUTSIDE: Final = "../"
"""What the name of something from outside begins with, inside a run."""


def outside(name: str) -> str:
    """How a run within calls an output or a link of the run around it."""
    return f"{OUTSIDE}{name}" if name else ""


@dataclass(kw_only=True, slots=True)
class Names:
    """How what a copy's team leaves behind is called in the run around it.

    Attributes:
        role: The role that is the team.
        copy: The copy of it.
        visits: How many turns each copy of the team took in earlier turns of this copy.
        uses: How often each closing link was used in them, by the copy of a team within, "" for
            the team itself.
    """

    role: str
    copy: str
    visits: dict[str, int] = field(default_factory=dict)
    uses: dict[tuple[str, str], int] = field(default_factory=dict)

    @classmethod
    def of(cls, copy: Replica) -> Names:
        """The names of a copy's team before its first turn."""
        return cls(role=copy.role.name, copy=copy.name)

    def by_copy(self, name: str) -> str:
        """A copy of the team."""
        return f"{self.copy}/{name}"

    def by_role(self, name: str) -> str:
        """A role, or a role's name that stands for the outputs of all its replicas."""
        return f"{self.role}/{name}"

    def link(self, name: str) -> str:
        """A link; one from outside keeps its own name."""
        if name.startswith(OUTSIDE):
            return name.removeprefix(OUTSIDE)
        return f"{self.role}/{name}" if name else ""

    def visit(self, copy: str, visit: int) -> int:
        """Which turn of a copy it is in the whole run."""
        return visit + self.visits.get(copy, 0)

    def output(self, name: str) -> str:
        """An output, by its id; a role's name means the outputs of all its replicas."""
        if name.startswith(OUTSIDE):
            return name.removeprefix(OUTSIDE)
        copy, at, visit = name.rpartition("@")
        return f"{self.copy}/{copy}@{self.visit(copy, int(visit))}" if at else self.by_role(name)

    def close(self, events: Sequence[Event]) -> None:
        """Ends a turn of the copy: what the team did in it, teams within it too."""
        for event in events:
            if event.kind in _TAKING:
                copy = event.body[_TAKING[event.kind]]
                self.visits[copy] = self.visits.get(copy, 0) + 1
        for around, link, _ in dict.fromkeys(filter(None, map(use_of, events))):
            self.uses[around, link] = self.uses.get((around, link), 0) + 1


class InnerJournal:
    """The journal of a run within: a part of the one around it, below the position of the turn.

    Events are left to the run around it: they are written when the turn's place in the order comes.
    """

    def __init__(self, journal: Journal, at: str, names: Names) -> None:
        self._journal = journal
        self._at = at
        self._names = names

    def recorded(self, position: str) -> Entry | None:
        """What the journal holds at ``position``."""
        return self._journal.recorded(f"{self._at}.{position}")

    async def reserve(self, position: str, what: Mapping[str, JSON]) -> None:
        """Sets money aside for a request that is to be made."""
        await self._journal.reserve(f"{self._at}.{position}", self._named(what))

    async def begin(self, position: str, what: Mapping[str, JSON]) -> None:
        """Says that a call is about to be made."""
        await self._journal.begin(f"{self._at}.{position}", self._named(what))

    def _named(self, what: Mapping[str, JSON]) -> dict[str, JSON]:
        return {**what, "copy": self._names.by_copy(what["copy"])}

    async def keep(self, entry: Entry) -> None:
        """Keeps an entry under its name in the run around it."""
        names = self._names
        body = {**entry.body, "copy": names.by_copy(entry.body["copy"])}
        if "role" in body:
            body["role"] = names.by_role(body["role"])
        if "visit" in body:
            body["visit"] = names.visit(entry.body["copy"], body["visit"])
        identity = entry.identity
        if entry.kind == "decision" and identity:
            identity = names.output(identity)
        position = f"{self._at}.{entry.position}"
        kept = Entry(position=position, kind=entry.kind, identity=identity, body=body)
        await self._journal.keep(kept)

    def emit(self, events: Sequence[Event]) -> None:
        """Nothing yet."""


# --- events -------------------------------------------------------------------------------------


def renamed(events: Sequence[Event], names: Names, visit: int) -> list[EventDraft]:
    """The events of a run within as those of the run around it.

    Args:
        events: Its events, in order.
        names: Its names, before the turn is closed.
        visit: Which turn of the copy it was.
    """
    return [_renamed(event, names, visit) for event in events]


def _renamed(event: Event, names: Names, visit: int) -> EventDraft:
    if event.kind in ("started", "ended"):
        return EventDraft(f"team_{event.kind}", _end(event.body, names, visit))
    body = {key: _name(key, value, names) for key, value in event.body.items()}
    if event.kind == "review":
        body["superior"] = names.by_copy(event.body["superior"])
    who = event.body.get("superior" if event.kind == "review" else "copy")
    if who is not None and "visit" in body:
        body["visit"] = names.visit(who, body["visit"])
    if use := use_of(event):
        body["use"] += names.uses.get(use[:2], 0)
    return EventDraft(event.kind, body)


def _end(body: Body, names: Names, visit: int) -> dict[str, JSON]:
    """How a team's run began or ended: whose it is stands first."""
    found: dict[str, JSON] = {"copy": names.copy, "visit": visit}
    if "models" in body:
        models = {names.by_copy(copy): alias for copy, alias in body["models"].items()}
        return {**found, "inputs": body["inputs"], "models": models}
    ends = {key: names.output(body[key]) if body[key] else None for key in ("answer", "last")}
    return {**found, "status": body["status"], "reason": body["reason"], **ends}


def _name(key: str, value: JSON, names: Names) -> JSON:
    if value is None:
        return None
    teller = _BY_KEY.get(key)
    return value if teller is None else teller(value, names)


def _copies(value: JSON, names: Names) -> JSON:
    return [names.by_copy(name) for name in value]


def _lapsed(value: JSON, names: Names) -> JSON:
    return [{**item, "copy": names.by_copy(item["copy"])} for item in value]


def _inbox(value: JSON, names: Names) -> JSON:
    return [
        {**item, "output": names.output(item["output"]), "link": names.link(item["link"])}
        for item in value
    ]


def _directive(value: JSON, names: Names) -> JSON:
    if value["link"].startswith(OUTSIDE):
        return {**value, "link": names.link(value["link"])}
    return {
        **value,
        "link": names.link(value["link"]),
        "superior": names.by_role(value["superior"]),
    }


_BY_KEY: Final[Mapping[str, Callable[[JSON, Names], JSON]]] = {
    "copy": lambda value, names: names.by_copy(value),
    "target": lambda value, names: names.by_copy(value),
    "role": lambda value, names: names.by_role(value),
    "superior": lambda value, names: names.by_role(value),
    "id": lambda value, names: names.output(value),
    "output": lambda value, names: names.output(value),
    "link": lambda value, names: names.link(value),
    "to": _copies,
    "because": _copies,
    "roles": _copies,
    "lapsed": _lapsed,
    "inbox": _inbox,
    "directive": _directive,
}
