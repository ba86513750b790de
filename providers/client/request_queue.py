"""Request queue of one account: calls start in order of arrival, within the adaptive limit."""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from orglab.providers.client.adaptive_limit import AdaptiveLimit, CallOutcome, CallTicket

REPORTED_GROWTH = 1.25
"""Growth of a limit since the last report that is reported; each decrease is."""
_USER = re.compile(r"(?<=://)[^/@\s]*@")


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitChange:
    """A change of an account's limit.

    Attributes:
        account: The server's address and the name of the variable that holds the key.
        limit: The new maximum number of concurrent calls.
        why: The reason.
        at: Time of the change, in seconds since 1970 (UTC).
    """

    account: str
    limit: int
    why: str
    at: float


LimitListener: TypeAlias = Callable[[LimitChange], None]


class RequestQueue:
    """The request queue of one account.

    Args:
        account: The account.
        limit: Its adaptive limit.
        report: Called with each change of the limit.
        wall: Clock that gives seconds since 1970.
    """

    def __init__(
        self,
        account: str,
        limit: AdaptiveLimit,
        *,
        report: LimitListener | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        # The part of an address before an @ may be a password.
        self._account = _USER.sub("", account)
        self._limit = limit
        self._report = report
        self._wall = wall
        self._waiting: deque[asyncio.Future[CallTicket]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._reported = 0
        self._report_change("start")

    async def enter(self, *, first: bool = False) -> CallTicket:
        """Wait for a place; return its ticket.

        Args:
            first: Wait at the head of the queue: the call is retried.
        """
        loop = asyncio.get_running_loop()
        if not self._waiting and self._limit.may_begin(loop.time()):
            return self._limit.begin()
        place: asyncio.Future[CallTicket] = loop.create_future()
        if first:
            self._waiting.appendleft(place)
        else:
            self._waiting.append(place)
        self._admit(loop)
        try:
            return await place
        except asyncio.CancelledError:
            self._withdraw(place)
            raise

    def leave(self, sent: CallTicket, outcome: CallOutcome) -> None:
        """Free a place, and adapt the limit to the outcome."""
        loop = asyncio.get_running_loop()
        before = (self._limit.limit, self._limit.cuts)
        self._limit.end(sent, outcome, loop.time())
        self._admit(loop)
        if self._limit.cuts > before[1]:
            self._report_change("cut: the server refused a call for the rate")
        elif self._limit.limit >= max(self._reported * REPORTED_GROWTH, before[0] + 1):
            self._report_change("grew: all places were taken, and calls were answered")

    def pause(self, seconds: float) -> None:
        """Let no call of the account begin for ``seconds``."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        longer = seconds > self._limit.pause_left(now)
        self._limit.pause(now + seconds)
        if longer and self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._admit(loop)

    def _admit(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give free places to the head of the queue; after a pause, later."""
        now = loop.time()
        while self._waiting and self._limit.may_begin(now):
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(self._limit.begin())
        left = self._limit.pause_left(now)
        if self._waiting and left and self._timer is None:
            self._timer = loop.call_at(now + left, self._after_pause, loop)

    def _after_pause(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        self._admit(loop)

    def _withdraw(self, place: asyncio.Future[CallTicket]) -> None:
        """Remove a cancelled call from the queue; pass on a place it was just given."""
        if place.cancelled():
            if place in self._waiting:
                self._waiting.remove(place)
        else:
            self.leave(place.result(), "nothing")

    def _report_change(self, why: str) -> None:
        self._reported = self._limit.limit
        if self._report is not None:
            change = LimitChange(
                account=self._account, limit=self._reported, why=why, at=round(self._wall(), 3)
            )
            self._report(change)
