"""At the client: the limits of all workers, and what each of them holds of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

from orglab.providers.client.adaptive_limit import CallOutcome
from orglab.providers.client.model_client import AccountQueue, ModelClients
from orglab.providers.client.rate_limit import RateLimits, Reservation

__all__ = ["LimitBroker", "WorkerHolding"]


class LimitBroker:
    """The limits of a study.

    Args:
        clients: The model clients, whose queues the client's own calls (of judges) use too.

    Attributes:
        slots: Concurrency limit of each model.
        rates: Requests and tokens per minute of each model.
        queue: Returns the request queue of an account.
    """

    def __init__(self, clients: ModelClients) -> None:
        self.slots: dict[str, asyncio.Semaphore] = {}
        self.rates: dict[str, RateLimits] = {}
        self.queue = clients.queue


class WorkerHolding:
    """What one worker holds of the limits; ``close`` gives it all back.

    Args:
        limits: The limits.
    """

    def __init__(self, limits: LimitBroker) -> None:
        self._limits = limits
        self._slots: Counter[str] = Counter()
        self._tickets: dict[int, tuple[AccountQueue, Any]] = {}
        self._last = 0

    async def slot(self, model: str, most: int) -> None:
        """Wait for a slot of a model."""
        await self._limits.slots.setdefault(model, asyncio.Semaphore(most)).acquire()
        self._slots[model] += 1

    def free(self, model: str) -> None:
        """Free a slot."""
        if self._slots[model]:
            self._slots[model] -= 1
            self._limits.slots[model].release()

    async def reserve(self, model: str, per_minute: Sequence[float | None], tokens: int) -> None:
        """Wait until a request of so many tokens may be sent."""
        rates = self._limits.rates
        if model not in rates:
            rates[model] = RateLimits(requests=per_minute[0], tokens=per_minute[1])
        await rates[model].reserve_tokens(tokens)

    def settle(self, model: str, tokens: int, sent: bool, used: int | None) -> None:
        """Give back what a request did not use; of a worker that is gone, all counts as used."""
        if model in self._limits.rates:
            self._limits.rates[model].settle(Reservation(tokens), sent=sent, used=used)

    async def enter(self, account: str, first: bool) -> int:
        """Wait for a place in the queue of an account; return its number."""
        queue = self._limits.queue(account)
        sent = await queue.enter(first=first)
        self._last += 1
        self._tickets[self._last] = (queue, sent)
        return self._last

    def leave(self, account: str, number: int, outcome: CallOutcome) -> None:  # noqa: ARG002 - as it travels
        """Free a place."""
        queue, sent = self._tickets.pop(number, (None, None))
        if queue is not None:
            queue.leave(sent, outcome)

    def pause(self, account: str, seconds: float) -> None:
        """Let no call of the account begin for a while."""
        self._limits.queue(account).pause(seconds)

    def close(self) -> None:
        """Give back what calls under way hold: the worker is gone."""
        for number in list(self._tickets):
            self.leave("", number, "nothing")
        for model in self._slots.elements():
            self._limits.slots[model].release()
        self._slots.clear()
