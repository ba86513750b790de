"""Where a batch is run: in this process, or on a cluster."""

from __future__ import annotations

import asyncio

from orglab.engine.study.batch.batch import Batch, BatchTally, Progress
from orglab.engine.study.batch.runner import run_batch
from orglab.results.store.store import Store

__all__ = ["has_runs_left", "run_batch_on"]


def has_runs_left(batch: Batch, store: Store) -> bool:
    """Return whether a run of the batch is to be begun or resumed."""
    ended = {"completed", "stopped"} | (set() if batch.retry_failed else {"failed"})
    statuses = store.statuses()
    return any(statuses.get(planned.id) not in ended for planned in batch.planned())


async def run_batch_on(
    batch: Batch,
    store: Store,
    *,
    on: str | None = None,
    progress: Progress | None = None,
    stop: asyncio.Event | None = None,
) -> BatchTally:
    """Run what of a batch is not done yet.

    Args:
        batch: What is to be run.
        store: The study's store, open for writing.
        on: The address of a Dask scheduler, or ``local:N``; None: in this process, as is a batch of
            which every run has ended.
        progress: Called after each run.
        stop: Set it to stop cleanly.

    Raises:
        ClusterError: There is no such cluster, or it went.
        StoreError: The store cannot be written.
        ValueError: A model's entry is wrong.
    """
    if on is None or not has_runs_left(batch, store):
        return await run_batch(batch, store, progress=progress, stop=stop)
    from orglab.engine.study.cluster.client.runner import run_on_cluster

    return await run_on_cluster(batch, store, on, progress=progress, stop=stop)
