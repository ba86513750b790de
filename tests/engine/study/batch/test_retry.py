"""Failed runs tried again: from the last durable reply on, what failed is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import orglab
from orglab.api import Study
from orglab.engine.graph.team import Team
from orglab.evaluators.text.length import Length
from orglab.providers.base import Request, Unavailable
from orglab.results.store.reader import Reader, RunRow


class Weak:
    """Fails for some roles as long as ``down``."""

    def __init__(self, *roles: str) -> None:
        self.roles = roles
        self.down = True

    def __call__(self, request: Request) -> str:
        """A reply, or the fault."""
        if self.down and request.labels.role in self.roles:
            raise Unavailable("the server is down")
        return f"by {request.labels.copy}"


def row(folder: Path) -> RunRow:
    """The only run of a study."""
    with Reader(folder) as reader:
        (found,) = reader.runs()
    return found


def put_aside(folder: Path) -> list[str]:
    """Positions of the entries that a retry put aside."""
    with Reader(folder) as reader:
        return [entry.position for entry in reader.entries(1, superseded=True)]


def test_goes_on_from_the_last_durable_reply(
    pair: Team, asked: Any, tmp_path: Path, events_of: Callable[[Path], Any]
) -> None:
    """Only the call that failed is made again, and the run ends as if it had never failed."""
    weak = Weak("critic")
    calls = asked(weak)
    folder = tmp_path / "study"

    def run(**more: Any) -> Study:
        return orglab.run(
            pair, inputs={"topic": "tea"}, out=folder, providers=calls.providers, **more
        )

    assert run().tally.failed == 1
    assert row(folder).reason == "critic: unavailable: the server is down"
    weak.down = False
    assert run().tally.failed == 1, "without the option it stays failed"
    assert calls.copies == ["writer", "critic"]
    again = run(retry_failed=True).tally
    assert (again.completed, again.failed, again.resumed, again.asked_again) == (1, 0, 1, 0)
    assert calls.copies == ["writer", "critic", "critic"]
    assert row(folder).retries == 1
    assert put_aside(folder) == ["2.turn.0.0"]
    orglab.run(pair, inputs={"topic": "tea"}, out=tmp_path / "calm", providers=asked().providers)
    assert events_of(folder) == events_of(tmp_path / "calm")


def test_may_fail_again(pair: Team, asked: Any, tmp_path: Path) -> None:
    """A retry that fails is failed again; every failed attempt is kept with its reason."""
    calls = asked(Weak("critic"))
    for _ in range(3):
        study = orglab.run(
            pair,
            inputs={"topic": "tea"},
            out=tmp_path / "study",
            providers=calls.providers,
            retry_failed=True,
        )
        assert study.tally.failed == 1
    assert calls.copies == ["writer", "critic", "critic", "critic"]
    assert put_aside(tmp_path / "study") == ["2.turn.0.0", "2.turn.0.0"]
    with Reader(tmp_path / "study") as reader:
        (failures,) = next(reader.rows("SELECT failures FROM runs"))
    assert failures.count("the server is down") == 2


def test_neighbours_of_the_failure_are_not_asked_again(
    team: Callable[[str], Team], head: str, asked: Any, tmp_path: Path
) -> None:
    """What others of the same tick said before the run failed is used."""
    sides = team(
        head
        + """\
roles: {left: {}, right: {}, writer: {}}
links:
  - {from: left, to: writer, kind: forward}
  - {from: right, to: writer, kind: forward}
output: writer
"""
    )
    weak = Weak("left")
    calls = asked(weak)
    arguments: dict[str, Any] = {
        "inputs": {"topic": "tea"},
        "out": tmp_path / "study",
        "providers": calls.providers,
    }
    orglab.run(sides, **arguments)
    weak.down = False
    assert orglab.run(sides, **arguments, retry_failed=True).tally.completed == 1
    assert sorted(calls.copies) == ["left", "left", "right", "writer"]


def test_an_unreadable_reply_is_asked_for_again(
    team: Callable[[str], Team], head: str, asked: Any, tmp_path: Path
) -> None:
    """A run whose repairs were used up asks for the last repair again."""
    structured = team(
        head
        + """\
roles:
  writer:
    output: {type: object, properties: {n: {type: integer}}, required: [n]}
    limits: {repair_attempts: 1}
links: []
output: writer
"""
    )
    reply = {"now": "no JSON"}
    calls = asked(lambda _: reply["now"])
    arguments: dict[str, Any] = {
        "inputs": {"topic": "tea"},
        "out": tmp_path / "study",
        "providers": calls.providers,
    }
    assert orglab.run(structured, **arguments).tally.failed == 1
    assert row(tmp_path / "study").reason.startswith("writer: unreadable reply")
    reply["now"] = '{"n": 3}'
    study = orglab.run(structured, **arguments, retry_failed=True)
    assert study.tally.completed == 1
    assert len(calls.requests) == 3
    (record,) = study.records()
    assert record.answer is not None
    assert record.answer.value == {"n": 3}


def test_a_crashed_check_is_run_again(
    team: Callable[[str], Team],
    head: str,
    asked: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run that a crashed check failed goes on with the output that it looked at."""
    checked = team(
        head
        + """\
roles: {writer: {}, critic: {}}
links:
  - {id: look, from: critic, to: writer, kind: authority, cap: 1,
     trigger: {checks: [{length: {max: 100}}], voice: findings}}
output: writer
"""
    )
    calls = asked()
    arguments: dict[str, Any] = {
        "inputs": {"topic": "tea"},
        "out": tmp_path / "study",
        "providers": calls.providers,
    }

    async def crash(*_: Any) -> None:
        raise RuntimeError("a plugin's bug")

    with monkeypatch.context() as broken:
        broken.setattr(Length, "check", crash)
        assert orglab.run(checked, **arguments).tally.failed == 1
    assert "a plugin's bug" in row(tmp_path / "study").reason
    assert orglab.run(checked, **arguments, retry_failed=True).tally.completed == 1
    assert calls.copies == ["writer"]
    assert put_aside(tmp_path / "study") == ["1.check.0"]


def test_what_ended_otherwise_is_final(
    team: Callable[[str], Team], head: str, asked: Any, tmp_path: Path
) -> None:
    """Stopped and completed runs are never tried again."""
    short = team(
        head
        + """\
roles: {writer: {}, critic: {}}
links: [{from: writer, to: critic, kind: forward}]
output: critic
limits: {turns: 1}
"""
    )
    calls = asked()
    arguments: dict[str, Any] = {
        "inputs": {"topic": "tea"},
        "out": tmp_path / "study",
        "providers": calls.providers,
    }
    assert orglab.run(short, **arguments).tally.stopped == 1
    again = orglab.run(short, **arguments, retry_failed=True).tally
    assert (again.kept, again.stopped) == (1, 0)
    assert calls.copies == ["writer"]
