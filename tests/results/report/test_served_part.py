"""The report tells which models did not stay the same, and which requests were cut."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from orglab.results.report.findings import read_findings
from orglab.results.report.json_form import json_form
from orglab.results.report.parts.conduct import attrition_part
from orglab.results.report.parts.costs import costs_part
from orglab.results.report.report import report_of

Bend = Callable[..., None]


def test_a_drift_stands_under_attrition_by_arm(study: Path, bend: Bend) -> None:
    """A warning, and a table with the calls of each arm; none where models stayed the same."""
    before = attrition_part(read_findings(study))
    assert "Models served by several versions" not in repr(before)
    bend("UPDATE calls SET model='asked', served='one'")
    bend("UPDATE calls SET served='other' WHERE rowid=1")
    findings = read_findings(study)
    text = repr(attrition_part(findings))
    assert "1 model that was asked for did not stay the same" in text
    assert "Models served by several versions" in text
    assert "'other'" in text
    body = json_form(report_of(study))
    (drift,) = body["drifts"]
    assert {version["served"] for version in drift["versions"]} > {"other"}


def test_cut_requests_stand_under_cost(study: Path, bend: Bend) -> None:
    """With what is reserved for them; and one by one in the data."""
    assert "cut on the way" not in repr(costs_part(read_findings(study)))
    bend("UPDATE calls SET cut=2, reserved_usd=0.25 WHERE rowid=1")
    findings = read_findings(study)
    assert "2 attempts were cut on the way: at most $0.2500" in repr(costs_part(findings))
    (cut,) = json_form(report_of(study))["cut_requests"]
    assert (cut["requests"], cut["reserved_usd"], cut["killed"]) == (2, 0.25, False)
