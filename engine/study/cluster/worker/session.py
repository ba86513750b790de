"""A worker's talk with one client: numbered messages, each answered when it is durable.

Dask lets a client ask a worker something through the scheduler; workers cannot ask clients. So the
client fetches what the worker has to say (``pull``) and brings the answers (``push``); what was not
heard is said again. A client that stays away is gone: whoever waits for its word gets an error, and
since no call is made without it, nothing is spent for a client that is no more.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Final

from orglab.engine.study.cluster.errors import SessionGone
from orglab.providers.base import JSON, Interrupted
from orglab.providers.structured_output.strict_json import dumps
from orglab.results.store.group_commit import StoreError
from orglab.results.store.journal.journal import JournalError

_MOST_BYTES: Final = 8 * 2**20
"""Characters of messages that travel together."""
_ERRORS: Final[dict[str, type[BaseException]]] = {
    "gone": SessionGone,
    "journal": JournalError,
    "stop": Interrupted,
    "store": StoreError,
    "value": ValueError,
}


class Session:
    """One client, as a worker sees it.

    Args:
        patience: Seconds without a word after which the client is gone.

    Attributes:
        gone: Why it is over; "" while it is not.
    """

    def __init__(self, patience: float) -> None:
        self.gone = ""
        self._patience = patience
        self._outbox: deque[tuple[int, str]] = deque()
        self._open: dict[int, asyncio.Future[JSON]] = {}
        self._last = 0
        self._news = asyncio.Event()
        self._over = asyncio.Event()
        self._heard = asyncio.get_running_loop().time()

    # --- what runs say ------------------------------------------------------------------------

    def send(self, kind: str, *parts: JSON) -> int:
        """Send a message that needs no answer, and return its number.

        Raises:
            ValueError: It is no strict JSON.
            SessionGone: The client is gone.
        """
        if self.gone:
            raise SessionGone(self.gone)
        number = self._last + 1
        self._outbox.append((number, dumps([number, kind, *parts])))
        self._last = number
        self._news.set()
        return number

    def note(self, kind: str, *parts: JSON) -> None:
        """Send a message that needs no answer, unless the client is gone."""
        if not self.gone:
            self.send(kind, *parts)

    async def ask(self, kind: str, *parts: JSON) -> JSON:
        """Send a message and waits for the answer.

        Raises:
            ValueError: It is no strict JSON, or the client cannot keep it.
            Interrupted: The client says stop.
            StoreError: The client could not make it durable.
            JournalError: It stands there already.
            SessionGone: The client is gone, or the run is another worker's now.
        """
        number = self.send(kind, *parts)
        waiting = self._open[number] = asyncio.get_running_loop().create_future()
        try:
            return await waiting
        finally:
            self._open.pop(number, None)

    # --- what the client does -----------------------------------------------------------------

    async def pull(self, heard: int, seconds: float) -> list[str]:
        """Return what was said after the message ``heard``; waits where there is nothing yet."""
        self._listen()
        while self._outbox and self._outbox[0][0] <= heard:
            self._outbox.popleft()
        if not self._outbox:
            self._news.clear()
            try:
                async with asyncio.timeout(seconds):
                    await self._news.wait()
            except TimeoutError:
                pass
            await asyncio.sleep(0)  # what others say in this turn of the loop comes along
        self._listen()
        return list(self._some())

    def _some(self) -> Iterable[str]:
        room = _MOST_BYTES
        for _, text in self._outbox:
            yield text
            room -= len(text)
            if room < 0:
                return

    def push(self, answers: Iterable[JSON]) -> None:
        """Hear answers: ``[number, value]``, or ``[number, None, error, reason]``."""
        self._listen()
        for number, value, *issue in answers:
            waiting = self._open.get(number)
            if waiting is None or waiting.done():
                continue  # heard before
            if issue:
                waiting.set_exception(_ERRORS[issue[0]](issue[1]))
            else:
                waiting.set_result(value)

    def _listen(self) -> None:
        self._heard = asyncio.get_running_loop().time()

    # --- the end ------------------------------------------------------------------------------

    async def watch(self) -> None:
        """Wait until it is over: closed, or the client stayed away too long."""
        loop = asyncio.get_running_loop()
        while not self.gone:
            left = self._heard + self._patience - loop.time()
            if left <= 0:
                self.close(f"no message from the client for {self._patience:g} seconds")
                return
            try:
                async with asyncio.timeout(left):
                    await self._over.wait()
            except TimeoutError:
                continue

    def close(self, why: str) -> None:
        """End it: whoever waits for an answer gets an error."""
        if self.gone:
            return
        self.gone = why
        for waiting in self._open.values():
            if not waiting.done():
                waiting.set_exception(SessionGone(why))
        self._outbox.clear()
        self._news.set()
        self._over.set()
