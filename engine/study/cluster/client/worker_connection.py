"""At the client: one worker. What it says is made durable, and answered when it is."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

from orglab.engine.study.batch.response_sharing import StudySharing
from orglab.engine.study.batch.run_gate import Interrupted
from orglab.engine.study.cluster.client.bundle import Bundle, BundledArm
from orglab.engine.study.cluster.client.dispatched_run import DispatchedRun
from orglab.engine.study.cluster.client.limit_broker import LimitBroker, WorkerHolding
from orglab.engine.study.cluster.errors import ClusterError, RunLost
from orglab.engine.study.cluster.worker.remote_journal import entry_form, entry_of, event_of
from orglab.engine.study.cluster.worker.run_executor import ending_of
from orglab.providers.base import JSON
from orglab.results.records import CallEntry
from orglab.results.store.group_commit import StoreError
from orglab.results.store.journal.journal import Attempt, JournalError

__all__ = ["Channel", "StudyServices", "WorkerConnection"]


PULL_SECONDS: Final = 5.0
"""How long a worker that has nothing to say waits before it says so."""
SUPERSEDED: Final = "what it says of this run counts no more: another worker has it"


class Channel(Protocol):
    """The way to one worker."""

    async def say(self, *parts: JSON) -> JSON | None:
        """Say something; None where the worker does not know this client (any more).

        Raises:
            RunLost: The worker cannot be reached any more.
        """


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyServices:
    """What all workers ask for at the client.

    Attributes:
        bundle: Files.
        arms: The teams.
        limits: The limits of all workers.
        sharing: Replies that arms and studies share, or None.
    """

    bundle: Bundle
    arms: Sequence[BundledArm]
    limits: LimitBroker
    sharing: StudySharing | None


class WorkerConnection:
    """One worker.

    Args:
        address: Its address.
        channel: The way to it.
        services: What it asks for.
        room: Runs that it plays concurrently.

    Attributes:
        runs: The runs that it has.
        gone: It is a worker of ours no more.
    """

    def __init__(
        self, address: str, channel: Channel, services: StudyServices, *, room: int
    ) -> None:
        self.address = address
        self.room = room
        self.runs: dict[int, DispatchedRun] = {}
        self.gone = False
        self._channel = channel
        self._services = services
        self._held = WorkerHolding(services.limits)
        self._heard = 0
        self._answers: list[JSON] = []
        self._ready = asyncio.Event()
        self._dropped = asyncio.Event()
        self._keeping: set[asyncio.Task[None]] = set()
        self._waiting: set[asyncio.Task[None]] = set()
        self._claims: dict[str, bool] = {}
        self._kept: dict[str, CallEntry] = {}
        self._do: Mapping[str, Callable[..., None]] = {
            "arm": self._arm,
            "begin": self._begin,
            "chunk": self._chunk,
            "claim": self._claim,
            "end": self._end,
            "enter": self._enter,
            "entries": self._entries,
            "free": lambda _, *what: self._held.free(*what),
            "keep": self._keep,
            "leave": lambda _, *what: self._held.leave(*what),
            "left": self._left,
            "money": self._money,
            "pause": lambda _, *what: self._held.pause(*what),
            "publish": self._publish,
            "reserve": self._reserve,
            "settle": lambda _, *what: self._held.settle(*what),
            "slot": self._slot,
        }

    @property
    def free(self) -> int:
        """How many more runs it has room for."""
        return 0 if self.gone else self.room - len(self.runs)

    # --- to and fro ---------------------------------------------------------------------------

    async def serve(self, gone: Callable[[], None]) -> None:
        """Hear and answer the worker until it is gone; ``gone`` is called before it is forgotten.

        Raises:
            ClusterError: The scheduler is gone.
        """
        ways: list[asyncio.Task[Any]] = [
            asyncio.create_task(way) for way in (self._pull(), self._push(), self._dropped.wait())
        ]
        try:
            done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except RunLost:
            pass
        finally:
            self.gone = True
            gone()
            for task in ways:
                task.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            await self._let_go()

    def drop(self) -> None:
        """The scheduler has lost the worker: it is heard no more."""
        self._dropped.set()

    async def _pull(self) -> None:
        while True:
            messages = await self._channel.say("pull", self._heard, PULL_SECONDS)
            if messages is None:
                return
            for number, kind, *parts in messages:
                if number > self._heard:
                    self._heard = number
                    self._do[kind](number, *parts)

    async def _push(self) -> None:
        while True:
            await self._ready.wait()
            self._ready.clear()
            answers, self._answers = self._answers, []
            if await self._channel.say("push", answers) is None:
                return

    def _answer(self, number: int, value: JSON = None) -> None:
        self._answers.append([number, value])
        self._ready.set()

    def _refuse(self, number: int, issue: str, words: str) -> None:
        self._answers.append([number, None, issue, words])
        self._ready.set()

    def _later(
        self,
        number: int,
        work: Awaitable[JSON],
        dispatched: DispatchedRun | None = None,
        *,
        keeps: bool = False,
    ) -> None:
        """Answer when ``work`` is done; keeping is never broken off."""
        tasks = self._keeping if keeps else self._waiting
        task = asyncio.create_task(self._done(number, work, dispatched))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def _done(
        self, number: int, work: Awaitable[JSON], dispatched: DispatchedRun | None
    ) -> None:
        try:
            value = await work
        except Interrupted as stop:
            self._refuse(number, "stop", str(stop))
        except JournalError as wrong:
            self._refuse(number, "journal", str(wrong))
        except (ValueError, TypeError) as wrong:
            self._refuse(number, "value", str(wrong))
        except (StoreError, ClusterError, OSError) as error:
            if dispatched is not None:
                dispatched.issue = dispatched.issue or error
            self._refuse(number, "store", str(error))
        else:
            self._answer(number, value)

    # --- runs -----------------------------------------------------------------------------------

    def _run(self, number: int, run: int, events: Sequence[JSON]) -> DispatchedRun | None:
        """A run that the worker has, its events added."""
        dispatched = self.runs.get(run)
        if dispatched is None:
            self._refuse(number, "gone", SUPERSEDED)
            return None
        try:
            dispatched.gate.emit([event_of(event) for event in events])
        except (StoreError, ValueError, TypeError) as error:
            dispatched.issue = dispatched.issue or error
            self._refuse(number, "store", str(error))
            return None
        return dispatched

    def _begin(self, number: int, run: int, events: JSON, attempt: Mapping[str, JSON]) -> None:
        if dispatched := self._run(number, run, events):
            self._later(number, dispatched.gate.begin(Attempt(**attempt)), dispatched)

    def _money(self, number: int, run: int, events: JSON, attempt: Mapping[str, JSON]) -> None:
        if dispatched := self._run(number, run, events):
            self._later(number, dispatched.gate.reserve(Attempt(**attempt)), dispatched)

    def _keep(self, number: int, run: int, events: JSON, form: Sequence[JSON]) -> None:
        if dispatched := self._run(number, run, events):
            self._later(number, self._durable(dispatched, form), dispatched, keeps=True)

    async def _durable(self, dispatched: DispatchedRun, form: Sequence[JSON]) -> None:
        entry = entry_of(form)
        await dispatched.gate.keep(entry)
        if isinstance(entry, CallEntry) and entry.identity in self._claims:
            self._kept[entry.identity] = entry

    def _entries(self, number: int, run: int) -> None:
        if dispatched := self._run(number, run, ()):
            entries = dispatched.journal.earlier.values()
            self._answer(number, [entry_form(entry) for entry in entries])

    def _end(self, number: int, run: int, events: JSON, ending: JSON) -> None:
        if dispatched := self._run(number, run, events):
            del self.runs[run]
            dispatched.end(ending_of(ending))
            self._answer(number)

    def _left(self, number: int, run: int, events: JSON, why: str | None) -> None:
        """A run did not end: it was stopped (None), or something broke."""
        if dispatched := self._run(number, run, events):
            del self.runs[run]
            if dispatched.issue is not None:
                dispatched.fail(dispatched.issue)
            elif why is None:
                dispatched.fail(Interrupted("stopped"))
            else:
                dispatched.fail(ClusterError(f"a run broke on the worker {self.address}: {why}"))
            self._answer(number)

    # --- what is shared -------------------------------------------------------------------------

    def _claim(self, number: int, identity: str, request: JSON, cacheable: bool) -> None:
        self._later(number, self._claimed(identity, request, cacheable=cacheable))

    async def _claimed(self, identity: str, request: JSON, *, cacheable: bool) -> JSON:
        sharing = self._services.sharing
        assert sharing is not None, "a worker claims only where calls are shared"
        call = await sharing.claim(identity, lambda: request, cacheable=cacheable)
        if call is None:
            self._claims[identity] = cacheable
        return None if call is None else entry_form(call)

    def _publish(self, _: int, identity: str, made: bool, cacheable: bool) -> None:
        call = self._kept.pop(identity, None)
        if self._claims.pop(identity, None) is not None and self._services.sharing is not None:
            self._services.sharing.publish(identity, call if made else None, cacheable=cacheable)

    # --- what is asked for ------------------------------------------------------------------------

    def _arm(self, number: int, arm: int) -> None:
        self._later(number, _soon(lambda: self._services.arms[arm].form))

    def _chunk(self, number: int, name: str, at: int) -> None:
        bundle = self._services.bundle
        self._later(number, _soon(lambda: b64encode(bundle.chunk(name, at)).decode()))

    def _slot(self, number: int, *what: JSON) -> None:
        self._later(number, self._held.slot(*what))

    def _reserve(self, number: int, *what: JSON) -> None:
        self._later(number, self._held.reserve(*what))

    def _enter(self, number: int, *what: JSON) -> None:
        self._later(number, self._held.enter(*what))

    # --- the end ------------------------------------------------------------------------------

    async def _let_go(self) -> None:
        """The worker is gone: what came is kept, the rest is given back, its runs are others'."""
        for task in self._waiting:
            task.cancel()
        await asyncio.gather(*self._waiting, *self._keeping, return_exceptions=True)
        if self._services.sharing is not None:
            for identity, cacheable in self._claims.items():  # durable replies are in the store
                self._services.sharing.publish(identity, None, cacheable=cacheable)
        self._claims.clear()
        self._held.close()
        runs, self.runs = list(self.runs.values()), {}
        for dispatched in runs:
            dispatched.fail(RunLost(f"the worker {self.address} is gone"))

    async def close(self) -> None:
        """Tell the worker that the study has ended here."""
        with suppress(RunLost):
            await self._channel.say("close")


def _soon(work: Callable[[], JSON]) -> Coroutine[Any, Any, JSON]:
    async def done() -> JSON:
        return work()

    return done()
