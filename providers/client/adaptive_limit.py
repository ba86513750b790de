"""Adaptive limit of an account's concurrent calls (additive increase, multiplicative decrease).

A state machine without a clock and without asyncio, so that its rules can be tested as properties.
``request_queue`` makes calls wait by it.

The rules, after congestion control of networks (Jacobson 1988; RFC 5681):

- slow start: until the first 429, each answer adds one, so that the limit doubles in the time of a
  call;
- only calls during which all places were taken raise it: an unused limit carries no information;
- a 429 decreases it. Calls sent before a decrease belong to the burst that caused it: their
  refusals do not decrease it again;
- after the first decrease, a full round of answers adds one;
- a server error (5xx, a broken connection) says nothing about the rate: growth pauses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

CallOutcome: TypeAlias = Literal["answered", "rate limited", "server error", "nothing"]
"""How a call ended: ``nothing`` where that carries no information about the server (never sent,
interrupted by us, or a bad request)."""

KEPT = 0.7
"""Share of the calls under way that a decrease keeps."""
LEAST_KEPT = 0.5
"""Minimum share of the limit that a decrease keeps."""
PAUSE_SECONDS = 10.0
"""How long a server error pauses growth."""


@dataclass(frozen=True, slots=True)
class CallTicket:
    """A call under way, with the state of the limit when it was sent.

    Attributes:
        cuts: Number of decreases so far.
        full: How often all places had been taken.
    """

    cuts: int
    full: int


class AdaptiveLimit:
    """Limit of one account's concurrent calls.

    Args:
        start: The initial limit.
        most: The maximum limit.
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
        """Maximum number of concurrent calls; at least 1."""
        return int(self._limit)

    @property
    def cuts(self) -> int:
        """Number of decreases."""
        return self._cuts

    def pause(self, until: float) -> None:
        """Let no call begin before ``until``, in seconds of the caller's clock."""
        self._pause_ends = max(self._pause_ends, until)

    def pause_left(self, now: float) -> float:
        """Return the seconds until calls may begin; 0 where there is no pause."""
        return max(0.0, self._pause_ends - now)

    def may_begin(self, now: float) -> bool:
        """Return whether one more call may begin."""
        return self.under_way < int(self._limit) and now >= self._pause_ends

    def begin(self) -> CallTicket:
        """Count a call that begins."""
        sent = CallTicket(self._cuts, self._full)
        self.under_way += 1
        self._full += self.under_way >= int(self._limit)
        return sent

    def end(self, sent: CallTicket, outcome: CallOutcome, now: float) -> None:
        """Count a call that ended, and adapt the limit."""
        was_full = self._full > sent.full
        if outcome == "answered" and was_full and now >= self._grows_from:
            self._grow()
        elif outcome == "rate limited" and sent.cuts == self._cuts:
            self._cut()
        elif outcome == "server error":
            self._grows_from = max(self._grows_from, now + PAUSE_SECONDS)
        self.under_way -= 1

    def _grow(self) -> None:
        step = 1.0 if self._cuts == 0 else 1.0 / int(self._limit)
        # Sums of 1/n are below an integer by rounding: the increase would come a round late.
        self._limit = min(float(self._most), round(self._limit + step, 9))

    def _cut(self) -> None:
        busy = min(self._limit, float(self.under_way))
        self._limit = max(1.0, float(int(max(busy * KEPT, self._limit * LEAST_KEPT))))
        self._cuts += 1
