"""Where a batch is run: in this process, or on a cluster."""

from __future__ import annotations

import asyncio

from orglab.engine.study.batch.batch import Batch, BatchTally, Progress
from orglab.engine.study.batch.runner import BatchRun
from orglab.results.store.store import Store


async def run_batch(
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
        on: The address of a Dask scheduler, or ``local:N``; None: this process, where a batch of
            which every run has ended is always run.
        progress: Called after each run.
        stop: Set it to stop: calls under way are waited for and kept, no other is begun.

    Raises:
        ClusterError: There is no such cluster, its workers differ from this process, or it is gone.
        StoreError: The store cannot be written; nothing that is not durable was acted on.
        ValueError: A model's entry is wrong, or money is limited and a model has no largest cost.
    """
    if on is None or not _has_runs_left(batch, store):
        return await BatchRun(batch, store, progress, stop).run()
    # Here, so that no other batch needs Dask.
    from orglab.engine.study.cluster.client.runner import ClusterRun

    return await ClusterRun(batch, store, progress, stop, on=on).run()


def _has_runs_left(batch: Batch, store: Store) -> bool:
    """Return whether a run of the batch is to be begun or resumed."""
    ended = {"completed", "stopped"} | (set() if batch.retry_failed else {"failed"})
    statuses = store.statuses()
    return any(statuses.get(planned.id) not in ended for planned in batch.planned())
