"""Requests and tokens per minute of one model, kept by waiting: first come, first sent."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from orglab.providers.base import Request
from orglab.providers.client.bucket import Bucket
from orglab.providers.pricing.token_estimate import prompt_tokens

__all__ = ["Rates", "Reserved", "likely_tokens"]

LIKELY_OUTPUT = 512
"""Tokens reserved for a reply that no ``max_output_tokens`` bounds."""


@dataclass(frozen=True, slots=True)
class Reserved:
    """What was taken for a call before it is sent."""

    tokens: int


class Rates:
    """The rates of one model.

    Args:
        requests: Per minute, or None.
        tokens: Per minute, read and written, or None.
    """

    def __init__(self, *, requests: float | None, tokens: float | None) -> None:
        self._per_minute = (requests, tokens)
        self._requests: Bucket | None = None
        self._tokens: Bucket | None = None
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
        self._requests = Bucket(requests, now) if requests else None
        self._tokens = Bucket(tokens, now) if tokens else None
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
