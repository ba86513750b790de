"""Requests and tokens per minute of one model, kept by waiting: first come, first sent."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from orglab.providers.base import Request
from orglab.providers.pricing.token_estimate import prompt_tokens

__all__ = ["Rates", "Reserved", "TokenBucket", "likely_tokens"]

LIKELY_OUTPUT = 512
"""Tokens reserved for a reply that no ``max_output_tokens`` bounds."""
_SECONDS = 60.0
_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class Reserved:
    """What was taken for a call before it is sent."""

    tokens: int


class TokenBucket:
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


class Rates:
    """The rates of one model.

    Args:
        requests: Per minute, or None.
        tokens: Per minute, read and written, or None.
    """

    def __init__(self, *, requests: float | None, tokens: float | None) -> None:
        self._per_minute = (requests, tokens)
        self._requests: TokenBucket | None = None
        self._tokens: TokenBucket | None = None
        self._door = asyncio.Lock()
        self._open = False

    async def reserve(self, request: Request) -> Reserved:
        """Waits until one more request may be sent, and reserves its likely tokens."""
        return await self.reserve_tokens(likely_tokens(request))

    async def reserve_tokens(self, tokens: int) -> Reserved:
        """Waits until one more request of so many tokens may be sent, and reserves them."""
        loop = asyncio.get_running_loop()
        if not self._open:
            self._fill(loop.time())
        async with self._door:  # asyncio gives locks in the order in which they are asked for
            while wait := self._wait(tokens, loop.time()):  # noqa: ASYNC110 - time is what comes
                await asyncio.sleep(wait)
            self._take(tokens, loop.time())
        return Reserved(tokens)

    def settle(self, reserved: Reserved, *, sent: bool, used: int | None) -> None:
        """Gives back what a call did not use.

        Args:
            reserved: What was taken for it.
            sent: A request reached the server, or may have.
            used: Tokens that the server counted; None: unknown, what was reserved is taken.
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


def likely_tokens(request: Request) -> int:
    """Tokens that a call will likely use: counted roughly, and settled when it has ended."""
    written = request.params.get("max_output_tokens")
    most = written if isinstance(written, int) else LIKELY_OUTPUT
    return prompt_tokens(request) + most
