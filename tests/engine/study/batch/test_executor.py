"""Where a batch is run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from orglab.engine.graph.team import Team
from orglab.engine.run.outcome import Unit
from orglab.engine.study.batch.batch import Arm, Batch
from orglab.engine.study.batch.executor import run_batch
from orglab.engine.study.cluster.errors import ClusterError
from orglab.results.store.store import Store

TEAM = """\
kind: topology
version: 1
name: one
inputs: {topic: {type: string}}
models: {worker: {provider: simulated}}
roles: {writer: {prompt: "Write about {{ topic }}."}}
output: writer
"""


async def test_a_batch_with_nothing_to_run_starts_no_cluster(
    tmp_path: Path, team: Callable[..., Team]
) -> None:
    """The address is looked at when there is work for it, and not before."""
    units = [Unit(id="u", inputs={"topic": "tea"})]
    batch = Batch(arms=[Arm.alone(team(TEAM))], units=units)
    pytest.importorskip("distributed", reason="clusters need orglab[dask]")
    with Store(tmp_path / "s") as store:
        assert (await run_batch(batch, store)).completed == 1
        assert (await run_batch(batch, store, on="nowhere")).kept == 1
        with pytest.raises(ClusterError, match="nowhere"):
            await run_batch(replace(batch, replicates=2), store, on="nowhere")
