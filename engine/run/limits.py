"""What a run has used, and which limit it has reached."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orglab.engine.spec.model import Limits

ROUNDING = 1e-9
"""US dollars by which sums of floating point numbers may be off."""


class LimitReached(Exception):
    """Raised where a run needs more than a limit allows. ``which`` names the limit."""

    def __init__(self, which: str) -> None:
        super().__init__(which)
        self.which = which


@dataclass(kw_only=True, slots=True)
class RunUsage:
    """What was used.

    Attributes:
        tokens: Tokens read and written.
        cost_usd: US dollars, of calls whose price is known.
        unconfirmed_usd: US dollars that may have been billed beyond that: of requests that were cut, or
            answered without a count of tokens.
        seconds: Seconds of service, of waiting and of tools, as recorded.
    """

    tokens: int = 0
    cost_usd: float = 0.0
    unconfirmed_usd: float = 0.0
    seconds: float = 0.0

    @property
    def most_usd(self) -> float:
        """US dollars: the most that it can have cost. Limits are held against it."""
        return self.cost_usd + self.unconfirmed_usd

    def add(self, other: RunUsage) -> None:
        """Add sequential usage."""
        self.tokens += other.tokens
        self.cost_usd += other.cost_usd
        self.unconfirmed_usd += other.unconfirmed_usd
        self.seconds += other.seconds


class RunLimits:
    """Compares what earlier barriers used with the limits.

    A limit equal to the need completes: a call is refused when its limit is used up, and a run is
    over its limit when it used more than that.

    Attributes:
        turns: Turns taken, reviews by a model included.
        usage: What was used up to the last barrier.
    """

    def __init__(self, limits: Limits) -> None:
        self.turns = 0
        self.usage = RunUsage()
        self._limits = limits
        self._limited = (limits.tokens, limits.cost_usd, limits.seconds) != (None, None, None)

    @property
    def limits_cost(self) -> bool:
        """Whether the run has a limit of money."""
        return self._limits.cost_usd is not None

    def turns_left(self, wanted: int) -> int:
        """Return how many of ``wanted`` turns the limit allows."""
        if self._limits.turns is None:
            return wanted
        return max(0, min(wanted, self._limits.turns - self.turns))

    def allowances(self, first: Sequence[float]) -> list[float]:
        """Return each turn's cost allowance, so that a tick's turns stay within the limit.

        Turns run side by side, and none looks at what another used. In declared order each is given
        the most that its first call can cost while that fits; what is left over is parted equally.

        Args:
            first: US dollars: the most that the first call of each turn can cost.

        Returns:
            US dollars; infinite where no limit is set; -1 for a turn whose first call does not fit.
        """
        limit = self._limits.cost_usd
        left = float("inf") if limit is None else limit - self.usage.most_usd
        admitted: list[bool] = []
        for most in first:
            fits = most <= left + ROUNDING and all(admitted)
            admitted.append(fits)
            left -= most if fits else 0.0
        share = max(0.0, left) / max(1, sum(admitted))
        return [most + share if fits else -1.0 for most, fits in zip(first, admitted, strict=True)]

    def begin_review(self) -> None:
        """Count the turn of a review.

        Raises:
            LimitReached: No turn is left.
        """
        if not self.turns_left(1):
            raise LimitReached("turns")
        self.turns += 1

    def before_call(self, own: RunUsage) -> None:
        """Check the limits before a call of a turn that used ``own`` so far.

        Raises:
            LimitReached: A limit is used up.
        """
        for which, limit, used in self._pairs(own) if self._limited else ():
            if used >= limit:
                raise LimitReached(which)

    def over(self) -> str | None:
        """Return the name of an exceeded limit, or None."""
        if not self._limited:
            return None
        return next((which for which, limit, used in self._pairs(RunUsage()) if used > limit), None)

    def close_tick(self, turns: Iterable[RunUsage]) -> None:
        """Add a tick's concurrent turns; its seconds are those of the longest."""
        longest = 0.0
        for usage in turns:
            self.turns += 1
            self.usage.tokens += usage.tokens
            self.usage.cost_usd += usage.cost_usd
            self.usage.unconfirmed_usd += usage.unconfirmed_usd
            longest = max(longest, usage.seconds)
        self.usage.seconds += longest

    def _pairs(self, own: RunUsage) -> Iterable[tuple[str, float, float]]:
        limits, usage = self._limits, self.usage
        if limits.tokens is not None:
            yield "tokens", limits.tokens, usage.tokens + own.tokens
        if limits.cost_usd is not None:
            yield "cost_usd", limits.cost_usd, usage.most_usd + own.most_usd
        if limits.seconds is not None:
            yield "seconds", limits.seconds, usage.seconds + own.seconds


# --- a run within a run -------------------------------------------------------------------------


class OuterLimitReached(LimitReached):
    """Raised within a run where the run around it needs more than a limit of that one allows.

    Attributes:
        error: The error as the run around it knows it.
    """

    def __init__(self, error: LimitReached) -> None:
        super().__init__(error.which)
        self.error = error


class NestedLimits(RunLimits):
    """Counts what a run within a run uses, against its own limits and those around it.

    What runs beside it is not looked at: the run around it counts what earlier barriers used.
    """

    def __init__(self, limits: Limits, outer: RunLimits, *, beside: int, allowance: float) -> None:
        """Start counting.

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
        """Return how many of ``wanted`` turns both limits allow."""
        own = super().turns_left(wanted)
        taken = self._beside + self.turns
        outer = max(0, self._outer.turns_left(taken + wanted) - taken)
        self._outer_turns = outer < wanted and outer <= own
        return min(own, outer)

    def allowances(self, first: Sequence[float]) -> list[float]:
        """Return what each turn of a tick may cost, within the tighter of both limits."""
        own = self._limits.cost_usd
        tightest = self._allowance if own is None else min(own, self._allowance)
        limited = Limits(cost_usd=None if tightest == float("inf") else tightest)
        limits = RunLimits(limited)
        limits.usage = self.usage
        return limits.allowances(first)

    def before_call(self, own: RunUsage) -> None:
        """Check both limits before a call of a turn that used ``own`` so far.

        Raises:
            LimitReached: A limit of this run is used up.
            OuterLimitReached: One of the run around it is.
        """
        super().before_call(own)
        total = RunUsage()
        total.add(self.usage)
        total.add(own)
        try:
            self._outer.before_call(total)
        except LimitReached as limit:
            raise OuterLimitReached(limit) from limit

    def outer_error(self, limit: LimitReached) -> LimitReached | None:
        """Return what stops the run around this one, where it is not this one's own limit."""
        if isinstance(limit, OuterLimitReached):
            return limit.error
        if limit.which == "turns" and self._outer_turns:
            return LimitReached("turns")
        own = self._limits.cost_usd
        if limit.which == "cost_usd" and (own is None or self._allowance <= own):
            return LimitReached("cost_usd")
        return None
