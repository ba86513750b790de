"""Upper bounds of one run's turns and model calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from orglab.engine.graph.checks.authority import acting, asks_model, may_oblige
from orglab.engine.graph.dag import Shape, shape_of
from orglab.engine.graph.team import Bounds
from orglab.engine.spec.model import AuthorityLink, Role, Topology


def calls_of_turn(role: Role) -> int:
    """Return the most model calls of one turn or review of ``role``.

    Each call asks for one tool at least, or answers, or is answered with a request to repair:
    ``tool_calls`` (where it has tools) + 1 + ``repair_attempts``. A vote makes none; a team as
    many as one run of it.
    """
    if role.vote is not None:
        return 0
    if role.team is not None:
        return bounds_of(shape_of(role.team)).calls
    rounds = role.limits.tool_calls if role.tools else 0
    return rounds + 1 + role.limits.repair_attempts


def bounds_of(shape: Shape) -> Bounds:
    """Return the most turns (reviews by a model included) and model calls that one run can take.

    With ``n(r)`` copies of role r, and ``w(r)`` = 1 + the reviews by a model of every output of r
    (every replica of a superior that judges is asked)::

        once(r)  = n(r) · w(r)                   every copy takes a turn, each output is reviewed
        below(r) = Σ once(d), d downstream of r
        turns    = Σ once(r)                     the first pass, over the roles that are reached
                 + Σ cap · (once(t) + below(t))  closing links, t where each leads
                 + Σ cap · max (k · w(a) + below(a))   authority links that may oblige, a who may
                                                 have to act
                 + reviews by links with ``reviews`` and by coins, which have bounds of their own

    k is 1 for a role sent back for its own output, ``n(a)`` where another's output may send a
    back. A link with ``reviews: k`` reviews a copy at most k times, and no more often than it can
    take turns. A coin asks the superior only when it falls heads, which uses the cap. The bound
    on calls weighs each turn with ``calls_of_turn``. A turn of a role that is a team counts for
    itself and for the turns of one run of the team. ``limits.turns`` cuts both; teams side by side
    look at what earlier ticks used, so each of them may come to the limit.
    """
    turns = _Sum(shape, _turns_of_turn).total()
    calls = _Sum(shape, calls_of_turn).total()
    limit = shape.topology.limits.turns
    if limit is not None and (most := limit * _side_by_side(shape.topology)) < turns:
        turns, calls = most, min(calls, most * _most_expensive(shape.topology))
    return Bounds(turns=turns, calls=calls)


def _side_by_side(topology: Topology) -> int:
    """Return how many teams may run side by side, at least 1."""
    teams = [role for role in topology.roles.values() if role.team is not None]
    return max(1, sum(role.replicas * _side_by_side(role.team) for role in teams if role.team))


def _most_expensive(topology: Topology) -> int:
    """Return the most model calls of one turn of a role that asks a model, in sub-teams too."""
    roles = topology.roles.values()
    own = [calls_of_turn(role) for role in roles if role.team is None]
    return max([*own, *(_most_expensive(role.team) for role in roles if role.team)], default=0)


def calls_by_role(topology: Topology) -> dict[str, int]:
    """Return the most model calls that each role can make in one run of a sound topology.

    A role of a sub-team is called ``ROLE/NAME``; the role that is the team stands for all of
    them. Each bound holds by itself; together they may come to more than the run's bound on calls.
    """
    shape = shape_of(topology)
    limit = topology.limits.turns
    found: dict[str, int] = {}
    for name, role in topology.roles.items():
        turns = _Sum(shape, lambda other, name=name: int(other.name == name)).total()  # type: ignore[misc]
        most = turns if limit is None else min(turns, limit)
        found[name] = most * calls_of_turn(role)
        if role.team is not None:
            inner = calls_by_role(role.team)
            found |= {f"{name}/{path}": most * calls for path, calls in inner.items()}
    return found


def _turns_of_turn(role: Role) -> int:
    """Return the most turns that one turn of a role counts for."""
    return 1 if role.team is None else 1 + bounds_of(shape_of(role.team)).turns


@dataclass(slots=True)
class _Sum:
    """One bound: of whatever ``weight`` says a turn of a role counts for."""

    shape: Shape
    weight: Callable[[Role], int]
    turn: dict[str, int] = field(default_factory=dict)
    below: dict[str, int] = field(default_factory=dict)

    def total(self) -> int:
        roles = self.shape.topology.roles
        self.turn = {name: self.weight(role) for name, role in roles.items()}
        for link in self.shape.authority:
            if asks_model(link) and not self._is_counted(link):
                for name in link.targets:
                    self.turn[name] += self._review(link)
        first = sum(self._once(name) for name in self.shape.reached)
        return first + self._closings() + self._obliged() + self._counted()

    def _review(self, link: AuthorityLink) -> int:
        """Return the weight of one review: every replica judges, the first speaks for a check or coin."""
        superior = self.shape.topology.roles[link.source]
        asked = superior.replicas if link.trigger.kind == "judgement" else 1
        return asked * self.weight(superior)

    def _is_counted(self, link: AuthorityLink) -> bool:
        """Return whether the link's reviews have a bound of their own."""
        return link.reviews is not None or self._is_coin(link)

    def _is_coin(self, link: AuthorityLink) -> bool:
        # A review that is skipped uses no cap, so only a superior whose failure ends the run is
        # asked no more often than the cap says.
        superior = self.shape.topology.roles[link.source]
        return link.trigger.kind == "coin" and superior.on_error == "fail"

    def _once(self, name: str) -> int:
        return self.shape.topology.roles[name].replicas * self.turn[name]

    def _below(self, name: str) -> int:
        if name not in self.below:
            self.below[name] = sum(map(self._once, self.shape.downstream[name]))
        return self.below[name]

    def _closings(self) -> int:
        links = [link for link in self.shape.forward if link.id in self.shape.closing]
        costs = [(link.cap or 0, link.target) for link in links]
        return sum(cap * (self._once(name) + self._below(name)) for cap, name in costs)

    def _obliged(self) -> int:
        links = [link for link in self.shape.authority if may_oblige(link)]
        return sum(link.cap * max(self._costs(link), default=0) for link in links)

    def _costs(self, link: AuthorityLink) -> Iterable[int]:
        for name in acting(link):
            again = (
                self._once(name) if _sent_for_others(self.shape, link, name) else self.turn[name]
            )
            yield again + self._below(name)

    def _counted(self) -> int:
        total = 0
        for link in self.shape.authority:
            if asks_model(link) and self._is_counted(link):
                total += self._review(link) * self._reviews(link)
        return total

    def _reviews(self, link: AuthorityLink) -> int:
        bounds = [link.cap] if self._is_coin(link) else []
        if link.reviews is not None:
            roles = self.shape.topology.roles
            bounds.append(
                sum(
                    roles[name].replicas * min(link.reviews, _turns_of_copy(self.shape, name))
                    for name in link.targets
                )
            )
        return min(bounds)


def _sent_for_others(shape: Shape, link: AuthorityLink, name: str) -> bool:
    """Return whether another role's output may send ``name`` back, and so all of its copies."""
    if link.trigger.kind != "judgement":
        return link.target is not None
    return not shape.downstream[name].isdisjoint(link.targets)


def _turns_of_copy(shape: Shape, name: str) -> int:
    """Return the most turns that one copy of ``name`` can take."""
    before = shape.upstream[name] | {name}
    closing = [link for link in shape.forward if link.id in shape.closing]
    uses = sum(link.cap or 0 for link in closing if link.target in before)
    for link in shape.authority:
        if may_oblige(link) and not before.isdisjoint(acting(link)):
            uses += link.cap
    return 1 + uses
