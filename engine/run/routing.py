"""How outputs travel: joins, skips, conditions, closing links, and beginning anew.

Pure bookkeeping of one run: no I/O, no clock. The rules are those of "A run" in
``docs/explanation/engine.md``. Within a barrier the order is: deliver, then let what lies downstream of a role
that takes another turn begin anew, then let skips travel to their end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from orglab.engine.graph.team import Team
from orglab.engine.run.replicas import Replica, Replicas
from orglab.engine.spec.model import ForwardLink
from orglab.providers.base import JSON

Channel: TypeAlias = tuple[str, str]
"""(link id, name of the copy that sends)."""

WAIT, SKIP, ABSENT = "wait", "skip", "absent"
"""A channel without a message: one may come; none will in this pass; its sender is not begun."""


class InboxItem(NamedTuple):
    """A message in an inbox: which output, by which link, from which copy.

    Attributes:
        part: Of a list handed out item by item: its field, and which item, from 1; else None.
    """

    output: str
    link: str
    sender: str
    part: tuple[str, int] | None = None

    def body(self) -> dict[str, JSON]:
        """Return the message as an event carries it."""
        body: dict[str, JSON] = {"output": self.output, "link": self.link}
        return body if self.part is None else {**body, "item": self.part[1]}


class Delivery(NamedTuple):
    """An accepted output that is to travel on."""

    copy: str
    output: str
    value: JSON


class EventDraft(NamedTuple):
    """An event to record: kind and body."""

    kind: str
    body: dict[str, JSON]


@dataclass(slots=True)
class _Slot:
    """What a channel holds: a mark, or an output's id."""

    held: str = ABSENT
    message: bool = False
    fresh: bool = False
    affected: bool = False
    part: tuple[str, int] | None = None

    def put(self, held: str, *, message: bool, part: tuple[str, int] | None = None) -> None:
        self.held, self.message, self.fresh, self.affected = held, message, True, False
        self.part = part


@dataclass(slots=True)
class _State:
    """Where a copy is in the current pass."""

    status: Literal["idle", "waiting", "pending", "fired", "skipped"] = "idle"
    slots: dict[Channel, _Slot] = field(default_factory=dict)
    inbox: tuple[InboxItem, ...] = ()
    arrived: list[InboxItem] = field(default_factory=list)
    closing: list[InboxItem] = field(default_factory=list)


class RoutingPlan:
    """What never changes between runs of a team: who hears whom, in which order.

    Attributes:
        team: The compiled team.
        replicas: Its replicas.
        order: Replicas in topological order.
        leaving: For each role its forward links in declared order, ``otherwise`` links last.
        below: For each role the names of all replicas downstream of it.
        channels: For each copy its incoming DAG channels, in declared order.
        items: For each copy those channels by which it gets single items.
    """

    def __init__(self, team: Team) -> None:
        self.team = team
        self.replicas = Replicas(team.topology.roles)
        by_role = self.replicas.by_role
        self.order = [copy for role in team.order for copy in by_role[role]]
        self.leaving: dict[str, list[ForwardLink]] = {role: [] for role in by_role}
        self.channels: dict[str, list[Channel]] = {name: [] for name in self.replicas.by_name}
        self.items: dict[str, list[Channel]] = {}
        for link in sorted(team.topology.forward, key=lambda link: link.when == "otherwise"):
            self.leaving[link.source].append(link)
        for link in team.topology.forward:
            if link.id not in team.closing:
                self._connect(link)
        self.below = {
            role: frozenset(copy.name for below in roles for copy in by_role[below])
            for role, roles in team.downstream.items()
        }

    def _connect(self, link: ForwardLink) -> None:
        for target in self.replicas.by_role[link.target]:
            for source in self.replicas.by_role[link.source]:
                self.channels[target.name].append((link.id, source.name))
                if link.each is not None:
                    self.items.setdefault(target.name, []).append((link.id, source.name))


class Routing:
    """The state of one run's forward links.

    Attributes:
        uses: How often each closing link was used.
        stopped: Id of the used-up closing link that stops the run, or None.
    """

    def __init__(self, plan: RoutingPlan) -> None:
        self.plan = plan
        self.uses = dict.fromkeys(plan.team.closing, 0)
        self.stopped: str | None = None
        self._closing = plan.team.closing
        self._by_name = plan.replicas.by_name
        self._by_role = plan.replicas.by_role
        self._states = {
            name: _State(slots={channel: _Slot() for channel in channels})
            for name, channels in plan.channels.items()
        }
        self._begin()

    def _begin(self) -> None:
        team = self.plan.team
        begun = set(team.start).union(*(team.downstream[role] for role in team.start))
        for copy in self.plan.replicas.of(begun):
            state = self._states[copy.name]
            state.status = "pending" if copy.role.name in team.start else "waiting"
            for channel, slot in state.slots.items():
                if self._by_name[channel[1]].role.name in begun:
                    slot.held = WAIT

    def ready(self) -> list[Replica]:
        """Return the replicas that are ready, in declared order."""
        return [
            copy for name, copy in self._by_name.items() if self._states[name].status == "pending"
        ]

    def begin_turn(self, copy: str) -> tuple[InboxItem, ...]:
        """Mark the turn of ``copy`` as taken and return its inbox, one entry a sender."""
        state = self._states[copy]
        state.status = "fired"
        return state.inbox

    def set_inbox(self, copy: str, inbox: Sequence[InboxItem]) -> None:
        """Put what lies outside the run into the inbox of a copy that begins it."""
        self._states[copy].inbox = tuple(inbox)

    def withdraw(self, output: str) -> None:
        """Take a rejected output out of every inbox that holds it."""
        for state in self._states.values():
            state.inbox = tuple(item for item in state.inbox if item.output != output)
            state.arrived = [item for item in state.arrived if item.output != output]
            state.closing = [item for item in state.closing if item.output != output]

    def is_below(self, copy: str, others: Iterable[str]) -> bool:
        """Return whether ``copy`` lies downstream of any of ``others``."""
        below = self.plan.below
        return any(copy in below[self._by_name[other].role.name] for other in others)

    def barrier(
        self, accepted: Sequence[Delivery], sent_back: Sequence[str], skipped: Sequence[str]
    ) -> list[EventDraft]:
        """Deliver accepted outputs and determine who is ready next.

        Args:
            accepted: Outputs to deliver, in declared order.
            sent_back: Replicas that must take another turn, in the order of the verdicts.
            skipped: Replicas whose turn failed and is skipped.

        Returns:
            The events of the barrier, in order.
        """
        events: list[EventDraft] = []
        used_now: set[str] = set()
        for delivery in accepted:
            self._deliver(delivery, used_now, events)
        for name in skipped:
            self._states[name].status = "skipped"
            self._send_skips(self._by_name[name], events)
        self._take_again(list(sent_back), events)
        self._settle(events)
        for state in self._states.values():
            if state.arrived or state.closing:
                state.arrived.clear()
                state.closing.clear()
        return events

    # --- delivering -------------------------------------------------------------------------

    def _deliver(self, delivery: Delivery, used_now: set[str], events: list[EventDraft]) -> None:
        source = self._by_name[delivery.copy]
        blocked: list[ForwardLink] = []
        taken, others = 0, None  # `otherwise` links come last: what was taken before them
        for link in self.plan.leaving[source.role.name]:
            if others is None and link.when == "otherwise":
                others = taken
            if not _holds(link, delivery.value, others or 0):
                self._not_taken(link, source, "when", events)
            elif link.each is not None:
                taken += self._hand_out(link, link.each, delivery, events)
            elif link.cap is not None and not self._may_use(link, used_now):
                blocked.append(link)
                self._not_taken(link, source, "cap", events)
            else:
                taken += 1
                self._take(link, delivery, used_now, events)
        for link in blocked:
            events.append(EventDraft("cap_used_up", {"link": link.id}))
            if not taken and link.on_cap == "stop" and self.stopped is None:
                self.stopped = link.id

    def _may_use(self, link: ForwardLink, used_now: set[str]) -> bool:
        return link.id in used_now or self.uses[link.id] < (link.cap or 0)

    def _take(
        self, link: ForwardLink, delivery: Delivery, used_now: set[str], events: list[EventDraft]
    ) -> None:
        targets = self._by_role[link.target]
        body: dict[str, JSON] = {
            "output": delivery.output,
            "link": link.id,
            "to": [target.name for target in targets],
        }
        item = InboxItem(delivery.output, link.id, delivery.copy)
        if link.id in self._closing:
            if link.id not in used_now:
                used_now.add(link.id)
                self.uses[link.id] += 1
            body |= {"use": self.uses[link.id], "cap": link.cap}
        events.append(EventDraft("delivered", body))
        for target in targets:
            self._hand_over(target.name, item, events)

    def _hand_out(
        self, link: ForwardLink, field: str, delivery: Delivery, events: list[EventDraft]
    ) -> bool:
        """Deliver item i of a list to copy i; return whether there was any."""
        source, targets = self._by_name[delivery.copy], self._by_role[link.target]
        value = delivery.value
        items = value.get(field, ()) if isinstance(value, Mapping) else ()
        if len(items) > len(targets):  # the compiler refuses schemas that allow it
            raise ValueError(f"{link.id}: {len(items)} items for {len(targets)} replicas")
        served, rest = targets[: len(items)], targets[len(items) :]
        if served:
            to = [target.name for target in served]
            body = {"output": delivery.output, "link": link.id, "to": to}
            events.append(EventDraft("delivered", body))
        for target in served:
            item = InboxItem(delivery.output, link.id, delivery.copy, (field, target.index))
            self._hand_over(target.name, item, events)
        if rest:
            self._not_taken(link, source, "each", events, rest)
        return bool(served)

    def _hand_over(self, target: str, item: InboxItem, events: list[EventDraft]) -> None:
        state = self._states[target]
        if item.link in self._closing:
            state.closing.append(item)
            return
        state.slots[item.link, item.sender].put(item.output, message=True, part=item.part)
        state.arrived.append(item)
        if state.status != "waiting":
            late = {"link": item.link, "output": item.output, "copy": target}
            events.append(EventDraft("late", late))

    def _not_taken(
        self,
        link: ForwardLink,
        source: Replica,
        why: str,
        events: list[EventDraft],
        rest: Sequence[Replica] | None = None,
    ) -> None:
        targets = self._by_role[link.target] if rest is None else rest
        to = [target.name for target in targets]
        body = {"link": link.id, "copy": source.name, "to": to, "why": why}
        events.append(EventDraft("not_taken", body))
        if link.id not in self._closing:
            for target in targets:
                self._states[target.name].slots[link.id, source.name].put(SKIP, message=False)

    def _send_skips(self, source: Replica, events: list[EventDraft]) -> None:
        for link in self.plan.leaving[source.role.name]:
            self._not_taken(link, source, "skipped", events)

    # --- taking another turn ----------------------------------------------------------------

    def _take_again(self, sent_back: list[str], events: list[EventDraft]) -> None:
        states = self._states
        reached = [name for name in states if states[name].closing and name not in sent_back]
        takers = sent_back + reached
        if not takers:
            return
        lasting = [name for name in takers if not self.is_below(name, takers)]
        roles = [self._by_name[name].role.name for name in lasting]
        below = frozenset[str]().union(*(self.plan.below[role] for role in roles))
        lapsed = self._lapse(below, sent_back)
        self._renew(below, frozenset(lasting))
        for name in lasting:
            self._schedule(name, events, sent_back=name in sent_back)
        if below:
            anew = [name for name in self._by_name if name in below]
            body = {"because": lasting, "roles": anew, "lapsed": lapsed}
            events.append(EventDraft("anew", body))

    def _lapse(self, below: frozenset[str], sent_back: Sequence[str]) -> list[dict[str, str]]:
        lapsed: list[dict[str, str]] = []
        for name, state in self._states.items():
            if name not in below:
                continue
            if name in sent_back:
                lapsed.append({"what": "directive", "copy": name})
            if state.closing or state.arrived:
                lapsed.append({"what": "input", "copy": name})
            if state.status == "pending":
                lapsed.append({"what": "turn", "copy": name})
        return lapsed

    def _renew(self, below: frozenset[str], again: frozenset[str]) -> None:
        for name in below:
            state = self._states[name]
            state.status = "waiting"
            state.closing.clear()
            for (_, sender), slot in state.slots.items():
                slot.fresh = False
                if sender in below or sender in again:
                    slot.held, slot.message, slot.affected = WAIT, False, True

    def _schedule(self, name: str, events: list[EventDraft], *, sent_back: bool) -> None:
        """Make a turn pending: a role sent back reads its last inbox again, then what came."""
        state = self._states[name]
        if state.closing:
            last = state.inbox if sent_back else ()
            state.inbox = _one_a_sender((*last, *state.arrived, *state.closing))
        if state.status == "waiting":
            read = {(item.output, item.part) for item in state.inbox}
            for (link, _), slot in state.slots.items():
                if slot.message and (slot.held, slot.part) not in read:
                    late = {"link": link, "output": slot.held, "copy": name}
                    events.append(EventDraft("late", late))
        state.status = "pending"

    # --- joins and skips --------------------------------------------------------------------

    def _settle(self, events: list[EventDraft]) -> None:
        for copy in self.plan.order:
            state = self._states[copy.name]
            if state.status != "waiting":
                continue
            slots = state.slots.values()
            items = [state.slots[channel] for channel in self.plan.items.get(copy.name, ())]
            if _lacks_item(items):
                self._skip_or_wait(copy, state, items, events)
            elif _fires(copy.role.join, slots):
                state.status = "pending"
                state.inbox = _one_a_sender(
                    InboxItem(slot.held, link, sender, slot.part)
                    for (link, sender), slot in state.slots.items()
                    if slot.message
                )
            else:
                self._skip_or_wait(copy, state, slots, events)

    def _skip_or_wait(
        self, copy: Replica, state: _State, slots: Collection[_Slot], events: list[EventDraft]
    ) -> None:
        """Skip a copy whose ``slots`` can no longer get a message."""
        if WAIT not in [slot.held for slot in slots]:
            state.status = "skipped"
            events.append(EventDraft("skipped", {"copy": copy.name, "why": "inputs"}))
            self._send_skips(copy, events)


def _lacks_item(items: Sequence[_Slot]) -> bool:
    """Return whether a copy that works on single items has none yet."""
    return bool(items) and not any(slot.message for slot in items)


def _fires(join: str, slots: Collection[_Slot]) -> bool:
    messages = [slot for slot in slots if slot.message]
    if not messages:
        return False
    waiting = [slot for slot in slots if not slot.message and slot.held == WAIT]
    if join == "all":
        return not waiting
    fresh = any(slot.fresh for slot in messages)
    return fresh or not any(slot.affected for slot in waiting)


def _one_a_sender(items: Iterable[InboxItem]) -> tuple[InboxItem, ...]:
    seen: dict[tuple[str, tuple[str, int] | None], InboxItem] = {}
    for item in items:
        seen.setdefault((item.output, item.part), item)
    return tuple(seen.values())


def _holds(link: ForwardLink, value: JSON, others_taken: int) -> bool:
    """Whether a link is taken; every ``otherwise`` link is, where no other link is."""
    if link.when is None:
        return True
    if link.when == "otherwise":
        return not others_taken
    return _matches(link.when, value)


def _matches(when: Mapping[str, tuple[JSON, ...]], value: JSON) -> bool:
    if not isinstance(value, Mapping):
        return False
    return all(
        name in value and any(_same(value[name], wanted) for wanted in allowed)
        for name, allowed in when.items()
    )


def _same(left: JSON, right: JSON) -> bool:
    """JSON equality: true is not 1."""
    return left == right and isinstance(left, bool) == isinstance(right, bool)
