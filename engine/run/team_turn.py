"""The turn of a role that is a team: what its run is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from orglab.engine.run.blackboard import Directive, Entry
from orglab.engine.run.errors import TurnFailed
from orglab.engine.run.limits import RunUsage
from orglab.engine.run.prompts.rendering import Prompter
from orglab.engine.run.replicas import Replica, Replicas
from orglab.engine.run.routing import EventDraft, InboxItem, Routing
from orglab.engine.run.state import RunState
from orglab.engine.run.subrun import outside
from orglab.engine.spec.model import InputField, Role
from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import loads
from orglab.providers.structured_output.validation import checker_for

__all__ = ["Given", "TeamTurn", "given_to", "hand_in", "team_inputs"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Given:
    """What reaches a role that is a team, and so the roles that begin the team's run.

    Attributes:
        inbox: What was delivered, with its entries.
        directive: What obliges the turn, or None.
        stake: The role's points, or None.
    """

    inbox: Sequence[tuple[InboxItem, Entry]] = ()
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
        given: What else reaches it.
        rank: How many teams declared earlier take a turn in this tick.
        allowance: US dollars that it may use in all.
        spent: What it used.
        turns: How many turns the team took.
        calls: Content digest and identity of what stands for its calls in the run's history.
        events: What the team did, as events of the run around it.
    """

    copy: Replica
    visit: int
    position: str
    inputs: Mapping[str, JSON]
    given: Given
    rank: int = 0
    allowance: float = float("inf")
    spent: RunUsage = field(default_factory=RunUsage)
    turns: int = 0
    calls: list[tuple[str, str]] = field(default_factory=list)
    events: Sequence[EventDraft] = ()


def team_inputs(
    role: Role, variables: Mapping[str, JSON], inputs: Mapping[str, JSON], prompter: Prompter
) -> dict[str, JSON]:
    """The inputs of a team's run: what ``with`` says, else the input of the same name.

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
    except (ValueError, RecursionError) as fault:
        words = f"`{declared.name}` is no text, and what `with` gives for it is no JSON: {fault}"
        raise TurnFailed("with", words) from fault


def _is_text(schema: Mapping[str, JSON]) -> bool:
    kinds = schema.get("type", "string")
    return "string" in ([kinds] if isinstance(kinds, str) else kinds)


def _must_fit(declared: InputField, value: JSON) -> None:
    if value is None and declared.optional:
        return
    faults = checker_for(declared.schema).errors(value, 1)
    if faults:
        raise TurnFailed("with", f"`{declared.name}` of the team: {'; '.join(faults)}")


# --- what reaches the team ----------------------------------------------------------------------


def given_to(copy: Replica, inbox: Sequence[InboxItem], state: RunState) -> Given:
    """What reaches a copy in the turn that begins."""
    sees = "inbox" in copy.role.sees
    items = [(item, state.board.entry(item.output, item.link, item.part)) for item in inbox]
    return Given(
        inbox=items if sees else (),
        directive=state.directives.get(copy.name),
        stake=state.stake(copy.name),
    )


def hand_in(
    given: Given, start: Sequence[str], *, replicas: Replicas, state: RunState, routing: Routing
) -> None:
    """Gives the roles that begin a team's run what reached the role that is the team."""
    inbox = []
    for item, entry in given.inbox:
        lent = item._replace(output=outside(item.output), link=outside(item.link))
        state.board.lend(lent.output, lent.link, lent.part, entry)
        inbox.append(lent)
    for copy in replicas.of(start):
        routing.give(copy.name, inbox)
        if given.directive is not None:
            link = outside(given.directive.link)
            state.directives[copy.name] = replace(given.directive, link=link)
        if given.stake is not None:
            state.lend_stake(copy.name, given.stake)
