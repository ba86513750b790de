"""Which faults of a call waiting cures, how long to wait, and when to give up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from orglab.providers.base import ProviderError, RateLimited, Unavailable
from orglab.providers.simulated.random_stream import Draws

__all__ = ["GiveUp", "Retry", "RetryPolicy", "curable"]


@dataclass(frozen=True, slots=True)
class Retry:
    """Ask again after ``seconds``."""

    seconds: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Ask no more; ``why`` in words, "" where the fault itself says it."""

    why: str = ""


Decision: TypeAlias = Retry | GiveUp


def curable(fault: ProviderError) -> bool:
    """Whether waiting may cure a fault.

    A rate passes and a server recovers. An empty account, a wrong key, a request that the server
    refuses or that does not fit the window are the same in an hour.
    """
    return isinstance(fault, RateLimited | Unavailable)


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPolicy:
    """Exponential back-off with full jitter (Brooker 2015), within limits.

    The jitter is drawn from the call's identity: a study has no other source of chance.

    Attributes:
        most_attempts: Requests for one reply, the first included.
        most_waiting_seconds: Waited between the requests for one reply, in all.
        first_seconds: The longest wait after the first request; it doubles with each.
        longest_seconds: What it doubles to at most.
    """

    most_attempts: int = 8
    most_waiting_seconds: float = 600.0
    first_seconds: float = 0.5
    longest_seconds: float = 60.0

    def after(
        self, fault: ProviderError, *, attempt: int, waited: float, identity: str
    ) -> Decision:
        """What to do after a fault.

        Args:
            fault: The fault.
            attempt: Which request for this reply it hit, from 1.
            waited: Seconds waited between them so far.
            identity: The call's identity.
        """
        if not curable(fault):
            return GiveUp()
        if attempt >= self.most_attempts:
            return GiveUp(f"given up after {attempt} attempts")
        seconds = self._seconds(fault, attempt, identity)
        if waited + seconds <= self.most_waiting_seconds:
            return Retry(seconds)
        most = f"at most {self.most_waiting_seconds:g} are waited for one reply"
        if asked := _asked(fault):
            return GiveUp(f"given up: the server asks to wait {asked:g} seconds, and {most}")
        return GiveUp(f"given up after {waited:.3g} seconds of waiting: {most}")

    def _seconds(self, fault: ProviderError, attempt: int, identity: str) -> float:
        """What the server asks for is the least, and jitter is added: not all at one moment."""
        most = min(self.longest_seconds, self.first_seconds * 2.0 ** (attempt - 1))
        jitter = Draws(f"wait {identity} {attempt}").real(0.0, most)
        asked = _asked(fault)
        return asked + min(jitter, asked / 10.0) if asked else jitter


def _asked(fault: ProviderError) -> float:
    """Seconds that the server names; 0 where it names none, or none that is a time to wait."""
    named = fault.retry_after if isinstance(fault, RateLimited | Unavailable) else None
    return named if named is not None and 0.0 < named < float("inf") else 0.0
