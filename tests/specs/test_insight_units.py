"""The units of study 1, and the replies of its scripted Explorer."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

STUDY = Path(__file__).parents[2] / "specs" / "insight-review"


def lines(name: str) -> list[dict[str, Any]]:
    """The objects of a JSON Lines file of the study."""
    text = (STUDY / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("name", ["units.jsonl", "units-truth.jsonl"])
def test_there_are_forty_units_ten_for_each_table(name: str) -> None:
    """Every id once, every question once, every table a file of the study."""
    units = lines(name)
    assert len({unit["id"] for unit in units}) == len(units) == 40
    assert len({unit["question"] for unit in units}) == 40
    tables = Counter(unit["table"] for unit in units)
    assert set(tables.values()) == {10}
    assert {f"data/{path.name}" for path in (STUDY / "data").glob("*.csv")} == set(tables)


def test_units_hold_an_id_a_table_and_a_question_alone() -> None:
    """Nothing in an ordinary unit tells what the right answer is."""
    for unit in lines("units.jsonl"):
        assert set(unit) == {"id", "table", "question"}
        assert unit["question"].endswith("?")


def test_truth_units_tell_whether_the_planted_insight_is_sound() -> None:
    """`reference` and `kind` are columns beside the inputs: no prompt sees them."""
    for unit in lines("units-truth.jsonl"):
        assert set(unit) == {"id", "table", "question", "reference", "kind"}
        assert unit["reference"] in ("sound", "flawed")


def test_the_scripted_explorer_never_runs_out_of_replies() -> None:
    """As many replies a unit as the longest team can ask for: every cap, and one more."""
    replies = Counter(reply["unit"] for reply in lines("replies-truth.jsonl"))
    assert set(replies) == {unit["id"] for unit in lines("units-truth.jsonl")}
    assert set(replies.values()) == {4 + 3 + 3 + 1}
