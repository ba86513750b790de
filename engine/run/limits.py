"""What a run has used, and which limit it has reached."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orglab.engine.spec.model import Limits

__all__ = ["LimitReached", "RunLimits", "RunUsage"]


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
        doubt_usd: US dollars that may have been billed beyond that: of requests that were cut, or
            answered without a count of tokens.
        seconds: Seconds of service, of waiting and of tools, as recorded.
    """

    tokens: int = 0
    cost_usd: float = 0.0
    doubt_usd: float = 0.0
    seconds: float = 0.0

    @property
    def most_usd(self) -> float:
        """US dollars: the most that it can have cost. Limits are held against it."""
        return self.cost_usd + self.doubt_usd

    def add(self, other: RunUsage) -> None:
        """Adds what was used one after the other."""
        self.tokens += other.tokens
        self.cost_usd += other.cost_usd
        self.doubt_usd += other.doubt_usd
        self.seconds += other.seconds


class RunLimits:
    """Compares what earlier barriers used with the limits.

    A limit equal to the need completes: a call is refused when its limit is used up, and a run is
    over its limit when it used more than that.

    Attributes:
        turns: Turns taken, reviews by a model included.
        spent: What was used up to the last barrier.
    """

    def __init__(self, limits: Limits) -> None:
        self.turns = 0
        self.spent = RunUsage()
        self._limits = limits
        self._limited = (limits.tokens, limits.cost_usd, limits.seconds) != (None, None, None)

    @property
    def limits_cost(self) -> bool:
        """Whether the run has a limit of money."""
        return self._limits.cost_usd is not None

    def turns_left(self, wanted: int) -> int:
        """How many of ``wanted`` turns the limit allows."""
        if self._limits.turns is None:
            return wanted
        return max(0, min(wanted, self._limits.turns - self.turns))

    def allowances(self, first: Sequence[float]) -> list[float]:
        """What each turn of a tick may cost in all, so that together they stay within the limit.

        Turns run side by side, and none looks at what another used. In declared order each is given
        the most that its first call can cost while that fits; what is left over is parted equally.

        Args:
            first: US dollars: the most that the first call of each turn can cost.

        Returns:
            US dollars; infinite where no limit is set; -1 for a turn whose first call does not fit.
        """
        limit = self._limits.cost_usd
        left = float("inf") if limit is None else limit - self.spent.most_usd
        admitted: list[bool] = []
        for most in first:
            fits = most <= left + ROUNDING and all(admitted)
            admitted.append(fits)
            left -= most if fits else 0.0
        share = max(0.0, left) / max(1, sum(admitted))
        return [most + share if fits else -1.0 for most, fits in zip(first, admitted, strict=True)]

    def begin_review(self) -> None:
        """Counts the turn of a review.

        Raises:
            LimitReached: No turn is left.
        """
        if not self.turns_left(1):
            raise LimitReached("turns")
        self.turns += 1

    def before_call(self, own: RunUsage) -> None:
        """Looks at the limits before a call of a turn that used ``own`` so far.

        Raises:
            LimitReached: A limit is used up.
        """
        for which, limit, used in self._pairs(own) if self._limited else ():
            if used >= limit:
                raise LimitReached(which)

    def over(self) -> str | None:
        """The name of a limit that was overrun, or None."""
        if not self._limited:
            return None
        return next((which for which, limit, used in self._pairs(RunUsage()) if used > limit), None)

    def close_tick(self, turns: Iterable[RunUsage]) -> None:
        """Adds the turns of a tick, which ran side by side: its seconds are the longest's."""
        longest = 0.0
        for spent in turns:
            self.turns += 1
            self.spent.tokens += spent.tokens
            self.spent.cost_usd += spent.cost_usd
            self.spent.doubt_usd += spent.doubt_usd
            longest = max(longest, spent.seconds)
        self.spent.seconds += longest

    def _pairs(self, own: RunUsage) -> Iterable[tuple[str, float, float]]:
        limits, spent = self._limits, self.spent
        if limits.tokens is not None:
            yield "tokens", limits.tokens, spent.tokens + own.tokens
        if limits.cost_usd is not None:
            yield "cost_usd", limits.cost_usd, spent.most_usd + own.most_usd
        if limits.seconds is not None:
            yield "seconds", limits.seconds, spent.seconds + own.seconds
