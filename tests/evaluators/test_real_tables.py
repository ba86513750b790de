"""The study's planted insights against its tables: what the table measures catch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from orglab.engine.tools.factory import make
from orglab.evaluators.base import EvaluationError, Output, Score, ToolFunction
from orglab.evaluators.structured.columns_exist import ColumnsExist
from orglab.evaluators.structured.evidence_holds import EvidenceHolds
from orglab.providers.base import Tool, ToolError

STUDY = Path(__file__).parents[2] / "specs/insight-review"


@cache
def _tool(use: str, file: str) -> Tool:
    return make(use, {"file": file}, resolve=Path)


class Tools:
    """The installed tools, as the engine hands them to evaluators."""

    inputs: Mapping[str, Any] = {}
    extra: Mapping[str, Any] = {}

    def tool(self, use: str, settings: Mapping[str, Any]) -> ToolFunction:
        made = _tool(use, settings["file"])

        async def call(**arguments: Any) -> Any:
            try:
                return await made.call(arguments)
            except ToolError as refusal:
                raise EvaluationError(str(refusal)) from refusal

        return call

    async def ask(self, *_arguments: Any, **_named: Any) -> Any:
        raise EvaluationError("no model here")

    def document(self, path: Path) -> Any:
        raise EvaluationError(f"no document here: {path}")


def _lines(name: str) -> list[dict[str, Any]]:
    text = (STUDY / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


UNITS = {unit["id"]: unit for unit in _lines("units-truth.jsonl")}
PLANTED = {line["unit"]: line["reply"] for line in reversed(_lines("replies-truth.jsonl"))}


async def _checked(unit: str) -> tuple[Score, Score]:
    value = json.loads(PLANTED[unit])
    table = STUDY / UNITS[unit]["table"]
    output = Output(id="e@1", role="e", copy="e", visit=1, tick=1, value=value, text=PLANTED[unit])
    columns = await ColumnsExist(table=table).check(output, Tools())
    return columns, await EvidenceHolds(table=table).check(output, Tools())


@pytest.mark.parametrize("unit", sorted(UNITS))
async def test_planted_insights_are_reported_apart(unit: str) -> None:
    """Foreign columns and wrong figures are caught; sound figures hold, whatever is made of them."""
    columns, evidence = await _checked(unit)
    kind = UNITS[unit]["kind"]
    assert columns.passed is (kind != "foreign"), columns.reason
    assert evidence.passed is (kind not in {"foreign", "wrong_figure"}), evidence.reason


async def test_a_film_insight_on_network_logs_is_caught() -> None:
    """Columns of another table are named, before any opinion."""
    value = {"columns": ["production_budget"], "evidence": [{"columns": ["worldwide_gross"]}]}
    output = Output(id="e@1", role="e", copy="e", visit=1, tick=1, value=value, text="")
    table = STUDY / "data/synthetic_network_logs.csv"
    score = await ColumnsExist(table=table).check(output, Tools())
    assert (score.value, score.passed) == (2, False)
    assert "'production_budget' is no column of synthetic_network_logs.csv" in score.reason


@pytest.mark.parametrize(("value", "holds"), [(0.67, True), (0.6658, True), (0.73, False)])
async def test_a_wrong_correlation_is_caught(value: float, holds: bool) -> None:
    """Budget and gross of our film table: 0.67, not the published 0.73."""
    item = {
        "measure": "correlation",
        "columns": ["production_budget", "worldwide_gross"],
        "where": "",
        "value": value,
    }
    output = Output(
        id="e@1", role="e", copy="e", visit=1, tick=1, value={"evidence": [item]}, text=""
    )
    score = await EvidenceHolds(table=STUDY / "data/films.csv").check(output, Tools())
    assert score.passed is holds, score.reason
