"""Study 1 run: what each kind of review catches, with reviewers whose mind is known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import orglab
from orglab.engine.run.outcome import Unit
from orglab.engine.study.batch.units import read_units
from orglab.providers.base import Request
from orglab.providers.scripted.provider import ScriptedProvider
from orglab.results.records import RunRecord, Score

STUDY = Path(__file__).parents[2] / "specs" / "insight-review"


def easily_pleased(request: Request) -> Mapping[str, Any]:
    """A reviewer that approves as soon as it may, and asks where it may not."""
    offered = json.dumps(request.schema)
    action = "approve" if '"approve"' in offered else "question"
    return {"action": action, "reason": "Does it hold within groups?"}


def never_pleased(request: Request) -> Mapping[str, Any]:
    """A reviewer that rejects whatever it reads."""
    return {"action": "reject", "reason": "No.", "suggestion": "Try another."}


REVIEWERS = {"easily pleased": easily_pleased, "never pleased": never_pleased}


def truth_run(name: str, reviewer: str, out: Path) -> tuple[list[RunRecord], dict[str, Score]]:
    """Runs all planted insights past a team; first-try approval by unit."""
    study = orglab.run(
        STUDY / f"reviewer-truth-{name}.yaml",
        units=STUDY / "units-truth.jsonl",
        out=out,
        providers={"reviewer": ScriptedProvider(REVIEWERS[reviewer])},
    )
    records = list(study.records())
    units = {record.id: record.unit for record in records}
    first = {
        units[run]: score for run, score in study.scores() if score.name == "first_try_approval"
    }
    assert len(records) == len(first) == 40
    assert {record.status for record in records} == {"completed"}
    return records, first


def kinds(records: list[RunRecord], link: str) -> list[str]:
    """Kinds of the insights that a check rejected."""
    rejected = {
        record.unit: record.extra["kind"]
        for record in records
        for verdict in record.verdicts
        if verdict.link == link and verdict.action == "reject"
    }
    return sorted(rejected.values())


def test_an_easily_pleased_validator_accepts_every_flawed_insight(tmp_path: Path) -> None:
    """Without checks nothing stands between a false insight and its approval."""
    _, first = truth_run("validator", "easily pleased", tmp_path / "study")
    assert [score.value for score in first.values()] == [True] * 40


def test_a_never_pleased_validator_rejects_every_sound_insight(tmp_path: Path) -> None:
    """A forced accept is no approval: the scripted Explorer stands by it and is never approved."""
    records, first = truth_run("validator", "never pleased", tmp_path / "study")
    assert [score.value for score in first.values()] == [False] * 40
    assert all(record.answer is not None and record.answer.forced for record in records)


def test_the_check_of_columns_catches_insights_about_another_table(tmp_path: Path) -> None:
    """A film insight on network logs is rejected before any opinion, and nothing else is."""
    records, first = truth_run("skeptic-checked", "easily pleased", tmp_path / "study")
    assert kinds(records, "columns") == ["foreign"] * 4
    for record in records:
        assert first[record.unit].value == (record.extra["kind"] != "foreign")


def test_the_check_of_figures_catches_the_figure_that_is_off_by_ten(tmp_path: Path) -> None:
    """It blames the insight with a wrong figure; every figure of a sound one holds."""
    records, first = truth_run("evidence-checked", "easily pleased", tmp_path / "study")
    assert kinds(records, "columns") == ["foreign"] * 4
    assert kinds(records, "figures") == ["foreign"] * 4 + ["wrong_figure"] * 4
    for record in records:
        caught = record.extra["kind"] in ("foreign", "wrong_figure")
        assert first[record.unit].value == (not caught)


def first_units(name: str) -> list[Unit]:
    """The first unit of each table."""
    units = read_units(STUDY / "units.jsonl", orglab.load(STUDY / f"{name}.yaml").topology)
    return units[::10]


def test_the_blind_retry_takes_five_turns_and_asks_no_reviewer(tmp_path: Path) -> None:
    """Iteration without feedback: four coins, no verdict of a model."""
    study = orglab.run(
        STUDY / "blind-retry.yaml", units=first_units("blind-retry"), out=tmp_path / "study"
    )
    for record in study.records():
        assert record.status == "completed"
        assert len(record.outputs) == 5
        assert {call.role for call in record.calls} == {"explorer"}
        assert [verdict.by for verdict in record.verdicts] == ["coin"] * 4


def test_the_sceptic_never_approves_what_nobody_has_asked_about(tmp_path: Path) -> None:
    """The first review of an insight offers no approval, and after a reject it is a first again."""
    study = orglab.run(STUDY / "skeptic.yaml", units=first_units("skeptic"), out=tmp_path / "study")
    for record in study.records():
        assert record.status == "completed"
        before = [None, *[verdict.action for verdict in record.verdicts]]
        for earlier, verdict in zip(before, record.verdicts, strict=False):
            if earlier in (None, "reject") and verdict.used < verdict.cap:
                assert verdict.action in ("question", "reject")


def test_columns_of_the_table_stand_in_the_prompt_and_the_reviewer_calls_nothing(
    tmp_path: Path,
) -> None:
    """What `skeptic-columns` adds is text; the Reviewer gets no tool by it."""
    study = orglab.run(
        STUDY / "skeptic-columns.yaml", units=first_units("skeptic-columns"), out=tmp_path / "study"
    )
    for record in study.records():
        reviews = [call for call in record.calls if call.role == "reviewer"]
        assert reviews
        for call in reviews:
            assert call.request["tools"] == []
            assert "- Port (integer)" in call.request["messages"][0]["content"] or (
                "network" not in record.unit
            )


@pytest.mark.parametrize("name", ["strict-validator", "challenge", "personas"])
def test_the_other_variants_complete_with_the_simulated_model(tmp_path: Path, name: str) -> None:
    """Every reply says that no language model wrote it."""
    study = orglab.run(STUDY / f"{name}.yaml", units=first_units(name), out=tmp_path / "study")
    for record in study.records():
        assert record.status == "completed"
        assert all(call.simulated for call in record.calls)
