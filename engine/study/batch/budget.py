"""Money of a study: reserved before a call is made, settled when its reply is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from orglab.engine.graph.checks.cost_limit import unbounded_models
from orglab.engine.graph.team import Team
from orglab.engine.study.batch.preflight import unbounded_judges
from orglab.results.store.store import Store
from orglab.results.usage.spending import spending

ROUNDING = 1e-9
"""Dollars by which sums of floating point numbers may be off."""


class BudgetReached(Exception):
    """Raised where a call might cost more than what is left."""


@dataclass(kw_only=True, slots=True)
class Budget:
    """What a study may cost, at any number of calls at once.

    A call begins when the most that it can cost fits beside what was spent and what is reserved for
    the calls under way. Where it does not, it waits for them: most cost less than was reserved. With
    none under way the budget is reached.

    Attributes:
        limit: US dollars; infinite: none.
        spent: US dollars of kept replies.
        unknown: US dollars reserved for requests that were cut or answered without a count: what they
            really cost is unknown, and counts as the most it can be.
        reached: A call did not fit any more.
    """

    limit: float = float("inf")
    spent: float = 0.0
    unknown: float = 0.0
    reached: bool = False
    _reserved: float = 0.0
    _under_way: int = 0
    _changed: asyncio.Event | None = None

    @property
    def left(self) -> float:
        """US dollars that may still be reserved."""
        return self.limit - self.spent - self.unknown - self._reserved

    async def reserve(self, most: float) -> None:
        """Reserve the most that a request can cost.

        Raises:
            BudgetReached: It does not fit, and no call is under way whose settling could change that.
        """
        while most > self.left + ROUNDING:
            if self.reached or not self._under_way:
                self.reached = True
                self._wake()
                raise BudgetReached
            if self._changed is None:
                self._changed = asyncio.Event()
            await self._changed.wait()
        self._reserved += most
        self._under_way += 1

    def cut(self, reserved: float) -> None:
        """End a request that was cut: what was reserved for it stays taken."""
        self._end(reserved)
        self.unknown += reserved
        self._wake()

    def settle(self, reserved: float, cost: float, unknown: float = 0.0) -> None:
        """End a request with what it did cost, and what the whole call may have cost beyond.

        Args:
            reserved: What was reserved for the request.
            cost: What is known to be billed.
            unknown: What stays in doubt; less than 0 where ``cost`` has what a ``cut`` took before.
        """
        self._end(reserved)
        self.spent += cost
        self.unknown = max(0.0, self.unknown + unknown)
        self._wake()

    def _end(self, reserved: float) -> None:
        self._reserved -= reserved
        self._under_way -= 1
        if not self._under_way:
            self._reserved = 0.0

    def _wake(self) -> None:
        if self._changed is not None:
            self._changed.set()
            self._changed = None


def refuse_unbounded(max_cost: float | None, teams: Iterable[Team]) -> None:
    """Refuse a limit of money over models of which nobody knows what a call may cost.

    Raises:
        ValueError: There are such; all of them.
    """
    if max_cost is None:
        return
    found: dict[str, None] = {}
    for team in teams:
        found |= dict.fromkeys(unbounded_models(team.topology))
        found |= dict.fromkeys(unbounded_judges(team))
    if found:
        raise ValueError(unbounded_message(found))


def unbounded_message(models: Iterable[str]) -> str:
    """Return why money cannot be limited over these models."""
    return (
        "a limit of money needs to know the most that a call may cost, and these models have no "
        f"`price` or no `params.max_output_tokens`: {', '.join(models)}. Write them into the spec "
        "or into a catalogue for --models; `orglab models FILE` shows what is known."
    )


def budget_of(limit: float | None, store: Store) -> Budget | None:
    """Return the study's money; what earlier processes spent, or may have spent, counts."""
    if limit is None:
        return None
    before = spending(store)
    return Budget(limit=limit, spent=before.paid_usd, unknown=before.unknown_usd)
