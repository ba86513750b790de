"""One turn: calls of the model, tool calls, repairs of unreadable replies."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

from orglab.engine.run.calls.model_registry import BoundModel
from orglab.engine.run.errors import TurnFailed
from orglab.engine.run.limits import LimitReached, RunUsage
from orglab.engine.run.replicas import Replica
from orglab.providers.base import JSON, Message

T = TypeVar("T")

TurnRefusal: TypeAlias = TurnFailed | LimitReached
"""Why a turn gave no reply."""


@dataclass(kw_only=True, slots=True)
class Turn:
    """The state of a turn under way.

    Attributes:
        copy: Whose turn it is.
        visit: Which turn of the copy.
        purpose: Its own turn, a review, or the work of a judge.
        position: Where in the run it is.
        bound_model: The model.
        messages: The conversation so far; it grows by tool calls and repairs.
        schema: JSON Schema of the reply, or None for free text.
        tools: Names of the tools that may be called.
        reviewed: In a review, the copy whose output is under review.
        rank: How many turns declared earlier in this tick begin with an equal call.
        usage: What this turn used.
        allowance: US dollars that it may use in all.
        calls: Content digest and identity of each call made.
        exchange: Messages that the turn added to the conversation, without repairs.
        earlier: The visits of the copy's earlier calls in the run.
    """

    copy: Replica
    visit: int
    purpose: Literal["turn", "review", "judge"]
    position: str
    bound_model: BoundModel
    messages: list[Message]
    schema: Mapping[str, JSON] | None
    tools: tuple[str, ...] = ()
    reviewed: str | None = None
    rank: int = 0
    usage: RunUsage = field(default_factory=RunUsage)
    allowance: float = float("inf")
    calls: list[tuple[str, str]] = field(default_factory=list)
    exchange: list[Message] = field(default_factory=list)
    earlier: tuple[int, ...] = ()
    first: str = ""
    step: int = 0
    tool_calls: int = 0
    repairs: int = 0
    seen_calls: dict[str, int] = field(default_factory=dict)
    digests: list[str] = field(default_factory=list)

    @property
    def tools_left(self) -> bool:
        """Whether tools may still be called."""
        return bool(self.tools) and self.tool_calls < self.copy.role.limits.tool_calls


async def gather_turns(work: Sequence[Coroutine[Any, Any, T]]) -> Sequence[T | TurnRefusal]:
    """Await all work; return results, failed turns among them, in order.

    Any other exception is raised once all have ended.
    """
    if len(work) == 1:  # spares a task, the commonest case
        try:
            return [await work[0]]
        except (TurnFailed, LimitReached) as error:
            return [error]
    results: list[T | TurnRefusal] = []
    for result in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(result, BaseException) and not isinstance(result, (TurnFailed, LimitReached)):
            raise result
        results.append(result)
    return results
