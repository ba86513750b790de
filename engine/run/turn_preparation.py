"""Preparation of turns: prompts of roles and superiors, and what may be answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from orglab.engine.graph.output_fields import COUNTS
from orglab.engine.run.blackboard import BoardEntry
from orglab.engine.run.calls.model_registry import BoundModel
from orglab.engine.run.errors import TurnFailed
from orglab.engine.run.limits import RunUsage
from orglab.engine.run.prompts.rendering import Prompter, ToolGate
from orglab.engine.run.prompts.template_context import (
    ReviewSight,
    output_section,
    review_variables,
    turn_variables,
)
from orglab.engine.run.replicas import Replica, Replicas
from orglab.engine.run.routing import InboxItem
from orglab.engine.run.state import RunState
from orglab.engine.run.turn import Turn
from orglab.engine.run.turn_runner import TurnRunner
from orglab.providers.base import JSON, Message
from orglab.providers.structured_output.strict_json import canonical
from orglab.results.records import ToolEntry

REASON_CHARACTERS = 2000
"""The longest reason or suggestion of a verdict: bounded, so that a small model cannot run on."""


def verdict_schema(actions: Sequence[str], targets: Sequence[str]) -> dict[str, JSON]:
    """Return the schema of a verdict: only the actions and targets on offer can be chosen."""
    words = {"type": "string", "minLength": 1, "maxLength": REASON_CHARACTERS}
    properties: dict[str, JSON] = {
        "action": {"type": "string", "enum": list(actions)},
        "reason": words,
    }
    if "reject" in actions:
        properties["suggestion"] = {"type": "string", "maxLength": REASON_CHARACTERS}
    if targets:
        properties["target"] = {"type": "string", "enum": list(targets)}
    return {
        "type": "object",
        "properties": properties,
        "required": ["action", "reason"],
        "additionalProperties": False,
    }


@dataclass(kw_only=True, slots=True)
class TurnPreparation:
    """Prepares the turns of one run, and takes its reviews.

    Attributes:
        runner: Takes turns.
        state: The run.
        replicas: The team's replicas.
        inputs: The unit's inputs.
        bound_models: The model of each copy.
    """

    runner: TurnRunner
    state: RunState
    replicas: Replicas
    inputs: Mapping[str, JSON]
    bound_models: Mapping[str, BoundModel]
    _reviews: int = 0
    _tick: int = 0

    async def prepare(self, copy: Replica, inbox: Sequence[InboxItem], number: int) -> Turn:
        """Return a copy's own turn, ready to be taken.

        Raises:
            TurnFailed: Its prompt cannot be rendered.
        """
        state, role = self.state, copy.role
        position = f"{state.tick}.turn.{number}"
        variables = self.variables(copy, inbox)
        usage = RunUsage()
        gate = ToolGate(self._prompt_tool(copy, position, usage), role.tools)
        sees_own = "own" in role.sees
        before = state.conversation(copy.name) if sees_own else []
        system = await self._prompter.system(role, variables, gate)
        prompt = await self._prompter.turn(role, variables, gate, draft_seen=bool(before))
        said = Message(role="user", content=prompt)
        return Turn(
            copy=copy,
            visit=state.visits[copy.name],
            purpose="turn",
            position=position,
            bound_model=self.bound_models[copy.name],
            messages=[*_system(system), *before, said],
            schema=role.output,
            tools=role.tools if role.limits.tool_calls else (),
            exchange=[said],
            earlier=state.calls_of[copy.name],
            usage=usage,
        )

    def variables(self, copy: Replica, inbox: Sequence[InboxItem]) -> dict[str, JSON]:
        """Return what a copy's templates see in the turn that it begins."""
        state = self.state
        return turn_variables(
            copy,
            inputs=self.inputs,
            inbox=inbox,
            board=state.blackboard,
            replicas=self.replicas,
            directive=state.directives.get(copy.name),
            visit=state.visits[copy.name],
            own=state.own_outputs(copy.name),
            stake=state.stake(copy.name),
        )

    async def review(self, superior: Replica, sight: ReviewSight, phase: int) -> Mapping[str, JSON]:
        """Take a superior's review turn.

        Raises:
            TurnFailed: It gave no verdict.
            LimitReached: The run needs more than a limit allows.
        """
        self.runner.limits.begin_review()
        visit = self.state.next_visit(superior.name)
        self.state.emit(
            "review",
            link=sight.link.id,
            superior=superior.name,
            output=sight.output.id,
            visit=visit,
            phase=phase,
        )
        turn = await self._review_turn(superior, sight, phase, visit)
        (turn.allowance,) = self.allowances([turn])
        try:
            reading = await self.runner.take(turn)
        finally:
            self.close(turn)
            self.runner.limits.usage.add(turn.usage)
            self.runner.calls.counter.close(turn.calls)
        verdict: Mapping[str, JSON] = reading.value
        return verdict

    async def _review_turn(
        self, superior: Replica, sight: ReviewSight, phase: int, visit: int
    ) -> Turn:
        position = f"{self.state.tick}.review.{self._next_review()}"
        variables = review_variables(
            superior, sight, inputs=self.inputs, board=self.state.blackboard, visit=visit
        )
        usage = RunUsage()
        gate = ToolGate(self._prompt_tool(superior, position, usage), superior.role.tools)
        phase_prompt = sight.link.phases[phase].prompt
        system = await self._prompter.system(superior.role, variables, gate)
        prompt = await self._prompter.review(
            phase_prompt,
            variables,
            gate,
            output_section=output_section(sight, self.state.blackboard),
            on_cap=sight.link.on_cap,
        )
        return Turn(
            copy=superior,
            visit=visit,
            purpose="review",
            position=position,
            bound_model=self.bound_models[superior.name],
            messages=[*_system(system), Message(role="user", content=prompt)],
            schema=verdict_schema(sight.actions, sight.targets),
            tools=superior.role.tools if superior.role.limits.tool_calls else (),
            reviewed=sight.output.copy,
            earlier=self.state.calls_of[superior.name],
            usage=usage,
        )

    def allowances(self, turns: Sequence[Turn]) -> Sequence[float]:
        """US dollars that each of the turns, taken side by side, may use; reviews come alone."""
        limits = self.runner.limits
        if not limits.limits_cost:
            return [float("inf")] * len(turns)
        return limits.allowances([self.runner.next_call_bound(turn) for turn in turns])

    def close(self, turn: Turn) -> None:
        """Record how many calls a turn took."""
        self.state.calls_of[turn.copy.name] += (turn.visit,) * len(turn.calls)

    def _next_review(self) -> int:
        if self._tick != self.state.tick:
            self._tick, self._reviews = self.state.tick, 0
        self._reviews += 1
        return self._reviews - 1

    @property
    def _prompter(self) -> Prompter:
        return self.runner.prompter

    def _prompt_tool(
        self, copy: Replica, position: str, usage: RunUsage
    ) -> Callable[[str, Mapping[str, JSON]], Awaitable[JSON]]:
        """Call a tool for a prompt: recorded like a model's call, and paid for by the turn."""
        made = 0

        async def call(name: str, arguments: Mapping[str, JSON]) -> JSON:
            nonlocal made
            place = f"{position}.prompt.{made}"
            made += 1
            calls = self.runner.calls
            entry = calls.journal.recorded(place)
            if not isinstance(entry, ToolEntry):
                answer = await calls.toolbox.call(name, arguments)
                entry = ToolEntry(
                    position=place,
                    copy=copy.name,
                    role=copy.role.name,
                    visit=self.state.visits[copy.name],
                    tool=name,
                    **asdict(answer),
                    prompt=True,
                )
                await calls.journal.keep(entry)
            usage.seconds += entry.seconds
            if entry.error:
                raise ValueError(f"tool {name}: {entry.result['error']}")
            return entry.result

        return call


def _system(text: str) -> list[Message]:
    return [Message(role="system", content=text)] if text else []


# --- roles that vote ----------------------------------------------------------------------------


def count_votes(field: str, ballots: Sequence[BoardEntry]) -> dict[str, JSON]:
    """Return the winner and the counts: ``{FIELD: value, counts: [{value, votes}, …]}``.

    Values are equal where their JSON is: 1 and 1.0 are, "yes" and "Yes" are not. Counts stand in
    the order in which values first came; of equally common ones the first wins.

    Raises:
        TurnFailed: An input has no such field, or there is none.
    """
    counts: dict[str, dict[str, JSON]] = {}
    for ballot in ballots:
        if not isinstance(ballot.value, Mapping) or field not in ballot.value:
            words = f"the output of {ballot.copy} has no field `{field}` to vote on"
            raise TurnFailed("vote", words)
        value = ballot.value[field]
        key = canonical(_without_float_form(value))
        counts.setdefault(key, {"value": value, "votes": 0})["votes"] += 1
    if not counts:
        raise TurnFailed("vote", "there is nothing to count")
    winner = max(counts.values(), key=lambda count: count["votes"])
    return {field: winner["value"], COUNTS: list(counts.values())}


def _without_float_form(value: JSON) -> JSON:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: _without_float_form(part) for name, part in value.items()}
    return [_without_float_form(part) for part in value] if isinstance(value, list) else value
