"""A run within a run, seen from outer_name: its names, its journal, its events.

A role that is a team runs a whole run in each of its turns. Inside, the run knows nothing of the
one around it; what it leaves behind bears the names of both: ``lead/writer`` is the writer of the
team of ``lead``. Turns of a copy and uses of a link count on over the turns of the role, so that
``lead/writer@3`` is one output of the whole run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from orglab.engine.run.blackboard import BoardEntry, Directive
from orglab.engine.run.errors import TurnFailed
from orglab.engine.run.limits import RunUsage
from orglab.engine.run.prompts.rendering import Prompter
from orglab.engine.run.replicas import Replica
from orglab.engine.run.routing import EventDraft, InboxItem, Routing
from orglab.engine.run.state import RunState
from orglab.engine.spec.model import InputField, Role
from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import loads
from orglab.providers.structured_output.validation import checker_for
from orglab.results.records import DecisionEntry, Event, JournalEntry
from orglab.results.store.journal.history import use_of
from orglab.results.store.journal.journal import Attempt, CallGuard, Journal

Body: TypeAlias = Mapping[str, JSON]

_TAKING: Final = {"turn": "copy", "review": "superior"}
"""Events by which a copy takes a turn, and where it is in them."""
OUTER_PREFIX: Final = "../"
"""What the name of something from outer_name begins with, inside a run."""


def outer_name(name: str) -> str:
    """Return a subrun's name of an output or link of the outer run."""
    return f"{OUTER_PREFIX}{name}" if name else ""


@dataclass(kw_only=True, slots=True)
class SubrunNames:
    """How what a copy's team leaves behind is called in the run around it.

    Attributes:
        role: The role that is the team.
        copy: The copy of it.
        visits: How many turns each copy of the team took in earlier turns of this copy.
        uses: How often each closing link was used in them, by the copy of a sub-team, "" for
            the team itself.
    """

    role: str
    copy: str
    visits: dict[str, int] = field(default_factory=dict)
    uses: dict[tuple[str, str], int] = field(default_factory=dict)

    @classmethod
    def of(cls, copy: Replica) -> SubrunNames:
        """Return the names of a copy's team before its first turn."""
        return cls(role=copy.role.name, copy=copy.name)

    def by_copy(self, name: str) -> str:
        """Return a copy of the team."""
        return f"{self.copy}/{name}"

    def by_role(self, name: str) -> str:
        """Return a role, or a role's name that stands for the outputs of all its replicas."""
        return f"{self.role}/{name}"

    def link(self, name: str) -> str:
        """Return a link; one from outer_name keeps its own name."""
        if name.startswith(OUTER_PREFIX):
            return name.removeprefix(OUTER_PREFIX)
        return f"{self.role}/{name}" if name else ""

    def visit(self, copy: str, visit: int) -> int:
        """Return a copy's visit, counted over the outer run."""
        return visit + self.visits.get(copy, 0)

    def output(self, name: str) -> str:
        """Return an output, by its id; a role's name means the outputs of all its replicas."""
        if name.startswith(OUTER_PREFIX):
            return name.removeprefix(OUTER_PREFIX)
        copy, at, visit = name.rpartition("@")
        return f"{self.copy}/{copy}@{self.visit(copy, int(visit))}" if at else self.by_role(name)

    def close(self, events: Sequence[Event]) -> None:
        """End a turn of the copy: what the team did in it, sub-teams it too."""
        for event in events:
            if event.kind in _TAKING:
                copy = event.body[_TAKING[event.kind]]
                self.visits[copy] = self.visits.get(copy, 0) + 1
        for around, link, _ in dict.fromkeys(filter(None, map(use_of, events))):
            self.uses[around, link] = self.uses.get((around, link), 0) + 1


class SubrunJournal:
    """The journal of a run within: a part of the one around it, below the position of the turn.

    Events are left to the run around it: they are written when the turn's place in the order comes.
    """

    def __init__(self, journal: Journal, at: str, names: SubrunNames) -> None:
        self._journal = journal
        self._at = at
        self._names = names

    def recorded(self, position: str) -> JournalEntry | None:
        """Return what the journal holds at ``position``."""
        return self._journal.recorded(f"{self._at}.{position}")

    def guard(self, first: Attempt) -> CallGuard:
        """Return the guard of a call under its name in the run around it."""
        position, copy = f"{self._at}.{first.position}", self._names.by_copy(first.copy)
        return self._journal.guard(replace(first, position=position, copy=copy))

    async def keep(self, entry: JournalEntry) -> None:
        """Store an entry under its name in the run around it."""
        names = self._names
        position, copy = f"{self._at}.{entry.position}", names.by_copy(entry.copy)
        if isinstance(entry, DecisionEntry):
            output = names.output(entry.output) if entry.output else ""
            named: JournalEntry = replace(entry, position=position, copy=copy, output=output)
        else:
            role, visit = names.by_role(entry.role), names.visit(entry.copy, entry.visit)
            named = replace(entry, position=position, copy=copy, role=role, visit=visit)
        await self._journal.keep(named)

    def emit(self, events: Sequence[Event]) -> None:
        """Nothing yet."""


# --- events -------------------------------------------------------------------------------------


def outer_events(events: Sequence[Event], names: SubrunNames, visit: int) -> list[EventDraft]:
    """Return a subrun's events in the outer run's names.

    Args:
        events: Its events, in order.
        names: Its names, before the turn is closed.
        visit: Which turn of the copy it was.
    """
    return [_outer_event(event, names, visit) for event in events]


def _outer_event(event: Event, names: SubrunNames, visit: int) -> EventDraft:
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


def _end(body: Body, names: SubrunNames, visit: int) -> dict[str, JSON]:
    """Return the event of a subrun's start or end, its team first."""
    found: dict[str, JSON] = {"copy": names.copy, "visit": visit}
    if "models" in body:
        models = {names.by_copy(copy): alias for copy, alias in body["models"].items()}
        return {**found, "inputs": body["inputs"], "models": models}
    ends = {key: names.output(body[key]) if body[key] else None for key in ("answer", "last")}
    return {**found, "status": body["status"], "reason": body["reason"], **ends}


def _name(key: str, value: JSON, names: SubrunNames) -> JSON:
    if value is None:
        return None
    rename = _BY_KEY.get(key)
    return value if rename is None else rename(value, names)


def _copies(value: JSON, names: SubrunNames) -> JSON:
    return [names.by_copy(name) for name in value]


def _lapsed(value: JSON, names: SubrunNames) -> JSON:
    return [{**item, "copy": names.by_copy(item["copy"])} for item in value]


def _inbox(value: JSON, names: SubrunNames) -> JSON:
    return [
        {**item, "output": names.output(item["output"]), "link": names.link(item["link"])}
        for item in value
    ]


def _directive(value: JSON, names: SubrunNames) -> JSON:
    if value["link"].startswith(OUTER_PREFIX):
        return {**value, "link": names.link(value["link"])}
    return {
        **value,
        "link": names.link(value["link"]),
        "superior": names.by_role(value["superior"]),
    }


_BY_KEY: Final[Mapping[str, Callable[[JSON, SubrunNames], JSON]]] = {
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


# --- the turn of a role that is a team ----------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class SubrunContext:
    """What reaches a role that is a team, and so the roles that begin the team's run.

    Attributes:
        inbox: What was delivered, with its entries.
        directive: What obliges the turn, or None.
        stake: The role's points, or None.
    """

    inbox: Sequence[tuple[InboxItem, BoardEntry]] = ()
    directive: Directive | None = None
    stake: float | None = None


@dataclass(kw_only=True, slots=True)
class TeamTurn:
    """A turn of a role that is a team.

    Attributes:
        copy: Whose turn it is.
        visit: Which turn of the copy.
        position: Where in the run it stands.
        inputs: The inputs of the team's run.
        context: What else reaches it.
        rank: How many teams declared earlier take a turn in this tick.
        allowance: US dollars that it may use in all.
        usage: What it used.
        turns: How many turns the team took.
        calls: Content digest and identity of what stands for its calls in the run's history.
        events: What the team did, as events of the run around it.
    """

    copy: Replica
    visit: int
    position: str
    inputs: Mapping[str, JSON]
    context: SubrunContext
    rank: int = 0
    allowance: float = float("inf")
    usage: RunUsage = field(default_factory=RunUsage)
    turns: int = 0
    calls: list[tuple[str, str]] = field(default_factory=list)
    events: Sequence[EventDraft] = ()


def team_inputs(
    role: Role, variables: Mapping[str, JSON], inputs: Mapping[str, JSON], prompter: Prompter
) -> dict[str, JSON]:
    """Return the inputs of a team's run: what ``with`` says, else the input of the same name.

    Raises:
        TurnFailed: A template fails, or a value does not fit what the team declares.
    """
    team = role.team
    seen = inputs if "task" in role.sees else {}
    found: dict[str, JSON] = {}
    for name, declared in team.inputs.items() if team else ():
        value = seen.get(name)
        if name in role.fill:
            value = _filled(declared, role.fill[name], variables, prompter)
        _must_fit(declared, value)
        found[name] = value
    return found


def _filled(
    declared: InputField, written: JSON, variables: Mapping[str, JSON], prompter: Prompter
) -> JSON:
    value = prompter.filled(written, variables)
    if not isinstance(written, str) or _is_text(declared.schema):
        return value
    try:
        return loads(value)
    except (ValueError, RecursionError) as error:
        words = f"`{declared.name}` is no text, and what `with` gives for it is no JSON: {error}"
        raise TurnFailed("with", words) from error


def _is_text(schema: Mapping[str, JSON]) -> bool:
    kinds = schema.get("type", "string")
    return "string" in ([kinds] if isinstance(kinds, str) else kinds)


def _must_fit(declared: InputField, value: JSON) -> None:
    if value is None and declared.optional:
        return
    errors = checker_for(declared.schema).errors(value, 1)
    if errors:
        raise TurnFailed("with", f"`{declared.name}` of the team: {'; '.join(errors)}")


# --- what reaches the team ----------------------------------------------------------------------


def context_for(copy: Replica, inbox: Sequence[InboxItem], state: RunState) -> SubrunContext:
    """Return what a copy receives in the turn that begins."""
    sees = "inbox" in copy.role.sees
    items = [(item, state.blackboard.entry(item.output, item.link, item.part)) for item in inbox]
    return SubrunContext(
        inbox=items if sees else (),
        directive=state.directives.get(copy.name),
        stake=state.stake(copy.name),
    )


def deliver_context(
    context: SubrunContext, start: Sequence[Replica], state: RunState, routing: Routing
) -> None:
    """Give the roles that begin a team's run what reached the role that is the team."""
    inbox = []
    for item, entry in context.inbox:
        outer = item._replace(output=outer_name(item.output), link=outer_name(item.link))
        state.blackboard.add_outer(outer.output, outer.link, outer.part, entry)
        inbox.append(outer)
    for copy in start:
        routing.set_inbox(copy.name, inbox)
        if context.directive is not None:
            link = outer_name(context.directive.link)
            state.directives[copy.name] = replace(context.directive, link=link)
        if context.stake is not None:
            state.set_outer_stake(copy.name, context.stake)
