"""The parts of a cluster's study by themselves: talk, limits, files, versions."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from orglab.engine.study.cluster.client.bundle import Bundle
from orglab.engine.study.cluster.client.worker_connection import LimitBroker, WorkerHolding
from orglab.engine.study.cluster.client.worker_pool import differences
from orglab.engine.study.cluster.errors import ClusterError, SessionGone
from orglab.engine.study.cluster.worker.bundle_loader import BundleLoader
from orglab.engine.study.cluster.worker.session import Session
from orglab.providers.base import Interrupted
from orglab.providers.client.model_client import ModelClients
from orglab.providers.structured_output.strict_json import loads_stored
from orglab.results.store.group_commit import StoreError

ACCOUNT = "https://models.example KEY"


async def said(session: Session, heard: int = 0) -> list[Any]:
    """What a client hears now."""
    return [loads_stored(text) for text in await session.pull(heard, 0.0)]


# --- talk -----------------------------------------------------------------------------------


async def test_what_was_not_heard_is_said_again() -> None:
    """Until the client says that it has heard a message, each pull brings it."""
    session = Session(60)
    session.send("free", "m")
    session.send("free", "n")
    assert await said(session) == [[1, "free", "m"], [2, "free", "n"]]
    assert await said(session) == [[1, "free", "m"], [2, "free", "n"]]
    assert await said(session, heard=1) == [[2, "free", "n"]]
    assert await said(session, heard=2) == []


async def test_an_answer_that_comes_twice_is_heard_once() -> None:
    """Answers are known by the number of the question."""
    session = Session(60)
    question = asyncio.create_task(session.ask("slot", "m", 1))
    await asyncio.sleep(0)
    session.push([[1, 7]])
    session.push([[1, 8]])
    assert await question == 7


@pytest.mark.parametrize(
    ("issue", "kind"), [("stop", Interrupted), ("store", StoreError), ("gone", SessionGone)]
)
async def test_a_refusal_is_raised_where_it_was_asked(issue: str, kind: type[Exception]) -> None:
    """What the client could not keep, the run does not act on."""
    session = Session(60)
    question = asyncio.create_task(session.ask("keep", 1))
    await asyncio.sleep(0)
    session.push([[1, None, issue, "the disk is full"]])
    with pytest.raises(kind, match="the disk is full"):
        await question


async def test_a_client_that_stays_away_is_gone() -> None:
    """Whoever waits for its word is told so; nothing more is said to it."""
    session = Session(0.0)
    question = asyncio.create_task(session.ask("begin", 1, [], "1.turn.0.0", {}))
    await asyncio.sleep(0)
    await session.watch()
    with pytest.raises(SessionGone, match="no message from the client for 0 seconds"):
        await question
    with pytest.raises(SessionGone, match="no message from the client"):
        session.send("free", "m")


# --- limits ----------------------------------------------------------------------------------


async def test_slots_are_those_of_all_workers() -> None:
    """A worker waits for a slot that another holds; one that goes gives back what it holds."""
    limits = LimitBroker(ModelClients())
    one, other = WorkerHolding(limits), WorkerHolding(limits)
    await one.slot("m", 1)
    waiting = asyncio.create_task(other.slot("m", 1))
    await asyncio.sleep(0)
    assert not waiting.done()
    one.close()
    await waiting
    other.free("m")
    other.free("m")  # said again
    assert limits.slots["m"].locked() is False


async def test_the_line_of_an_account_is_one_for_all_workers() -> None:
    """Places of a worker that goes are others'."""
    limits = LimitBroker(ModelClients(start=1))
    one, other = WorkerHolding(limits), WorkerHolding(limits)
    place = await one.enter(ACCOUNT, False)
    waiting = asyncio.create_task(other.enter(ACCOUNT, False))
    await asyncio.sleep(0)
    assert not waiting.done()
    one.leave(ACCOUNT, place, "answered")
    await waiting
    third = asyncio.create_task(one.enter(ACCOUNT, False))
    fourth = asyncio.create_task(one.enter(ACCOUNT, False))
    await asyncio.sleep(0)
    other.close()
    await asyncio.wait([third, fourth], return_when=asyncio.FIRST_COMPLETED)
    fourth.cancel()


async def test_rates_are_those_of_all_workers() -> None:
    """What one worker takes of a minute, another has not; what was not sent is given back."""
    limits = LimitBroker(ModelClients())
    one, other = WorkerHolding(limits), WorkerHolding(limits)
    await one.reserve("m", [1, None], 10)
    waiting = asyncio.create_task(other.reserve("m", [1, None], 10))
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()
    one.settle("m", 10, False, 0)
    await other.reserve("m", [1, None], 10)


# --- files -----------------------------------------------------------------------------------


def test_a_file_that_changed_is_not_sent(tmp_path: Path) -> None:
    """It is refused in words, whoever asks."""
    (tmp_path / "a.csv").write_text("x")
    with pytest.raises(ClusterError, match=r"a\.csv changed since the spec was loaded"):
        Bundle().add(tmp_path / "a.csv", "0" * 64)


async def test_no_name_leads_out_of_what_was_unpacked(tmp_path: Path) -> None:
    """A worker writes into its own folder alone."""
    unpacked = BundleLoader(Session(60), tmp_path)
    folder = unpacked.root / "arms" / "0" / "spec"
    with pytest.raises(ClusterError, match="lies too far from its spec"):
        await unpacked.put(folder, {"../../../../stolen": "0" * 64})
    unpacked.remove()
    assert not unpacked.root.exists()


# --- versions ----------------------------------------------------------------------------------


def about(orglab: str = "1", scripted: str | None = "orglab 1") -> dict[str, Any]:
    """Versions as a worker tells them."""
    providers = {} if scripted is None else {"scripted": scripted}
    return {"orglab": orglab, "plugins": {"orglab.providers": providers}, "dependencies": {}}


@pytest.mark.parametrize(
    ("there", "words"),
    [
        (about(), []),
        (about("2"), ["orglab 2, not 1"]),
        (about(scripted=None), ["the provider scripted of nothing installed, not orglab 1"]),
    ],
)
def test_differences_of_versions_are_words(there: dict[str, Any], words: list[str]) -> None:
    """Each that counts is told."""
    assert differences(about(), there, {("orglab.providers", "scripted")}) == words
