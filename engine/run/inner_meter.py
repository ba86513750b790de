"""The limits of a run within a run: its own, and what the run around it has left."""

from __future__ import annotations

from collections.abc import Sequence

from orglab.engine.run.limits import LimitReached, RunLimits, RunUsage
from orglab.engine.spec.model import Limits

__all__ = ["NestedLimits", "OuterLimitReached"]


class OuterLimitReached(LimitReached):
    """Raised within a run where the run around it needs more than a limit of that one allows.

    Attributes:
        fault: The fault as the run around it knows it.
    """

    def __init__(self, fault: LimitReached) -> None:
        super().__init__(fault.which)
        self.fault = fault


class NestedLimits(RunLimits):
    """Counts what a run within a run uses, against its own limits and those around it.

    What runs beside it is not looked at: the run around it counts what earlier barriers used.
    """

    def __init__(self, limits: Limits, outer: RunLimits, *, beside: int, allowance: float) -> None:
        """Begins to count.

        Args:
            limits: The run's own limits.
            outer: The limits of the run around it.
            beside: Turns of the run around it in this tick, the one that this run is among them.
            allowance: US dollars that the run around it leaves to this one.
        """
        super().__init__(limits)
        self._outer = outer
        self._beside = beside
        self._allowance = allowance
        self._outer_turns = False

    @property
    def limits_cost(self) -> bool:
        """Whether this run, or the one around it, has a limit of money."""
        return super().limits_cost or self._allowance < float("inf")

    def turns_left(self, wanted: int) -> int:
        """How many of ``wanted`` turns both limits allow."""
        own = super().turns_left(wanted)
        taken = self._beside + self.turns
        outer = max(0, self._outer.turns_left(taken + wanted) - taken)
        self._outer_turns = outer < wanted and outer <= own
        return min(own, outer)

    def allowances(self, first: Sequence[float]) -> list[float]:
        """What each turn of a tick may cost, within the tighter of both limits."""
        own = self._limits.cost_usd
        tightest = self._allowance if own is None else min(own, self._allowance)
        limited = Limits(cost_usd=None if tightest == float("inf") else tightest)
        limits = RunLimits(limited)
        limits.spent = self.spent
        return limits.allowances(first)

    def before_call(self, own: RunUsage) -> None:
        """Looks at both limits before a call of a turn that used ``own`` so far.

        Raises:
            LimitReached: A limit of this run is used up.
            OuterLimitReached: One of the run around it is.
        """
        super().before_call(own)
        total = RunUsage()
        total.add(self.spent)
        total.add(own)
        try:
            self._outer.before_call(total)
        except LimitReached as limit:
            raise OuterLimitReached(limit) from limit

    def outer_fault(self, limit: LimitReached) -> LimitReached | None:
        """What stops the run around this one, where it is not this one's own limit."""
        if isinstance(limit, OuterLimitReached):
            return limit.fault
        if limit.which == "turns" and self._outer_turns:
            return LimitReached("turns")
        own = self._limits.cost_usd
        if limit.which == "cost_usd" and (own is None or self._allowance <= own):
            return LimitReached("cost_usd")
        return None
