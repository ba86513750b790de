"""Everything a run knows: its board, its counters, its events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from orglab.engine.run.blackboard import Blackboard, Directive
from orglab.engine.run.prompts.template_context import PastVerdict, past_verdict
from orglab.engine.run.replicas import Replica, Replicas
from orglab.engine.run.routing import EventDraft
from orglab.engine.spec.model import AuthorityLink, Topology
from orglab.providers.base import JSON, Message
from orglab.results.records import Event, Output, Verdict
from orglab.results.store.journal.history import verdicts_of
from orglab.results.store.journal.journal import Journal


@dataclass(kw_only=True, slots=True)
class LinkState:
    """Counters of an authority link: they belong to the run and never restart within it.

    Attributes:
        used: How often the link has obliged.
        reviews: How often each copy was reviewed.
        phase: The review phase of each copy's next review, from 0.
        verdicts: The superior's verdicts, as it remembers them.
    """

    used: int = 0
    reviews: dict[str, int] = field(default_factory=dict)
    phase: dict[str, int] = field(default_factory=dict)
    verdicts: list[PastVerdict] = field(default_factory=list)


class RunState:
    """The state of one run, but for the forward links (``Routing``) and the limits (``RunLimits``).

    Attributes:
        board: What has been said.
        events: Every event so far.
        verdicts: Every verdict so far.
        tick: The tick under way.
        visits: How many turns each copy has taken, reviews included.
        links: Counters of each authority link.
        directives: What obliges each copy in its next turn.
    """

    def __init__(self, topology: Topology, replicas: Replicas, journal: Journal) -> None:
        authority = topology.authority
        self.blackboard = Blackboard()
        self.events: list[Event] = []
        self.verdicts: list[Verdict] = []
        self.tick = 0
        self.visits = dict.fromkeys(replicas.by_name, 0)
        self.links = {link.id: LinkState() for link in authority}
        self.directives: dict[str, Directive] = {}
        self.calls_of: dict[str, tuple[int, ...]] = dict.fromkeys(replicas.by_name, ())
        self._exchanges: dict[str, list[tuple[str, Sequence[Message]]]] = {}
        self._journal = journal
        self._points = _points(authority, replicas)
        self._outer_stakes: dict[str, float] = {}
        self._stakes = {link.id: link.stake for link in authority if link.stake}
        self._links_of = {
            name: [link for link in authority if copy.role.name in link.targets]
            for name, copy in replicas.by_name.items()
        }

    # --- events -----------------------------------------------------------------------------

    def emit(self, kind: str, **body: JSON) -> None:
        """Record an event."""
        made = Event(seq=len(self.events), tick=self.tick, kind=kind, body=body)
        self.events.append(made)
        self._journal.emit((made,))

    def emit_all(self, emitted: Sequence[EventDraft]) -> None:
        """Record events in order."""
        made = [
            Event(seq=len(self.events) + number, tick=self.tick, kind=each.kind, body=each.body)
            for number, each in enumerate(emitted)
        ]
        self.events += made
        self._journal.emit(made)

    # --- turns ------------------------------------------------------------------------------

    def next_visit(self, copy: str) -> int:
        """Begin another turn of a copy."""
        self.visits[copy] += 1
        return self.visits[copy]

    def stake(self, copy: str) -> float | None:
        """Return a copy's points (integers where they are whole), or None without a stake."""
        points = self._points.get(copy, self._outer_stakes.get(copy))
        return int(points) if points is not None and points.is_integer() else points

    def set_outer_stake(self, copy: str, points: float) -> None:
        """Let a copy see the points of the role around its team."""
        self._outer_stakes[copy] = points

    def absorb(self, emitted: Sequence[EventDraft]) -> None:
        """Record the events and verdicts of a subrun."""
        self.emit_all(emitted)
        self.verdicts += verdicts_of(self.events[len(self.events) - len(emitted) :])

    def conversation(self, copy: str) -> list[Message]:
        """Return the copy's earlier turns, as conversation turns."""
        return [message for _, said in self._exchanges.get(copy, []) for message in said]

    def own_outputs(self, copy: str) -> list[Output]:
        """Return the copy's earlier outputs that were not withdrawn."""
        return [self.blackboard.outputs[output] for output, _ in self._exchanges.get(copy, [])]

    def post(self, output: Output, exchange: Sequence[Message]) -> None:
        """Post an output, and store the conversation that led to it."""
        self.blackboard.post(output)
        self._exchanges.setdefault(output.copy, []).append((output.id, exchange))
        self.emit(
            "output",
            id=output.id,
            copy=output.copy,
            role=output.role,
            visit=output.visit,
            value=output.value,
            text=output.text,
        )

    def mark(
        self,
        output: str,
        fate: Literal["posted", "delivered", "sent back", "rejected", "lapsed"] | None = None,
        *,
        forced: bool = False,
        unreviewed: bool = False,
    ) -> None:
        """Record what became of an output."""
        old = self.blackboard.outputs[output]
        self.blackboard.outputs[output] = replace(
            old,
            fate=fate or old.fate,
            forced=old.forced or forced,
            unreviewed=old.unreviewed or unreviewed,
        )

    # --- verdicts ---------------------------------------------------------------------------

    def record(self, verdict: Verdict, *, spoken: bool, targets: Sequence[str] = ()) -> None:
        """Record a verdict, and what it does to the points of those who must answer for it.

        Args:
            verdict: The verdict.
            spoken: The superior gave it in a turn of its own, and remembers it.
            targets: The replicas that it obliges; the event names them where there are several.
        """
        self.verdicts.append(verdict)
        if spoken:
            self.links[verdict.link].verdicts.append(past_verdict(verdict))
        several = {"targets": list(targets)} if len(targets) > 1 else {}
        self.emit("verdict", **asdict(verdict), **several)
        stake = self._stakes.get(verdict.link)
        if stake is not None and verdict.action != "comment":
            staked = [name for name in targets if name in self._points]
            for name in staked or [verdict.copy]:
                self._points[name] += getattr(stake, verdict.action)
        if verdict.forced:
            self.mark(verdict.output, forced=True)

    def withdraw(self, output: str) -> None:
        """Withdraw an output from everyone's sight; its copy starts again."""
        copy = self.blackboard.outputs[output].copy
        self.mark(output, "rejected")
        self.blackboard.withdraw(output)
        exchanges = self._exchanges.get(copy, [])
        self._exchanges[copy] = [said for said in exchanges if said[0] != output]
        for link in self._links_of[copy]:
            self.links[link.id].phase[copy] = 0
        self.emit("withdrawn", output=output)


def _points(authority: Sequence[AuthorityLink], replicas: Replicas) -> dict[str, float]:
    points: dict[str, float] = {}
    for link in authority:
        if link.stake is None:
            continue
        for copy in replicas.of(link.targets):
            points[copy.name] = points.get(copy.name, 0.0) + float(link.stake.start)
    return points


def phase_of(link: AuthorityLink, state: LinkState, copy: str) -> int:
    """Return the phase in which a copy is reviewed next."""
    return min(state.phase.get(copy, 0), len(link.phases) - 1)


def reviews_left(link: AuthorityLink, state: LinkState, copy: str) -> bool:
    """Return whether the link still reviews a copy."""
    return link.reviews is None or state.reviews.get(copy, 0) < link.reviews


def names_of(replicas: Sequence[Replica]) -> list[str]:
    """Return the names of replicas."""
    return [copy.name for copy in replicas]
