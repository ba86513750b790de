"""Calls of one account in a line: first come, first sent, as many at once as the limiter says."""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from orglab.providers.client.adaptive_limit import Limiter, Outcome, Sent

__all__ = ["LimitChange", "Line", "Tell"]

NEWS = 1.25
"""A limit that grew by this factor since it was last told is news; each cut is."""
_USER = re.compile(r"(?<=://)[^/@\s]*@")


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitChange:
    """The limit of an account changed.

    Attributes:
        account: The server's address and the name of the variable that holds the key.
        limit: How many calls may now be under way at once.
        why: What changed it, in words.
        at: When, in seconds since 1970 (UTC).
    """

    account: str
    limit: int
    why: str
    at: float


Tell: TypeAlias = Callable[[LimitChange], None]


class Line:
    """The calls of one account.

    Args:
        account: The account.
        limiter: Its limit.
        tell: Is told of each change.
        wall: The time of day, in seconds since 1970.
    """

    def __init__(
        self,
        account: str,
        limiter: Limiter,
        *,
        tell: Tell | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        # What stands before an @ in an address may be a password.
        self._account = _USER.sub("", account)
        self._limiter = limiter
        self._tell = tell
        self._wall = wall
        self._waiting: deque[asyncio.Future[Sent]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._told = 0
        self._say("start")

    async def enter(self, *, first: bool = False) -> Sent:
        """Waits for a place.

        Args:
            first: Before all who wait: a call that had a place before, and was refused.
        """
        loop = asyncio.get_running_loop()
        if not self._waiting and self._limiter.may_begin(loop.time()):
            return self._limiter.begin()
        place: asyncio.Future[Sent] = loop.create_future()
        if first:
            self._waiting.appendleft(place)
        else:
            self._waiting.append(place)
        self._let_in(loop)
        try:
            return await place
        except asyncio.CancelledError:
            self._forget(place)
            raise

    def leave(self, sent: Sent, outcome: Outcome) -> None:
        """Frees a place."""
        loop = asyncio.get_running_loop()
        before = (self._limiter.limit, self._limiter.cuts)
        self._limiter.end(sent, outcome, loop.time())
        self._let_in(loop)
        if self._limiter.cuts > before[1]:
            self._say("cut: the server refused a call for the rate")
        elif self._limiter.limit >= max(self._told * NEWS, before[0] + 1):
            self._say("grew: all places were taken, and calls were answered")

    def pause(self, seconds: float) -> None:
        """Lets no call of the account begin for a while."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        longer = seconds > self._limiter.pause_left(now)
        self._limiter.pause(now + seconds)
        if longer and self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._let_in(loop)

    def _let_in(self, loop: asyncio.AbstractEventLoop) -> None:
        """Gives free places to the first who wait; after a pause, later."""
        now = loop.time()
        while self._waiting and self._limiter.may_begin(now):
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(self._limiter.begin())
        left = self._limiter.pause_left(now)
        if self._waiting and left and self._timer is None:
            self._timer = loop.call_at(now + left, self._after_pause, loop)

    def _after_pause(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        self._let_in(loop)

    def _forget(self, place: asyncio.Future[Sent]) -> None:
        """Takes one who gave up out of the line; a place that it was just given goes on."""
        if place.cancelled():
            if place in self._waiting:
                self._waiting.remove(place)
        else:
            self.leave(place.result(), "nothing")

    def _say(self, why: str) -> None:
        self._told = self._limiter.limit
        if self._tell is not None:
            change = LimitChange(
                account=self._account, limit=self._told, why=why, at=round(self._wall(), 3)
            )
            self._tell(change)
