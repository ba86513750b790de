"""Taking a turn: model calls, tool calls and repairs, until a reply can be parsed."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from orglab.engine.run.calls.call_key import digest
from orglab.engine.run.calls.model_call import ModelCalls
from orglab.engine.run.calls.toolbox import ToolAnswer, refusal
from orglab.engine.run.errors import TurnFailed
from orglab.engine.run.limits import ROUNDING, LimitReached, RunLimits
from orglab.engine.run.prompts.rendering import Prompter
from orglab.engine.run.turn import Turn
from orglab.providers.base import Completion, Message, ToolCall
from orglab.providers.structured_output.parse import Reading
from orglab.providers.structured_output.strict_json import canonical
from orglab.results.records import CallEntry, ToolEntry


@dataclass(kw_only=True, slots=True)
class TurnRunner:
    """Takes the turns of one run.

    Attributes:
        calls: Makes the calls of models.
        limits: The run's limits.
        prompter: Renders repair prompts.
    """

    calls: ModelCalls
    limits: RunLimits
    prompter: Prompter

    def first_call(self, turn: Turn) -> str:
        """Return the content digest of the turn's first call: turns that begin alike are ranked."""
        turn.first = self.calls.content(turn)
        return turn.first

    def next_call_bound(self, turn: Turn) -> float:
        """Return the upper bound of the next call's cost in US dollars; 0 if unknown."""
        return turn.bound_model.most(self.calls.request(turn, "")) or 0.0

    async def take(self, turn: Turn) -> Reading:
        """Take a turn until its reply can be parsed.

        Raises:
            TurnFailed: The call failed, or no reply could be read.
            LimitReached: A limit of the run is reached.
        """
        while True:
            self._check_limits(turn)
            entry, completion, reading = await self.calls.call(turn)
            turn.step += 1
            _account(turn, entry)
            if reading is None:
                await self._call_tools(turn, completion)
            elif reading.problem is None:
                text = _shown_reply(completion, reading)
                turn.exchange.append(Message(role="assistant", content=text))
                return reading
            else:
                self._request_repair(turn, completion, reading)

    def _check_limits(self, turn: Turn) -> None:
        self.limits.before_call(turn.usage)
        bound = self.next_call_bound(turn) if turn.allowance < float("inf") else 0.0
        if turn.usage.most_usd + bound > turn.allowance + ROUNDING:
            raise LimitReached("cost_usd")

    def _request_repair(self, turn: Turn, completion: Completion, reading: Reading) -> None:
        turn.repairs += 1
        turn.messages.append(Message(role="assistant", content=completion.text or "(nothing)"))
        values = {"problem": reading.message, "structured": turn.schema is not None}
        turn.messages.append(Message(role="user", content=self.prompter.engine("repair", values)))

    # --- tools ------------------------------------------------------------------------------

    async def _call_tools(self, turn: Turn, completion: Completion) -> None:
        message = Message(
            role="assistant", content=completion.text, tool_calls=completion.tool_calls
        )
        _extend(turn, message)
        for number, call in enumerate(completion.tool_calls):
            position = f"{turn.position}.{turn.step - 1}.tool.{number}"
            entry = await self._tool_call(turn, call, position)
            turn.usage.seconds += entry.seconds
            result = canonical(entry.result)
            _extend(turn, Message(role="tool", content=result, tool_call_id=call.id))
        if not turn.tools_left:
            limit = turn.copy.role.limits.tool_calls
            text = self.prompter.engine("tools_gone", {"tool_calls": limit})
            _extend(turn, Message(role="user", content=text))

    async def _tool_call(self, turn: Turn, call: ToolCall, position: str) -> ToolEntry:
        refused = _refusal_by_limit(turn, call)
        entry = self.calls.journal.recorded(position)
        if not isinstance(entry, ToolEntry):
            answer = refused or await self.calls.toolbox.answer(call, turn.tools)
            entry = ToolEntry(
                position=position,
                copy=turn.copy.name,
                role=turn.copy.role.name,
                visit=turn.visit,
                tool=call.name,
                **asdict(answer),
            )
            await self.calls.journal.keep(entry)
        return entry


def _account(turn: Turn, entry: CallEntry) -> None:
    """Count what a call used.

    Raises:
        TurnFailed: The call gave no answer, or the last unreadable one that is allowed.
    """
    usage = turn.usage
    usage.tokens += entry.tokens["input"] + entry.tokens["output"]
    usage.cost_usd += entry.cost_usd or 0.0
    usage.unconfirmed_usd += entry.reserved_usd or 0.0
    usage.seconds += entry.service_seconds + entry.waiting_seconds
    if entry.error:
        raise TurnFailed(entry.error["kind"], entry.error["message"])


def _refusal_by_limit(turn: Turn, call: ToolCall) -> ToolAnswer | None:
    """Count a tool call; return its refusal where a limit is reached, else None."""
    limits = turn.copy.role.limits
    if turn.tool_calls >= limits.tool_calls:
        message = f"All {limits.tool_calls} tool calls of this turn are used."
        return refusal(call.arguments, message, "limit")
    turn.tool_calls += 1
    key = digest(call.name, call.arguments)
    turn.seen_calls[key] = turn.seen_calls.get(key, 0) + 1
    if turn.seen_calls[key] > limits.repeated_calls:
        message = (
            f"{call.name} was called {limits.repeated_calls} times with these arguments; "
            "its result is above. Call it with others, or answer."
        )
        return refusal(call.arguments, message, "repeated")
    return None


def _extend(turn: Turn, message: Message) -> None:
    turn.messages.append(message)
    turn.exchange.append(message)


def _shown_reply(completion: Completion, reading: Reading) -> str:
    """Return the reply as it stays in the conversation: without reasoning."""
    if isinstance(reading.value, str):
        return reading.value
    return completion.text if reading.how in ("native", "strict") else canonical(reading.value)
