"""``--on``: which cluster, and the way to it."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from orglab.engine.study.cluster.errors import ClusterError

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["ClusterAddress", "address_of", "connected"]

_LOCAL: Final = re.compile(r"local:([1-9]\d{0,3})")
_SCHEDULER: Final = re.compile(r"(tcp|tls|ucx|ws|wss|inproc)://\S+")
_CONNECT_SECONDS: Final = 15


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterAddress:
    """A cluster.

    Attributes:
        scheduler: The address of its scheduler; "" for worker processes of this machine.
        workers: How many of these.
    """

    scheduler: str = ""
    workers: int = 0


def address_of(text: str) -> ClusterAddress:
    """Read what was typed.

    Raises:
        ClusterError: It is no address of a cluster.
    """
    local = _LOCAL.fullmatch(text)
    if local:
        return ClusterAddress(workers=int(local[1]))
    if _SCHEDULER.fullmatch(text):
        return ClusterAddress(scheduler=text)
    raise ClusterError(
        f"{text!r} is no cluster: give the address of a Dask scheduler, such as "
        "tcp://10.0.0.1:8786, or local:4 for four worker processes of this machine"
    )


@asynccontextmanager
async def connected(address: ClusterAddress) -> AsyncIterator[Client]:
    """Return a client of the cluster; worker processes of this machine are started, and ended again.

    Raises:
        ClusterError: Dask is not installed, or the scheduler cannot be reached.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError as missing:
        raise ClusterError("--on needs Dask: pip install 'orglab[dask]'") from missing
    if address.workers:
        async with (
            LocalCluster(
                n_workers=address.workers,
                threads_per_worker=1,
                processes=True,
                memory_limit=0,
                dashboard_address=":0",  # any port: 8787 may be taken
                silence_logs=logging.CRITICAL,
                asynchronous=True,
            ) as cluster,
            Client(cluster, asynchronous=True, set_as_default=False) as client,
        ):
            yield client
        return
    try:
        client = await Client(
            address.scheduler,
            asynchronous=True,
            set_as_default=False,
            timeout=_CONNECT_SECONDS,
        )
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        raise ClusterError(f"no scheduler answers at {address.scheduler}: {error}") from error
    try:
        yield client
    finally:
        await client.close()
