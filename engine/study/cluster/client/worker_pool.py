"""At the client: the workers of a study as they come and go, and who plays which run."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

from orglab.engine.run.calls.call_key import digest
from orglab.engine.study.cluster.client.channel import DaskChannel, listed
from orglab.engine.study.cluster.client.worker_connection import (
    DispatchedRun,
    StudyServices,
    WorkerConnection,
)
from orglab.engine.study.cluster.errors import ClusterError, RunLost
from orglab.providers.base import Interrupted
from orglab.providers.structured_output.strict_json import dumps, loads_stored
from orglab.results.store.store import versions

if TYPE_CHECKING:
    from distributed import Client, Future

    Task: TypeAlias = Future[Any]
from collections.abc import Iterable

from orglab.engine.study.batch.batch import Arm
from orglab.engine.study.cluster.client.bundle import teams_of
from orglab.providers.base import JSON

_PRICES = "genai-prices"
"""What calls cost, where a spec does not say so, comes from here."""


def plugins_used(arms: Iterable[Arm]) -> set[tuple[str, str]]:
    """Return group and name of each plugin that runs of the arms need."""
    found: set[tuple[str, str]] = set()
    for team in (team for arm in arms for team in teams_of(arm.team.topology)):
        found |= {("orglab.providers", model.provider) for model in team.models.values()}
        found |= {("orglab.tools", tool.use) for tool in team.tools.values()}
        checks = [check for link in team.authority for check in link.trigger.checks]
        found |= {("orglab.evaluators", check.use) for check in checks}
    return found


def differences(
    here: Mapping[str, JSON], there: Mapping[str, JSON], used: Iterable[tuple[str, str]]
) -> Sequence[str]:
    """Return what a worker has otherwise than the client, as text; empty where all is the same.

    Args:
        here: ``versions()`` of the client.
        there: Of the worker.
        used: The plugins that count.
    """
    found = []
    if here["orglab"] != there["orglab"]:
        found.append(f"orglab {there['orglab']}, not {here['orglab']}")
    for group, name in sorted(used):
        ours, theirs = (side["plugins"].get(group, {}).get(name) for side in (here, there))
        if ours != theirs:
            kind = group.removeprefix("orglab.").removesuffix("s")
            found.append(f"the {kind} {name} of {theirs or 'nothing installed'}, not {ours}")
    prices, theirs = (side["dependencies"].get(_PRICES) for side in (here, there))
    if prices != theirs:
        found.append(f"{_PRICES} {theirs}, not {prices}")
    return found


LOOK_SECONDS: Final = 1.0
"""How often the scheduler is asked which workers there are."""
GATHER_SECONDS: Final = 0.02
"""How long runs are gathered into a shard."""
PATIENCE_SECONDS: Final = 60.0
"""Without a word for so long, client and worker hold each other for gone."""
CLOSE_SECONDS: Final = 10.0
GREET_SECONDS: Final = 30.0
WORKERLESS_SECONDS: Final = (120.0, 900.0)
"""How long workers are waited for: where none came yet, and where all that came went."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyContext:
    """What a worker pool works on.

    Attributes:
        name: Tells it from other studies on the cluster; the same when it is resumed.
        attempt: Tells this client's tasks from those of earlier clients of the study.
        seed: The root seed.
        services: What workers ask for.
        used: Plugins that workers need, by group.
        room: Runs that a worker plays concurrently.
        same_machine: Workers are processes that this one started, at the same terminal.
        stopping: Whether no other run is to be dispatched.
    """

    name: str
    attempt: int
    seed: int
    services: StudyServices
    used: set[tuple[str, str]]
    room: int
    same_machine: bool
    stopping: Callable[[], bool]


@dataclass(kw_only=True, slots=True)
class _Member:
    connection: WorkerConnection
    token: str
    serving: asyncio.Task[None]
    shards: dict[str, Task] = field(default_factory=dict)


class WorkerPool:
    """The workers of a study. Use it as an asynchronous context.

    Args:
        client: The client of the cluster.
        study: What they work on.
        changed: Called when a worker has come or gone.

    Attributes:
        error: Why it cannot go on, or None.
        lost: Workers that went while they had runs.
    """

    def __init__(self, client: Client, study: StudyContext, changed: Callable[[], None]) -> None:
        self.issue: ClusterError | None = None
        self.lost = 0
        self._came = False
        self._workerless = asyncio.get_running_loop().time()
        self._client = client
        self._study = study
        self._changed = changed
        self._members: dict[str, _Member] = {}
        self._queue: deque[DispatchedRun] = deque()
        self._news = asyncio.Event()
        self._shards = 0
        self._tasks: set[asyncio.Task[None]] = set()
        about = {
            "study": study.name,
            "seed": study.seed,
            "shares": study.services.sharing is not None,
            "patience": PATIENCE_SECONDS,
            "beside": study.same_machine,
        }
        self._about = dumps(about)
        self._versions = versions()

    async def __aenter__(self) -> Self:
        """Greet the workers that are there."""
        await self._look()
        self._start(self._watch())
        self._start(self._dispatch_waiting())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Let all go: what they have of the study is removed."""
        there = [
            member.connection for member in self._members.values() if not member.connection.gone
        ]
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        members, self._members = list(self._members.values()), {}
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await asyncio.gather(*(connection.close() for connection in there))
        except (TimeoutError, ClusterError):
            pass  # they find out themselves
        futures = [future for member in members for future in member.shards.values()]
        if futures:
            await self._client.cancel(futures, force=True)

    def _start(self, work: Any) -> asyncio.Task[None]:  # noqa: ANN401 - a coroutine
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (issue := task.exception()) is not None:
            self._break(issue)

    def _break(self, issue: BaseException) -> None:
        """Nothing goes on: whoever waits gets the reason."""
        if not isinstance(issue, ClusterError):
            issue = ClusterError(
                f"the client of the cluster failed: {type(issue).__name__}: {issue}"
            )
        self.issue = self.issue or issue
        self._fail_queue(self.issue)
        for member in self._members.values():
            for dispatched in list(member.connection.runs.values()):
                dispatched.fail(self.issue)

    def stop(self) -> None:
        """Let no waiting run begin."""
        self._fail_queue(Interrupted("stopped"))

    def _fail_queue(self, why: BaseException) -> None:
        while self._queue:
            self._queue.popleft().fail(why)

    @property
    def room(self) -> int:
        """How many runs all workers play concurrently."""
        return sum(member.connection.room for member in self._members.values())

    def __len__(self) -> int:
        """Return how many workers there are."""
        return len(self._members)

    # --- workers ------------------------------------------------------------------------------

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self._look()

    async def _look(self) -> None:
        """Greet workers that are new, and forget those that are gone."""
        there = await listed(self._client)
        for address, member in list(self._members.items()):
            if member.serving.done():
                del self._members[address]
            elif address not in there:
                member.connection.drop()
        new = [address for address in there if address not in self._members]
        await asyncio.gather(*map(self._greet, new))
        if self._study.stopping():
            self.stop()
        self._refuse_to_wait()

    def _refuse_to_wait(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._members:
            self._came, self._workerless = True, now
        patience = WORKERLESS_SECONDS[self._came]
        if now - self._workerless > patience:
            which = "all workers left and no other joined" if self._came else "no worker joined"
            raise ClusterError(
                f"{which} within {patience:g} seconds; every reply is stored: run the same command "
                "to resume when there are workers"
            )

    async def _greet(self, address: str) -> None:
        from orglab.engine.study.cluster.worker.dask_task import greet

        token = token_hex(16)
        try:
            async with asyncio.timeout(GREET_SECONDS):
                said = await self._client.run(greet, token, self._about, workers=[address])
        except (OSError, TimeoutError):
            return  # it went, or is at something else; it is greeted again
        except Exception as error:  # Dask tells what it cannot find there as a plain one
            raise ClusterError(
                f"the worker {address} has no compatible orglab ({error}): "
                f"pip install 'orglab[dask]=={self._versions['orglab']}' there"
            ) from error
        found = differences(self._versions, loads_stored(said[address]), self._study.used)
        if found:
            raise ClusterError(
                f"the worker {address} has {'; '.join(found)}. All runs of a study need the same "
                "versions: install the versions of this machine there"
            )
        channel = DaskChannel(self._client, address, token, patience=PATIENCE_SECONDS)
        connection = WorkerConnection(address, channel, self._study.services, room=self._study.room)
        serving = self._start(self._serve(connection))
        self._members[address] = _Member(connection=connection, token=token, serving=serving)
        self._changed()
        self._news.set()

    async def _serve(self, connection: WorkerConnection) -> None:
        await connection.serve(lambda: self._count(connection))
        self._changed()
        self._news.set()

    def _count(self, connection: WorkerConnection) -> None:
        self.lost += bool(connection.runs)

    # --- runs -----------------------------------------------------------------------------------

    async def dispatch(self, dispatched: DispatchedRun) -> None:
        """Give a run to a worker that has room for it, and wait until it has ended.

        Raises:
            RunLost: Its worker is gone.
            Interrupted: It was stopped.
            ClusterError: Nothing goes on.
        """
        if self.issue is not None:
            raise self.issue
        self._queue.append(dispatched)
        self._news.set()
        await asyncio.wait([dispatched.ended])

    async def _dispatch_waiting(self) -> None:
        while True:
            await self._news.wait()
            await asyncio.sleep(GATHER_SECONDS)
            self._news.clear()
            if self._study.stopping():
                self.stop()
            for member, share in self._shares():
                self._submit(member, [self._queue.popleft() for _ in range(share)])

    def _shares(self) -> Sequence[tuple[_Member, int]]:
        """Return how many of the waiting runs each worker gets: those with most room first."""
        members = [each for each in self._members.values() if each.connection.free > 0]
        free = {id(each): each.connection.free for each in members}
        shares = {id(each): 0 for each in members}
        for _ in range(min(len(self._queue), sum(free.values()))):
            most = max(members, key=lambda each: free[id(each)])
            free[id(most)] -= 1
            shares[id(most)] += 1
        return [(each, shares[id(each)]) for each in members if shares[id(each)]]

    def _submit(self, member: _Member, shard: Sequence[DispatchedRun]) -> None:
        """Make a Dask task of runs; its key is who they are, and which attempt this is."""
        from orglab.engine.study.cluster.worker.dask_task import execute_shard

        self._shards += 1
        who = digest(*(dispatched.planned.id for dispatched in shard))[:16]
        key = f"orglab-{who}-{self._study.attempt}.{self._shards}"
        runs = {dispatched.number: dispatched for dispatched in shard}
        member.connection.runs.update(runs)
        future = self._client.submit(
            execute_shard,
            member.token,
            key,
            dumps([{**dispatched.form, "run": dispatched.number} for dispatched in shard]),
            key=key,
            pure=False,
            retries=0,
            workers=[member.connection.address],
            allow_other_workers=False,
        )
        member.shards[key] = future
        self._start(self._shard(member, key, runs))

    async def _shard(self, member: _Member, key: str, runs: Mapping[int, DispatchedRun]) -> None:
        """Wait for a task; runs of it that did not end are others'."""
        future = member.shards[key]
        waiting = asyncio.create_task(_settled(future))
        await asyncio.wait([waiting, member.serving], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        why = future.status
        del member.shards[key]
        for number, dispatched in runs.items():
            if member.connection.runs.pop(number, None) is not None:
                dispatched.fail(
                    RunLost(f"a task on the worker {member.connection.address} was {why}")
                )
        self._news.set()


async def _settled(future: Task) -> None:
    """Wait until a task is done, however it ended."""
    with suppress(Exception, asyncio.CancelledError):  # whatever it is, the runs tell
        await future
