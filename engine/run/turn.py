"""One turn: calls of the model, tool calls, repairs of unreadable replies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from orglab.engine.run.calls.model_registry import BoundModel
from orglab.engine.run.limits import RunUsage
from orglab.engine.run.replicas import Replica
from orglab.providers.base import JSON, Message

__all__ = ["Turn"]


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
