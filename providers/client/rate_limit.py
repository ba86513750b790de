"""Rate limits of one model, in requests and tokens per minute: calls wait in order of arrival."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from orglab.providers.base import Request
from orglab.providers.pricing.token_estimate import prompt_tokens

ESTIMATED_OUTPUT = 512
"""Tokens reserved for a reply without ``max_output_tokens``."""
_SECONDS = 60.0
_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class Reservation:
    """Tokens reserved for a call before it is sent."""

    tokens: int


class TokenBucket:
    """Token bucket for a per-minute rate.

    No minute sees more than the rate. The bucket holds one second's worth, since servers count some
    limits by the second. It has no clock.

    Args:
        per_minute: The rate; above 0.
        now: The time in seconds, of any monotonic clock.
    """

    def __init__(self, per_minute: float, now: float) -> None:
        self._capacity = max(1.0, per_minute / _SECONDS)
        # A full bucket and one minute's refill together make the rate. A bucket that holds one unit
        # refills at the full rate: the next unit comes only when it is complete.
        flow = per_minute if self._capacity == 1.0 else per_minute - self._capacity
        self._per_second = flow / _SECONDS
        self._level = self._capacity
        self._at = now

    def wait(self, amount: float, now: float) -> float:
        """Return the seconds until ``amount`` may be taken; 0: now.

        An amount above the capacity may be taken when the bucket is full, and leaves a debt.
        """
        self._fill(now)
        short = min(amount, self._capacity) - self._level
        return short / self._per_second if short > _SLACK else 0.0

    def take(self, amount: float, now: float) -> None:
        """Take ``amount``, which may leave a debt."""
        self._fill(now)
        self._level -= amount

    def give_back(self, amount: float, now: float) -> None:
        """Return an unused amount; negative where more was used than taken."""
        self._fill(now)
        self._level = min(self._capacity, self._level + amount)

    def _fill(self, now: float) -> None:
        passed = max(0.0, now - self._at)
        self._level = min(self._capacity, self._level + passed * self._per_second)
        self._at = max(self._at, now)


class RateLimits:
    """Rate limits of one model.

    Args:
        requests: Requests per minute, or None.
        tokens: Input and output tokens per minute, or None.
    """

    def __init__(self, *, requests: float | None, tokens: float | None) -> None:
        self._per_minute = (requests, tokens)
        self._requests: TokenBucket | None = None
        self._tokens: TokenBucket | None = None
        self._lock = asyncio.Lock()
        self._open = False

    async def reserve(self, request: Request) -> Reservation:
        """Wait until one more request may be sent; reserve its estimated tokens."""
        return await self.reserve_tokens(estimated_tokens(request))

    async def reserve_tokens(self, tokens: int) -> Reservation:
        """Wait until a request of ``tokens`` may be sent; reserve them."""
        loop = asyncio.get_running_loop()
        if not self._open:
            self._fill(loop.time())
        async with self._lock:  # asyncio grants locks in the order of requests
            while wait := self._wait(tokens, loop.time()):  # noqa: ASYNC110 - it waits for time to pass
                await asyncio.sleep(wait)
            self._take(tokens, loop.time())
        return Reservation(tokens)

    def settle(self, reserved: Reservation, *, sent: bool, used: int | None) -> None:
        """Return the unused part of a reservation.

        Args:
            reserved: The reservation.
            sent: A request reached the server, or may have.
            used: Tokens that the server counted; None: unknown, all count as used.
        """
        now = asyncio.get_running_loop().time()
        if self._requests is not None and not sent:
            self._requests.give_back(1.0, now)
        if self._tokens is not None and used is not None:
            self._tokens.give_back(reserved.tokens - used, now)

    def _fill(self, now: float) -> None:
        requests, tokens = self._per_minute
        self._requests = TokenBucket(requests, now) if requests else None
        self._tokens = TokenBucket(tokens, now) if tokens else None
        self._open = True

    def _wait(self, tokens: int, now: float) -> float:
        waits = [
            bucket.wait(amount, now)
            for bucket, amount in ((self._requests, 1), (self._tokens, tokens))
            if bucket is not None
        ]
        return max(waits, default=0.0)

    def _take(self, tokens: int, now: float) -> None:
        if self._requests is not None:
            self._requests.take(1, now)
        if self._tokens is not None:
            self._tokens.take(tokens, now)


def estimated_tokens(request: Request) -> int:
    """Return a rough estimate of a call's tokens, settled when it has ended."""
    written = request.params.get("max_output_tokens")
    most = written if isinstance(written, int) else ESTIMATED_OUTPUT
    return prompt_tokens(request) + most
