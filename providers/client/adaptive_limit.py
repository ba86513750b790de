"""How many calls an account may have under way at once: found out by asking.

A state machine without a clock of its own and without asyncio: it is told what happens and when,
so that its rules can be tested as properties. ``line.py`` makes calls wait by it.

The rules, after congestion control of networks (Jacobson 1988; RFC 5681):

- slow start: until the first refusal, each answer adds one, so that the limit doubles in the time
  of a call;
- it grows only by calls in whose time all places were taken: an unused limit says nothing;
- a refusal for the rate (429) cuts it. Calls sent before a cut belong to the burst that led to
  it: their refusals are the same news, and do not cut again;
- after the first cut, a full round of answers adds one;
- a fault of the server (5xx, a broken connection) is no word about our rate: growth pauses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Limiter", "Outcome", "Sent"]

Outcome: TypeAlias = Literal["answered", "rate limited", "at fault", "nothing"]
"""How a call ended: ``nothing`` where that says nothing about the server (it was never sent, or
was broken off by us, or the request was wrong)."""

KEPT = 0.7
"""What a cut leaves of the calls that were under way."""
LEAST_KEPT = 0.5
"""What a cut leaves of the limit at the least: few calls under way are little news."""
PAUSE_SECONDS = 10.0
"""How long a fault of the server pauses growth."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A call under way: what had happened when it was sent.

    Attributes:
        cuts: How many cuts there had been.
        full: How often all places had been taken.
    """

    cuts: int
    full: int


class Limiter:
    """The limit of one account.

    Args:
        start: The limit to begin with; a large one for a server whose room is known.
        most: The largest limit there may ever be.
    """

    def __init__(self, *, start: int = 8, most: int = 1024) -> None:
        self._limit = float(max(1, min(start, most)))
        self._most = max(1, most)
        self._cuts = 0
        self._full = 0
        self._grows_from = float("-inf")
        self._pause_ends = float("-inf")
        self.under_way = 0

    @property
    def limit(self) -> int:
        """How many calls may be under way at once; at least 1."""
        return int(self._limit)

    @property
    def cuts(self) -> int:
        """How often it was cut."""
        return self._cuts

    def pause(self, until: float) -> None:
        """Lets nothing begin before ``until``, in seconds of the caller's clock."""
        self._pause_ends = max(self._pause_ends, until)

    def pause_left(self, now: float) -> float:
        """Seconds until calls may begin again; 0 where there is no pause."""
        return max(0.0, self._pause_ends - now)

    def may_begin(self, now: float) -> bool:
        """Whether one more call may begin."""
        return self.under_way < int(self._limit) and now >= self._pause_ends

    def begin(self) -> Sent:
        """Counts a call that begins."""
        sent = Sent(self._cuts, self._full)
        self.under_way += 1
        self._full += self.under_way >= int(self._limit)
        return sent

    def end(self, sent: Sent, outcome: Outcome, now: float) -> None:
        """Counts a call that ended, and learns from it."""
        was_full = self._full > sent.full
        if outcome == "answered" and was_full and now >= self._grows_from:
            self._grow()
        elif outcome == "rate limited" and sent.cuts == self._cuts:
            self._cut()
        elif outcome == "at fault":
            self._grows_from = max(self._grows_from, now + PAUSE_SECONDS)
        self.under_way -= 1

    def _grow(self) -> None:
        step = 1.0 if self._cuts == 0 else 1.0 / int(self._limit)
        # Sums of 1/n fall short of a whole by rounding: the last one would be a round late.
        self._limit = min(float(self._most), round(self._limit + step, 9))

    def _cut(self) -> None:
        busy = min(self._limit, float(self.under_way))
        self._limit = max(1.0, float(int(max(busy * KEPT, self._limit * LEAST_KEPT))))
        self._cuts += 1
