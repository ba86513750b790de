"""A rate per minute that is kept by not sending: a bucket that fills with time.

In no minute does it let more through than its rate. Servers count some limits by the second: it
gives a second's worth at once, and the rest evenly. Like the limiter it has no clock of its own.
"""

from __future__ import annotations

__all__ = ["Bucket"]

_SECONDS = 60.0
_SLACK = 1e-9


class Bucket:
    """What may still be sent, in requests or tokens.

    Args:
        per_minute: The rate; above 0.
        now: The time in seconds, of the clock by which the bucket is asked later.
    """

    def __init__(self, per_minute: float, now: float) -> None:
        self._holds = max(1.0, per_minute / _SECONDS)
        # A full bucket and what flows in within a minute are together what a minute may see. What
        # is counted in ones, one a bucket, needs no such care: the next comes when a whole one is in.
        flow = per_minute if self._holds == 1.0 else per_minute - self._holds
        self._per_second = flow / _SECONDS
        self._level = self._holds
        self._at = now

    def wait(self, amount: float, now: float) -> float:
        """Seconds until ``amount`` may be taken; 0: now.

        What is more than the bucket holds may go when it is full, and leaves a debt.
        """
        self._fill(now)
        short = min(amount, self._holds) - self._level
        return short / self._per_second if short > _SLACK else 0.0

    def take(self, amount: float, now: float) -> None:
        """Takes ``amount``, which may leave a debt."""
        self._fill(now)
        self._level -= amount

    def give_back(self, amount: float, now: float) -> None:
        """Gives back what was taken and not used; below 0: more was used than was taken."""
        self._fill(now)
        self._level = min(self._holds, self._level + amount)

    def _fill(self, now: float) -> None:
        passed = max(0.0, now - self._at)
        self._level = min(self._holds, self._level + passed * self._per_second)
        self._at = max(self._at, now)
