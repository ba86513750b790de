"""Runs of the specs of stored cases: what every role reads, and what leaves an event."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from case_files import case_folder

import orglab
from orglab.results.records import RunRecord

Run = Callable[[str], RunRecord]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a case's spec once."""

    def made(case: str) -> RunRecord:
        team = orglab.load(case_folder(case) / "spec.yaml")
        (record,) = orglab.run(team, inputs={}, out=tmp_path / "study", seed=1).records()
        return record

    return made


def prompts(record: RunRecord, copy: str) -> list[str]:
    """The last message of each turn of a copy."""
    calls = [call for call in record.calls if call.copy == copy and call.purpose == "turn"]
    return [call.request["messages"][-1]["content"] for call in calls]


def events(record: RunRecord, kind: str) -> list[dict[str, Any]]:
    """The bodies of a kind of event."""
    return [dict(event.body) for event in record.events if event.kind == kind]


def test_a_role_sent_back_and_reached_by_a_closing_link_keeps_its_inbox(run: Run) -> None:
    """Case 124: the old inbox first, then what came through the closing link."""
    record = run("124-engine-lostinbox")
    second = [turn for turn in events(record, "turn") if turn["copy"] == "debater#1"][1]
    assert [item["output"] for item in second["inbox"]] == ["brief@1", "debater#2@1"]
    assert "THE BRIEF" in prompts(record, "debater#1")[1]


def test_all_replicas_of_a_target_pay(run: Run) -> None:
    """Case 125: each replica is sent back, so each loses its stake, and the event names both."""
    record = run("125-engine-stake")
    assert prompts(record, "w#1")[1].startswith("points 5")
    assert prompts(record, "w#2")[1].startswith("points 5")
    obliging = [verdict for verdict in events(record, "verdict") if verdict["obliged"]]
    assert [verdict["targets"] for verdict in obliging] == [["w#1", "w#2"]]


def test_every_otherwise_link_is_taken_where_no_other_is(run: Run) -> None:
    """Case 126: a fan-out of the remaining case."""
    record = run("126-engine-two-other")
    assert {output.role for output in record.outputs} == {"a", "c", "d"}


def test_nothing_delivered_vanishes(run: Run) -> None:
    """Case 129: what j had received, and did not read when a closing link began its turn, is late."""
    record = run("129-engine-unread")
    late = [(event["link"], event["copy"]) for event in events(record, "late")]
    assert ("a>j", "j") in late


def test_nobody_judges_what_it_was_not_shown(run: Run) -> None:
    """Case 128: a phase prompt without the output gets it appended; the powers name ``on_cap``."""
    record = run("128-engine-phase")
    reviews = [
        call.request["messages"][-1]["content"] for call in record.calls if call.purpose == "review"
    ]
    assert reviews[0].startswith("FIRST\n\n## Output of e under review\ne1")
    assert reviews[1].startswith("LATER\n\n## Output of e under review\ne2")
    assert "an objection fails the run" in reviews[1]
    assert "is recorded" not in reviews[1]
