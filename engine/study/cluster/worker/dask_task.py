"""What a Dask worker is asked to do: greet a client, play a shard of runs, hear and say."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from distributed import Worker, get_worker
from distributed.worker_state_machine import SecedeEvent

from orglab.engine.study.cluster.client.channel import OPERATION
from orglab.engine.study.cluster.errors import SessionGone
from orglab.engine.study.cluster.worker.run_executor import RunExecutor
from orglab.engine.study.cluster.worker.session import Session
from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import dumps, loads_stored
from orglab.results.store.store import versions


class _Client:
    """One client's study on this worker."""

    def __init__(self, about: Mapping[str, JSON], folder: Path) -> None:
        self.study: str = about["study"]
        self.session = Session(about["patience"])
        self.executor = RunExecutor(self.session, about, folder)
        self.ends = asyncio.create_task(self._end())

    async def _end(self) -> None:
        await self.session.watch()
        await self.executor.aclose()


async def greet(token: str, about: str, dask_worker: Worker) -> str:
    """Begin a session with a client; returns the versions of what is installed here.

    An earlier client of the same study is over at once: what it asked for is not paid for twice.

    Args:
        token: The session's name.
        about: JSON: ``study``, ``seed``, ``shares``, ``patience`` in seconds, ``same_machine``.
        dask_worker: The worker, which Dask gives.
    """
    said = loads_stored(about)
    if said["beside"]:  # a Ctrl-C at the terminal goes to all its processes; it is the client's
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    clients = _clients(dask_worker)
    for client in list(clients.values()):
        if client.study == said["study"]:
            client.session.close("another client resumed this study")
            await client.ends
    for old in [name for name, client in clients.items() if client.ends.done()]:
        del clients[old]
    clients[token] = _Client(said, Path(dask_worker.local_directory))
    dask_worker.handlers.setdefault(OPERATION, _heard(clients))
    return dumps(versions())


def _clients(worker: Worker) -> dict[str, _Client]:
    """Clients' studies on a worker, by the token of their session."""
    clients: dict[str, _Client] = worker.extensions.setdefault(OPERATION, {})
    return clients


def _heard(clients: Mapping[str, _Client]) -> Any:  # noqa: ANN401 - a handler of Dask
    async def heard(token: str, said: bytes) -> bytes:
        """Return what a client says: ``["pull", heard, seconds]``, ``["push", answers]``, ``["close"]``."""
        client = clients.get(token)
        if client is None or client.session.gone:
            return b"null"
        return await _answer(client, loads_stored(said.decode()))

    return heard


async def _answer(client: _Client, said: Sequence[JSON]) -> bytes:
    if said[0] == "pull":
        messages = await client.session.pull(said[1], said[2])
        return f"[{','.join(messages)}]".encode()
    if said[0] == "push":
        client.session.push(said[1])
    else:
        client.session.close("the client has ended")
        await client.ends
    return b"[]"


async def execute_shard(token: str, key: str, runs: str) -> int:
    """Execute runs concurrently on the worker's own event loop, as a Dask task; return how many.

    Args:
        token: The client's session.
        key: The task's own key.
        runs: JSON: the runs.

    Raises:
        SessionGone: The client is gone, or has another session.
    """
    worker = get_worker()
    client = _clients(worker).get(token)
    if client is None:
        raise SessionGone("the client of this task is unknown to this worker")
    _free_slot(worker, key)
    forms = loads_stored(runs)
    ends = await asyncio.gather(*map(client.executor.execute, forms), return_exceptions=True)
    for end in ends:
        if isinstance(end, BaseException):
            raise end
    return len(forms)


def _free_slot(worker: Worker, key: str) -> None:
    """Let the worker begin other tasks: a shard waits for models, it takes no processor."""
    if key in worker.state.tasks:
        secede = SecedeEvent(key=key, compute_duration=0.0, stimulus_id=f"orglab-{key}")
        worker.handle_stimulus(secede)
