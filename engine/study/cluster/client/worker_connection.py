"""At the client: one worker. What it says is made durable, and answered when it is."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from orglab.engine.study.batch.batch import PlannedRun
from orglab.engine.study.batch.response_sharing import StudySharing
from orglab.engine.study.batch.run_gate import RunGate
from orglab.engine.study.batch.runner import Ending
from orglab.engine.study.cluster.client.bundle import Bundle, BundledArm
from orglab.engine.study.cluster.errors import ClusterError, RunLost
from orglab.engine.study.cluster.worker.remote_journal import entry_form, entry_of, value_of
from orglab.providers.base import JSON, Interrupted
from orglab.providers.client.adaptive_limit import CallOutcome
from orglab.providers.client.model_client import AccountQueue, ModelClients
from orglab.providers.client.rate_limit import RateLimits, Reservation
from orglab.results.records import CallEntry, Event
from orglab.results.store.group_commit import StoreError
from orglab.results.store.journal.journal import Attempt, JournalError
from orglab.results.store.journal.run_journal import RunJournal


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


PULL_SECONDS: Final = 5.0
"""How long a worker that has nothing to say waits before it says so."""
SUPERSEDED: Final = "the run was given to another worker"


@dataclass(kw_only=True, slots=True, eq=False)
class DispatchedRun:
    """A run under way at a worker.

    Attributes:
        number: Under which it was dispatched: each time another one.
        planned: The run.
        journal: What is durable of it.
        gate: Lets its calls begin, and pays for them.
        form: The run as it travels.
        ended: How it ended; or why it did not.
        error: What went wrong at the client while the run was played.
    """

    number: int
    planned: PlannedRun
    journal: RunJournal
    gate: RunGate
    form: JSON
    ended: asyncio.Future[Ending] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    issue: Exception | None = None

    def end(self, ending: Ending) -> None:
        """Record that the run ended at the worker."""
        if not self.ended.done():
            self.ended.set_result(ending)

    def fail(self, why: BaseException) -> None:
        """Record that the run did not end."""
        if not self.ended.done():
            self.ended.set_exception(why)


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
        """Drop the worker: the scheduler has lost it."""
        self._dropped.set()

    async def _pull(self) -> None:
        while True:
            messages = await self._channel.say("pull", self._heard, PULL_SECONDS)
            if messages is None:
                return
            for number, kind, *parts in messages:
                if number > self._heard:
                    self._heard = number
                    self._receive(number, kind, parts)

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

    def _refuse(self, number: int, kind: str, reason: str) -> None:
        self._answers.append([number, None, kind, reason])
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
        """Return a run that the worker has, its events added."""
        dispatched = self.runs.get(run)
        if dispatched is None:
            self._refuse(number, "gone", SUPERSEDED)
            return None
        try:
            dispatched.gate.emit([value_of(Event, event) for event in events])
        except (StoreError, ValueError, TypeError) as error:
            dispatched.issue = dispatched.issue or error
            self._refuse(number, "store", str(error))
            return None
        return dispatched

    def _receive(self, number: int, kind: str, parts: Sequence[JSON]) -> None:
        """Do what a message asks for; it is answered now, later, or not at all."""
        match kind:
            case "slot" | "reserve" | "enter":
                self._later(number, getattr(self._held, kind)(*parts))
            case "free" | "leave" | "pause" | "settle":
                getattr(self._held, kind)(*parts)
            case "claim":
                self._later(number, self._claim(*parts))
            case "publish":
                self._publish(*parts)
            case "arm":
                self._later(number, self._arm(*parts))
            case "chunk":
                self._later(number, self._chunk(*parts))
            case _:
                run, events, *form = parts
                if dispatched := self._run(number, run, events):
                    self._receive_of_run(number, kind, dispatched, *form)

    def _receive_of_run(
        self, number: int, kind: str, dispatched: DispatchedRun, form: JSON = None
    ) -> None:
        gate = dispatched.gate
        match kind:
            case "begin":
                self._later(number, gate.begin(value_of(Attempt, form)), dispatched)
            case "pay":
                self._later(number, gate.reserve(value_of(Attempt, form)), dispatched)
            case "keep":
                self._later(number, self._keep(dispatched, form), dispatched, keeps=True)
            case "entries":
                earlier = dispatched.journal.earlier.values()
                self._answer(number, [entry_form(entry) for entry in earlier])
            case "end":
                del self.runs[dispatched.number]
                dispatched.end(value_of(Ending, form))
                self._answer(number)
            case _:  # "left": it was stopped (None), or something broke
                del self.runs[dispatched.number]
                broke = ClusterError(f"a run failed on the worker {self.address}: {form}")
                dispatched.fail(
                    dispatched.issue or (Interrupted("stopped") if form is None else broke)
                )
                self._answer(number)

    async def _keep(self, dispatched: DispatchedRun, form: Sequence[JSON]) -> None:
        entry = entry_of(form)
        await dispatched.gate.keep(entry)
        if isinstance(entry, CallEntry) and entry.identity in self._claims:
            self._kept[entry.identity] = entry

    # --- what is shared -------------------------------------------------------------------------

    async def _claim(self, identity: str, request: JSON, cacheable: bool) -> JSON:
        sharing = self._services.sharing
        assert sharing is not None, "a worker claims only where calls are shared"
        call = await sharing.claim(identity, lambda: request, cacheable=cacheable)
        if call is None:
            self._claims[identity] = cacheable
        return None if call is None else entry_form(call)

    def _publish(self, identity: str, made: bool, cacheable: bool) -> None:
        call = self._kept.pop(identity, None)
        if self._claims.pop(identity, None) is not None and self._services.sharing is not None:
            self._services.sharing.publish(identity, call if made else None, cacheable=cacheable)

    async def _arm(self, arm: int) -> JSON:
        return self._services.arms[arm].form

    async def _chunk(self, name: str, at: int) -> JSON:
        return b64encode(self._services.bundle.chunk(name, at)).decode()

    # --- the end ------------------------------------------------------------------------------

    async def _let_go(self) -> None:
        """Release a lost worker's runs: what came is kept, the rest is given back."""
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
