"""Retry policy: which errors are retried, after what delay, and when to give up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from orglab.providers.base import ProviderError, RateLimited, Unavailable
from orglab.providers.simulated.random_stream import RandomStream


@dataclass(frozen=True, slots=True)
class Retry:
    """Retry after ``seconds``."""

    seconds: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Give up; ``why`` is the reason, "" where the error itself says it."""

    why: str = ""


Decision: TypeAlias = Retry | GiveUp


def is_retryable(error: ProviderError) -> bool:
    """Return whether an error may pass with time: rate limits and server errors.

    An empty account, a wrong key, a refused request or a full context window do not.
    """
    return isinstance(error, RateLimited | Unavailable)


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPolicy:
    """Exponential back-off with full jitter (Brooker 2015), within limits.

    The jitter is drawn from the call's identity, so that it is deterministic.

    Attributes:
        max_attempts: Maximum number of requests for one reply.
        max_waiting_seconds: Maximum total wait between the requests for one reply.
        initial_seconds: Maximum wait after the first request; it doubles with each.
        max_backoff_seconds: Upper bound of that maximum.
    """

    max_attempts: int = 8
    max_waiting_seconds: float = 600.0
    initial_seconds: float = 0.5
    max_backoff_seconds: float = 60.0

    def after(
        self, error: ProviderError, *, attempt: int, waited: float, identity: str
    ) -> Decision:
        """Return what to do after an error.

        Args:
            error: The error.
            attempt: Number of the failed request for this reply, from 1.
            waited: Seconds waited between the requests so far.
            identity: The call's identity.
        """
        if not is_retryable(error):
            return GiveUp()
        if attempt >= self.max_attempts:
            return GiveUp(f"given up after {attempt} attempts")
        seconds = self._seconds(error, attempt, identity)
        if waited + seconds <= self.max_waiting_seconds:
            return Retry(seconds)
        most = f"at most {self.max_waiting_seconds:g} are waited for one reply"
        if asked := _requested_wait(error):
            return GiveUp(f"given up: the server asks to wait {asked:g} seconds, and {most}")
        return GiveUp(f"given up after {waited:.3g} seconds of waiting: {most}")

    def _seconds(self, error: ProviderError, attempt: int, identity: str) -> float:
        """Return the delay: at least what the server asks for, with jitter."""
        most = min(self.max_backoff_seconds, self.initial_seconds * 2.0 ** (attempt - 1))
        jitter = RandomStream(f"wait {identity} {attempt}").real(0.0, most)
        asked = _requested_wait(error)
        return asked + min(jitter, asked / 10.0) if asked else jitter


def _requested_wait(error: ProviderError) -> float:
    """Return the seconds that the server names; 0 where it names no usable delay."""
    named = error.retry_after if isinstance(error, RateLimited | Unavailable) else None
    return named if named is not None and 0.0 < named < float("inf") else 0.0
