"""What a run works on, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from orglab.providers.base import JSON
from orglab.results.records import Event, Output, Verdict
from orglab.results.store.journal.history import closing_uses


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """One unit of work.

    Attributes:
        id: Its id.
        inputs: Its inputs by name; an optional one left out is None.
        extra: Its other columns.
        index: Its place in the study, from 0.
        files: For each path text of an input that is a file: the file.
    """

    id: str
    inputs: Mapping[str, JSON]
    extra: Mapping[str, JSON] = field(default_factory=dict)
    index: int = 0
    files: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How a run ended.

    Attributes:
        status: ``completed``, ``stopped`` or ``failed``.
        reason: What stopped or failed it; "" when completed.
        answer: The answer, None unless completed.
        last: The last output of an output role, answer or not.
        outputs: Every output, in order.
        verdicts: Every verdict, in order.
        events: Every event, in order.
        turns: Turns taken.
        tokens: Tokens used.
        cost_usd: US dollars of calls whose price is known.
        seconds: Seconds on the critical path.
    """

    status: Literal["completed", "stopped", "failed"]
    reason: str
    answer: Output | None
    last: Output | None
    outputs: Sequence[Output]
    verdicts: Sequence[Verdict]
    events: Sequence[Event]
    turns: int
    tokens: int
    cost_usd: float
    seconds: float

    @property
    def loops(self) -> int:
        """Verdicts that obliged, and uses of closing links."""
        return sum(verdict.obliged for verdict in self.verdicts) + len(closing_uses(self.events))
