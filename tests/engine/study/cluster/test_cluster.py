"""Batches on a cluster: the same results as in one process, whatever dies."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from orglab.engine.study.cluster.client.channel import OPERATION
from orglab.engine.study.cluster.errors import ClusterError
from orglab.providers.base import Completion, Request
from orglab.providers.scripted.provider import ScriptedProvider
from orglab.results.store.reader import Reader
from orglab.results.store.store import versions
from orglab.results.usage.spending import spending

pytestmark = [  # Dask leaves a socket open when it looks for this machine's address
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def identities(requests: list[Request]) -> Counter[str]:
    """How often each call was asked."""
    return Counter(request.identity for request in requests)


async def test_a_cluster_gives_what_one_process_gives(
    cluster: Any, run: Any, rows: Any, asked: list[Request]
) -> None:
    """Events, calls, tool results and scores are the same, and shared calls are made once."""
    await run("alone")
    alone = identities(asked)
    asked.clear()
    tally = await run("apart", on=cluster.scheduler_address)
    assert (tally.completed, tally.planned, tally.asked_again) == (8, 8, 0)
    assert rows("apart") == rows("alone")
    assert identities(asked) == alone
    assert max(alone.values()) == 1
    places = [Path(worker.local_directory) for worker in cluster.workers.values()]
    assert not [left for place in places for left in place.glob("orglab-*")]


async def test_runs_of_a_worker_that_goes_are_others(
    cluster: Any,
    run: Any,
    rows: Any,
    asked: list[Request],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """What was under way there is asked again, counted, and its money listed; nothing else is."""
    await run("alone")
    alone = identities(asked)
    asked.clear()
    complete = ScriptedProvider.complete
    hung: list[Request] = []
    closing: list[asyncio.Task[Any]] = []

    async def until_it_goes(self: ScriptedProvider, request: Request) -> Completion:
        doomed = next(iter(cluster.workers.values()))
        if not closing and len(asked) > 3 and asyncio.current_task() in _tasks_of(doomed):
            asked.append(request)
            hung.append(request)
            closing.append(asyncio.create_task(doomed.close(timeout=0, executor_wait=False)))
            await asyncio.Event().wait()
        return await complete(self, request)

    monkeypatch.setattr(ScriptedProvider, "complete", until_it_goes)
    tally = await run("apart", on=cluster.scheduler_address)
    assert hung, "no call was under way on the worker that went"
    assert rows("apart") == rows("alone")
    assert tally.warnings == ["1 worker was lost during runs: other workers resumed them."]
    again = {identity for identity, often in identities(asked).items() if often > 1}
    assert identities(asked).keys() == alone.keys()
    with Reader(tmp_path / "apart") as reader:
        counted = reader.rows("SELECT what FROM attempts WHERE again=1")
        known = {row["what"] for row in counted}
        lost = spending(reader).cut
    assert tally.asked_again == len(known) == len(lost) >= 1
    assert all(call.killed for call in lost)
    assert all(any(identity in what for what in known) for identity in again)


def _tasks_of(worker: Any) -> set[asyncio.Task[Any]]:
    """Tasks that play runs on a worker."""
    clients = worker.extensions[OPERATION].values()
    return {task for client in clients for task in client.executor.running}


async def test_a_stop_keeps_what_is_under_way_and_begins_nothing(
    cluster: Any, run: Any, rows: Any, asked: list[Request]
) -> None:
    """The same command goes on afterwards, in one process or many, and asks nothing twice."""
    stop = asyncio.Event()
    tally = await run(
        "apart", on=cluster.scheduler_address, stop=stop, progress=lambda _: stop.set()
    )
    assert tally.interrupted
    assert 0 < tally.done < 8
    await run("apart")
    await run("alone")
    assert rows("apart") == rows("alone")
    assert set(identities(asked).values()) == {2}  # once for each of the two studies


async def test_the_budget_is_one_for_all_workers(cluster: Any, run: Any, rows: Any) -> None:
    """Workers ask the client for money before each call; with more of it the study goes on."""
    whole = (await run("alone")).cost_usd
    tally = await run("apart", on=cluster.scheduler_address, max_cost=whole * 0.9)
    assert tally.budget.reached
    assert 0 < tally.budget.spent <= whole * 0.9
    tally = await run("apart", on=cluster.scheduler_address, max_cost=1.0)
    assert (tally.done, tally.asked_again) == (8, 0)
    assert rows("apart") == rows("alone")


async def test_a_worker_with_another_version_is_refused(
    cluster: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs of one study are played by one version."""
    there = versions()
    there["orglab"] = "0.0.1"
    there["plugins"]["orglab.providers"]["scripted"] = "other 2"
    monkeypatch.setattr("orglab.engine.study.cluster.worker.dask_task.versions", lambda: there)
    words = r"has orglab 0\.0\.1, not .*; the provider scripted of other 2, not orglab"
    with pytest.raises(ClusterError, match=words):
        await run("apart", on=cluster.scheduler_address)


async def test_a_run_that_breaks_on_a_worker_ends_the_study_in_words(
    cluster: Any, run: Any, experiment: Any
) -> None:
    """A file that changed while a study is on its way is refused, not played."""
    folder = next(iter(experiment.arms.values())).topology.folder
    (folder / "data/known.csv").write_text("a,b\n3,4\n", encoding="utf-8")
    with pytest.raises(ClusterError, match=r"known\.csv changed since the spec was loaded"):
        await run("apart", on=cluster.scheduler_address)


async def test_models_given_as_objects_do_not_travel(run: Any) -> None:
    """They are refused before anything is asked."""
    models = {"*": ScriptedProvider(lambda _: "x")}
    with pytest.raises(ClusterError, match="cannot be sent to workers"):
        await run("apart", on="local:2", providers=models)


@pytest.mark.parametrize("text", ["local", "local:0", "10.0.0.1:8786", ""])
async def test_what_is_no_address_is_reported(run: Any, text: str) -> None:
    """The words say what an address looks like."""
    with pytest.raises(ClusterError, match="tcp://10"):
        await run("apart", on=text)
