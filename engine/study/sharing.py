"""Calls that arms share: an identical call is made once, until the arms diverge.

The identity of a call holds all that came before it in its run, so arms share their calls up to
the treatment and never after. Failures, refusals and replies cut by a limit are never shared.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, TypeAlias

from orglab.results.store import Store

__all__ = ["StudySharing"]

JSON: TypeAlias = Any


class StudySharing:
    """Finds replies to identical calls, in the store or under way in another run."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._under_way: dict[str, asyncio.Future[Mapping[str, JSON] | None]] = {}

    async def claim(self, identity: str) -> Mapping[str, JSON] | None:
        """The reply to an identical call, or None: then the caller makes it and says ``publish``.

        Where another run is making the call, its reply is waited for.
        """
        while (under_way := self._under_way.get(identity)) is not None:
            body = await asyncio.shield(under_way)
            if body is not None:
                return body
        body = self._store.reply_to(identity)
        if body is None:
            self._under_way[identity] = asyncio.get_running_loop().create_future()
        return body

    def publish(self, identity: str, body: Mapping[str, JSON] | None) -> None:
        """Hands a durable reply to who waits for it; None: there is none to share."""
        self._under_way.pop(identity).set_result(body)
