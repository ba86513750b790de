"""The report of a sweep: what it says, what it hides from nobody, that no text of a model steers it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orglab.providers.structured_output.strict_json import dumps
from orglab.results.records import Score
from orglab.results.report.page import Report
from orglab.results.report.sweep.analysis import FrontRow
from orglab.results.report.sweep.findings import SweepFindings
from orglab.results.report.sweep.report import _decision, sweep_report_of
from orglab.results.report.write import write_report
from orglab.results.statistics.models.main_effects import Estimate
from orglab.results.store.store import Store

CAPS, PERSONAS, UNITS = (0, 1, 4), ("plain", "bold"), 5
EVIL = "</td><script>alert(1)</script>"


def plan(**changes: Any) -> dict[str, Any]:
    """A frozen plan of three caps by two personas."""
    points = [(f"cap={cap} persona={who}", [str(cap), who]) for cap in CAPS for who in PERSONAS]
    known = {
        "kind": "sweep",
        "hash": "h" * 32,
        "name": "dose",
        "question": "",
        "base": {"file": "free.yaml", "kind": "topology", "arms": {"": "x"}, "reference": ""},
        "design": "grid",
        "factors": [
            factor("links.oversight.cap", "cap", [(str(cap), cap) for cap in CAPS]),
            factor("roles.*.vars.persona", "persona", [(who, who) for who in PERSONAS]),
        ],
        "points": [{"name": name, "levels": levels} for name, levels in points],
        "cells": [
            {"name": name, "arm": "", "spec": f"s{at}", "key": f"s{at}", "points": [at]}
            for at, (name, _) in enumerate(points)
        ],
        "units": [f"u{number}" for number in range(UNITS)],
        "replicates": 1,
        "seed": 0,
        "share_prefix": False,
        "evaluators": [{"usage": {}}, {"quality": {}}],
        "composites": {},
        "analysis": {},
        "read": {},
    }
    return known | changes


def factor(path: str, name: str, levels: list[tuple[str, Any]]) -> dict[str, Any]:
    """A frozen factor."""
    told = [{"label": label, "value": value} for label, value in levels]
    return {"path": path, "name": name, "drawn": False, "log": False, "levels": told}


def study(folder: Path, frozen: dict[str, Any], *, units: int = UNITS, reason: str = "") -> Path:
    """A study of the plan: quality grows by 2 with each cap, and falls by 1 under ``bold``."""
    store = Store(folder)
    store.add_spec("plan", kind="sweep", name="dose", normal=frozen)

    async def write() -> None:
        order = 0
        for cell in frozen["cells"]:
            for unit in range(units):
                await one(cell, unit, order)
                order += 1

    async def one(cell: dict[str, Any], unit: int, order: int) -> None:
        run = f"{cell['spec']} {unit}"
        cap, who = frozen["points"][cell["points"][0]]["levels"]
        store.open_run(
            run, arm=cell["name"], unit=f"u{unit}", inputs={}, extra={}, replicate=0, seed=0,
            spec_hash=cell["spec"], order=order,
        )  # fmt: skip
        await store.finish(
            run, status="failed" if reason and order == 0 else "completed", reason=reason if order == 0 else "", answer=None, last=None,
            seconds=1.0,
        )  # fmt: skip
        value = 2 * int(cap) - (who == "bold") + 0.1 * ((unit * unit * 7 + order * 3) % 11) + unit
        score = Score(name="quality", value=value, scale="interval")
        await store.add_scores(run, "quality", "{}", [score])

    try:
        asyncio.run(write())
    finally:
        store.close()
    return folder


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report[SweepFindings]:
    """The report of a finished study."""
    return sweep_report_of(study(tmp_path_factory.mktemp("sweep") / "study", plan()))


def test_effects_are_found_as_they_were_planted(report: Report[SweepFindings]) -> None:
    """Cap 4 gives 8 more than cap 0, bold takes 1; nothing interacts."""
    main = report.findings.main
    assert main is not None
    found = [row.effect.value for row in main.effects if row.effect.value is not None]
    assert found == pytest.approx([2, 8, -1], abs=0.2)
    (trend,) = main.trends
    assert trend.slope.value == pytest.approx(2, abs=0.1)
    assert all(abs(row.effect.value or 0) < 0.5 for row in main.interactions)
    assert report.findings.names[main.ranked[0].point] == "cap=4 persona=plain"


def test_the_answer_names_the_best_and_what_moved_it(report: Report[SweepFindings]) -> None:
    """With intervals, and how the outcome was chosen."""
    assert report.answer.startswith("quality was highest under cap=4 persona=plain: ")
    assert "Cap 4 against 0 made +8" in report.answer
    assert report.findings.chosen == "not declared: the first number that quality gives"
    assert [section.id for section in report.sections] == [
        "variants", "effects", "dose", "interactions", "conduct", "methods",
    ]  # fmt: skip


def test_less_may_be_better(tmp_path: Path) -> None:
    """Then the least is the best; the reference is the one that was declared."""
    analysis = {
        "primary": ["quality"],
        "lower_is_better": ["quality"],
        "reference": {"links.oversight.cap": 4},
    }
    found = sweep_report_of(study(tmp_path / "study", plan(analysis=analysis)))
    assert "quality was lowest under cap=0 persona=bold" in found.answer
    assert "against cap=4 persona=plain" in found.answer


def test_an_unfinished_study_says_so(tmp_path: Path) -> None:
    """And counts what has not been run."""
    found = sweep_report_of(study(tmp_path / "study", plan(), units=2))
    assert [banner.title for banner in found.banners] == ["UNFINISHED"]
    assert found.answer.startswith("So far (12 of 30 runs), ")


def test_texts_of_models_and_authors_steer_nothing(tmp_path: Path) -> None:
    """Reasons, questions and names are escaped in HTML and Markdown."""
    place = study(tmp_path / "study", plan(question=EVIL), reason=f"writer said {EVIL}")
    written = write_report(place)
    html = written.page.read_text(encoding="utf-8")
    assert "<script" not in html
    assert "writer said &lt;/td&gt;&lt;script&gt;" in html
    assert "<script" not in (place / "report.md").read_text(encoding="utf-8")
    assert "1 failed" in html


def test_the_report_as_data_has_everything(tmp_path: Path) -> None:
    """Strict JSON; every variant with its levels."""
    place = study(tmp_path / "study", plan())
    assert write_report(place).files == 6
    found = json.loads((place / "report.json").read_text(encoding="utf-8"))
    assert (found["kind"], found["quality"], found["finished"]) == ("sweep", "quality", True)
    variants = found["outcomes"][0]["variants"]
    assert variants[5]["levels"] == {"cap": "4", "persona": "bold"}
    assert found["front"] == []  # nothing was spent in this study
    assert dumps(found)


def test_changes_of_the_plan_are_reported(tmp_path: Path) -> None:
    """More units are growth; another outcome after there were data is a banner."""
    place = study(tmp_path / "study", plan())
    with_more = Store(place)
    with_more.add_spec("plan-2", kind="sweep", name="dose", normal=plan(
        units=[f"u{number}" for number in range(UNITS + 1)], analysis={"primary": ["quality"]},
    ))  # fmt: skip
    with_more.close()
    found = sweep_report_of(place)
    titles = [banner.title for banner in found.banners]
    assert titles == ["UNFINISHED", "ANALYSIS CHANGED AFTER DATA EXISTED"]
    (change,) = found.findings.changes
    assert (change.ended, change.words) == (30, "units: 5, then 6; analysis changed")


def test_nothing_is_called_worse_that_was_not_compared(tmp_path: Path) -> None:
    """With one unit no difference has an interval: the cheaper variant may be as good."""
    findings = sweep_report_of(study(tmp_path / "study", plan(), units=1)).findings
    assert findings.main is not None
    best, cheaper = (row.point for row in findings.main.ranked[:2])
    front = [
        FrontRow(point=point, cost=Estimate(n=1, value=cost), quality=Estimate(n=1, value=0.0), front=True, share=None)
        for point, cost in ((best, 2.0), (cheaper, 1.0))
    ]  # fmt: skip
    assert _decision(replace(findings, front=front), findings.main) == ""
