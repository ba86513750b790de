"""An SDK's clients of one account, a few calls on each.

Before each request the HTTP client below an SDK looks at every connection that it holds, and asks
the system about each idle one: with 256 calls at once that takes as long as all else that the SDK
does. So no client has more than a few connections; there are as many clients as are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

__all__ = ["CALLS_A_CLIENT", "ClientPool"]

CALLS_A_CLIENT = 16

Client = TypeVar("Client")


class ClientPool(Generic[Client]):
    """Pool of clients, made on demand; few concurrent calls always use the first."""

    def __init__(self, make: Callable[[], Client]) -> None:
        """Make none yet.

        Args:
            make: Makes one.
        """
        self._make = make
        self._all: list[Client] = []
        self._calls: list[int] = []

    @contextmanager
    def one(self) -> Iterator[Client]:
        """Return a client for one call."""
        place = self._free()
        self._calls[place] += 1
        try:
            yield self._all[place]
        finally:
            if place < len(self._calls):
                self._calls[place] -= 1

    def _free(self) -> int:
        for place, calls in enumerate(self._calls):
            if calls < CALLS_A_CLIENT:
                return place
        self._all.append(self._make())
        self._calls.append(0)
        return len(self._all) - 1

    def taken(self) -> list[Client]:
        """Return all clients, to be closed; those made later are others."""
        taken, self._all, self._calls = self._all, [], []
        return taken
