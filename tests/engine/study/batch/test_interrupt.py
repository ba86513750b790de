"""Stopping a batch: what is under way is kept, nothing else is begun."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from studies import units

import orglab
from orglab.engine.graph.team import Team
from orglab.providers.base import Request
from orglab.results.store.reader import Reader

SIDES = """\
roles: {left: {}, right: {}, writer: {}}
links:
  - {from: left, to: writer, kind: forward}
  - {from: right, to: writer, kind: forward}
output: writer
"""


class Slow:
    """Answers a role only when its event is set, and says stop once all of ``until`` were asked."""

    def __init__(self, *slow: str) -> None:
        self.stop = asyncio.Event()
        self.go = {role: asyncio.Event() for role in slow}
        self.asked: list[str] = []

    async def __call__(self, request: Request) -> str:
        """Waits where it is to wait."""
        role = request.labels.copy
        self.asked.append(role)
        if role in self.go:
            await self.go[role].wait()
        return f"by {role}"


async def until(condition: Callable[[], bool]) -> None:
    """Lets others work until it is so."""
    while not condition():  # noqa: ASYNC110 - what is waited for stands in a file
        await asyncio.sleep(0)


def durable(folder: Path) -> list[str]:
    """Who has a durable reply."""
    with Reader(folder) as reader:
        return sorted(row["copy"] for row in reader.rows("SELECT copy FROM calls"))


async def test_every_call_under_way_is_waited_for(
    team: Callable[[str], Team], head: str, asked: Any, tmp_path: Path
) -> None:
    """Turns side by side: a reply that comes later than the stop is kept as well as the first."""
    folder = tmp_path / "study"
    slow = Slow("left", "right")
    sides = team(head + SIDES)
    two_steps = asked(slow)
    work = asyncio.create_task(
        orglab.run_async(
            sides, units=units(2), out=folder, providers=two_steps.providers, stop=slow.stop
        )
    )
    await until(lambda: len(slow.asked) == 4)
    slow.stop.set()
    slow.go["left"].set()
    await until(lambda: durable(folder) == ["left", "left"])
    assert not work.done()
    slow.go["right"].set()
    study = await work
    assert study.tally.interrupted
    assert study.tally.done == 0
    assert durable(folder) == ["left", "left", "right", "right"]
    rest = asked()
    after = await orglab.run_async(sides, units=units(2), out=folder, providers=rest.providers)
    assert rest.copies == ["writer", "writer"]
    assert (after.tally.completed, after.tally.resumed, after.tally.asked_again) == (2, 2, 0)


async def test_a_turn_that_would_ask_again_does_not_lose_its_neighbour(
    team: Callable[[str], Team], head: str, asked: Any, tmp_path: Path
) -> None:
    """One turn of a tick is refused its next call while the other's call is under way."""
    text = head + SIDES.replace(
        "left: {}", "left: {output: {type: object, required: [n], properties: {n: {}}}}"
    )
    slow = Slow("left", "right")
    sides, folder = team(text), tmp_path / "study"
    work = asyncio.create_task(
        orglab.run_async(
            sides,
            inputs={"topic": "tea"},
            out=folder,
            providers=asked(slow).providers,
            stop=slow.stop,
        )
    )
    await until(lambda: len(slow.asked) == 2)
    slow.stop.set()
    slow.go["left"].set()  # unreadable: it would have to be asked for again
    await until(lambda: durable(folder) == ["left"])
    for _ in range(20):
        await asyncio.sleep(0)
    assert not work.done()
    slow.go["right"].set()
    assert (await work).tally.interrupted
    assert durable(folder) == ["left", "right"]


async def test_nothing_is_begun_after_the_stop(pair: Team, asked: Any, tmp_path: Path) -> None:
    """A batch that is stopped before it begins asks nothing."""
    stop = asyncio.Event()
    stop.set()
    calls = asked()
    study = await orglab.run_async(
        pair, units=units(3), out=tmp_path / "study", providers=calls.providers, stop=stop
    )
    assert study.tally.interrupted
    assert calls.copies == []


async def test_a_crash_keeps_the_replies_of_other_runs(
    pair: Team, asked: Any, tmp_path: Path
) -> None:
    """A bug of a provider fails its run, in words; the others complete."""
    go = asyncio.Event()

    async def answer(request: Request) -> str:
        if request.labels.unit == "u0":
            go.set()
            raise RuntimeError("a plugin's bug")
        await go.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        return "kept"

    study = await orglab.run_async(
        pair, units=units(3), out=tmp_path / "study", providers=asked(answer).providers
    )
    failed = [record for record in study.records() if record.status == "failed"]
    assert [record.unit for record in failed] == ["u0"]
    assert "RuntimeError: a plugin's bug" in failed[0].reason
    assert durable(tmp_path / "study").count("writer") == 3
