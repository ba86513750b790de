"""Replies that calls need not be paid for: of other arms, and of other studies.

Arms: an identical call is made once, until the arms diverge. The identity of a call holds all that
came before it in its run, so arms share their calls up to the treatment and never after. Studies: a
reply that was paid for in one study is kept beside it (``results/store/response_cache.py``) and taken by
another that asks the same. Failures, refusals and replies cut by a limit are never shared.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from orglab.engine.run.calls.call_key import KEY_VERSION
from orglab.engine.run.calls.model_call import SharedResponses
from orglab.providers.base import JSON
from orglab.results.records import CallEntry
from orglab.results.store.response_cache import ResponseCache
from orglab.results.store.store import Store

PLANTED = "planted fault"
"""Prefix of the note of an injected error: such a reply is no model's answer."""


def sharing_of(
    store: Store, *, arms: bool, kept: Path | None, report: Callable[[str], object]
) -> StudySharing | None:
    """Return what a study's calls share, or None.

    Args:
        store: The study.
        arms: Its arms share calls.
        kept: The file of the calls that studies keep for each other, or None.
        report: Called with a message about what goes wrong with that file.
    """
    if not arms and kept is None:
        return None
    study = store.path.resolve().parent.name
    calls = ResponseCache(kept, version=KEY_VERSION, study=study, report=report) if kept else None
    return StudySharing(store, arms=arms, kept=calls)


class StudySharing(SharedResponses):
    """Finds replies to identical calls: in the store, under way in another run, or kept.

    Attributes:
        reused: Calls whose reply another study had paid for.
        reused_usd: US dollars that they had cost, as far as that is known.
    """

    def __init__(
        self, store: Store, *, arms: bool = True, kept: ResponseCache | None = None
    ) -> None:
        """Find nothing yet.

        Args:
            store: The study.
            arms: Its runs share calls with each other.
            kept: The calls that studies keep for each other, or None.
        """
        self._store = store
        self._arms = arms
        self._kept = kept
        self.reused = 0
        self.reused_usd = 0.0
        self._under_way: dict[str, asyncio.Future[CallEntry | None]] = {}

    async def claim(
        self, identity: str, request: Callable[[], Mapping[str, JSON]], *, cacheable: bool
    ) -> CallEntry | None:
        """Return the reply to an identical call, or None: then the caller makes it and says ``publish``.

        Where another run is making the call, its reply is waited for.
        """
        call = await self._of_arms(identity) if self._arms else None
        if call is None and cacheable and self._kept is not None:
            call = self._kept.find(identity, request())
        if call is None and self._arms:
            self._under_way[identity] = asyncio.get_running_loop().create_future()
        if call is not None and call.kept is not None:
            self.reused += 1
            self.reused_usd += call.cost_usd or 0.0
        return call

    async def _of_arms(self, identity: str) -> CallEntry | None:
        while (under_way := self._under_way.get(identity)) is not None:
            if (call := await asyncio.shield(under_way)) is not None:
                return call
        return self._store.reply_to(identity)

    def publish(self, identity: str, call: CallEntry | None, *, cacheable: bool) -> None:
        """Hand a durable reply to who waits for it; None: there is none to share."""
        if cacheable and self._kept is not None and call is not None and _is_a_models(call):
            self._kept.add(call)
        if self._arms:
            self._under_way.pop(identity).set_result(call)

    def close(self) -> None:
        """Close the response cache."""
        if self._kept is not None:
            self._kept.close()


def _is_a_models(call: CallEntry) -> bool:
    """Whether a model wrote it, as it stands."""
    planted = any(str(note).startswith(PLANTED) for note in call.notes)
    return not call.simulated and not planted
