"""What a call needs leave for: a slot, a rate, a place in the line of its account.

In one process a semaphore, ``Rates`` and ``Line`` give it. Where calls are made in many processes,
each asks whoever holds these for all of them.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Protocol

from orglab.providers.base import Request
from orglab.providers.client.adaptive_limit import Outcome
from orglab.providers.client.rate_limit import Reserved

__all__ = ["InLine", "Rated", "Slots"]


class Slots(Protocol):
    """The calls that one model takes at once: held over all attempts of a call."""

    def locked(self) -> bool:
        """Whether a call would have to wait, or must ask elsewhere."""

    async def __aenter__(self) -> object:
        """Waits for a slot."""

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> object:
        """Frees it."""


class Rated(Protocol):
    """Requests and tokens per minute: ``rates.Rates``."""

    async def reserve(self, request: Request) -> Reserved:
        """Waits until one more request may be sent."""

    def settle(self, reserved: Reserved, *, sent: bool, used: int | None) -> None:
        """Gives back what it did not use."""


class InLine(Protocol):
    """The line of an account: ``line.Line``."""

    async def enter(self, *, first: bool = False) -> Any:  # noqa: ANN401 - a ticket of its own kind
        """Waits for a place, and gives a ticket."""

    def leave(self, sent: Any, outcome: Outcome) -> None:  # noqa: ANN401 - the ticket
        """Frees the place."""

    def pause(self, seconds: float) -> None:
        """Lets no call of the account begin for a while."""
