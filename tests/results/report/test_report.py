"""What the report says, and what it must not say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from orglab.results.report.experiment.findings import ExperimentFindings
from orglab.results.report.experiment.report import report_of
from orglab.results.report.experiment.sections.costs import costs_section
from orglab.results.report.experiment.sections.effects import effect_details
from orglab.results.report.experiment.sections.execution import attrition_section
from orglab.results.report.page import Report
from orglab.results.report.render.blocks import (
    Block,
    Bullets,
    FigureBlock,
    Fold,
    Paragraph,
    TableBlock,
)
from orglab.results.report.write import experiment_json, write_report
from orglab.results.statistics.analysis import analyse
from orglab.results.statistics.plan import AnalysisPlan, Contrast
from orglab.results.store.group_commit import StoreError
from orglab.results.usage.served_models import Drift, Version
from orglab.results.usage.spending import InterruptedCall, Spending

LATER = "2999-01-01T00:00:00.000Z"


def titles(report: Report[ExperimentFindings]) -> list[str]:
    """What must be seen first."""
    return [banner.title for banner in report.banners]


def texts(blocks: list[Block]) -> str:
    """Every text of some blocks."""
    found: list[str] = []
    for block in blocks:
        if isinstance(block, Paragraph):
            found.append(block.text)
        elif isinstance(block, Bullets):
            found += block.items
        elif isinstance(block, TableBlock):
            found += [cell for row in block.rows for cell in row]
        elif isinstance(block, Fold):
            found += [block.title, texts(list(block.blocks))]
    return "\n".join(found)


def section(report: Report[ExperimentFindings], name: str) -> str:
    """Every text of a part."""
    return next(texts(list(part.blocks)) for part in report.sections if part.id == name)


def effects_table(report: Report[ExperimentFindings]) -> TableBlock:
    """The table of effects."""
    effects = next(part for part in report.sections if part.id == "effects")
    return next(block for block in effects.blocks if isinstance(block, TableBlock))


@pytest.fixture(scope="module")
def told(made: Path) -> Report[ExperimentFindings]:
    """The report of the study as it was run."""
    return report_of(made)


def test_the_first_screen_answers(told: Report[ExperimentFindings]) -> None:
    """Question, treatment, answer with its interval, cost."""
    report = told
    assert report.question == "Does sending back help?"
    assert report.lines("Treatment") == ["bound against free: links.oversight.cap (0 → 2)"]
    assert re.search(r"quality .*95\u00a0% CI .* to .*n\u00a0=\u00a08", report.answer)
    assert report.answer.count(".\n") == 0
    assert report.answer.endswith(".")
    assert "tokens" in dict(report.facts)["Cost of the study"]
    gain = r"^With bound in place of free: quality [+\u2212]?[\d.]+ points"
    assert re.search(gain, report.lines("To decide")[0])


def test_every_declared_part_is_there(told: Report[ExperimentFindings]) -> None:
    """In the order of reading."""
    assert [part.id for part in told.sections] == [
        "effects", "pairs", "sensitivity", "leaving-out", "subsets", "dose", "drafts", "judges",
        "drawn", "hedges", "costs", "loops", "attrition", "deviations", "treatment", "methods",
    ]  # fmt: skip


def test_simulated_models_are_named_as_such(
    told: Report[ExperimentFindings], study: Path, bend: Callable[..., None]
) -> None:
    """Wholly, or in how many calls; of roles or of judges."""
    assert titles(told) == ["SIMULATED"]
    assert told.answer.startswith("With simulated models, ")
    bend("UPDATE calls SET simulated=0 WHERE purpose!='judge'")
    partly = report_of(study)
    assert titles(partly) == ["PARTLY SIMULATED"]
    assert "32 of them verdicts of judges" in partly.banners[0].text
    bend("UPDATE calls SET simulated=0")
    assert titles(report_of(study)) == []


def test_dollars_of_simulated_models_are_marked_everywhere(
    told: Report[ExperimentFindings], study: Path, bend: Callable[..., None]
) -> None:
    """On the first screen, beside effects and under cost; real ones are not."""
    assert re.match(r"\$[\d.]+ \(simulated\) and", dict(told.facts)["Cost of the study"])
    assert re.search(r"\$[\d.]+ more (\(\+\d+.%\) )?\(simulated\)", told.lines("To decide")[0])
    assert "Dollars are simulated" in section(told, "costs")
    assert "simulated\n$ a run" in [column.title for column in effects_table(told).columns]
    bend("UPDATE calls SET simulated=0")
    real = report_of(study)
    assert "simulated" not in dict(real.facts)["Cost of the study"] + real.lines("To decide")[0]
    assert "simulated" not in section(real, "costs")


def test_a_measure_that_is_no_scale_of_points_has_none(fresh: Callable[..., Path]) -> None:
    """Words are words."""
    report = report_of(fresh(("primary: [quality]", "primary: [words]")))
    assert re.search(r": words [+−]?[\d.]+[ ;,(]", report.lines("To decide")[0])  # noqa: RUF001
    assert "points" not in report.lines("To decide")[0]


def test_arms_stand_in_one_order(study: Path, add_plan: Callable[..., None]) -> None:
    """References first, whatever the written order: in effects, costs, attrition and transcripts."""
    hashes = report_of(study).findings.plan.normal["arms"]
    add_plan({"arms": {name: hashes[name] for name in ("bound", "free")}}, LATER)
    report = report_of(study)
    assert report.findings.plan.arms == ["free", "bound"]
    titles = [column.title for column in effects_table(report).columns]
    assert titles.index("free") < titles.index("bound")
    assert list(report.findings.costs.arms) == ["free", "bound"]
    attrition = next(part for part in report.sections if part.id == "attrition")
    assert [row[0] for row in attrition.blocks[0].rows] == ["free", "bound"]  # type: ignore[union-attr]


def test_everything_that_the_analysis_supports_can_be_written(fresh: Callable[..., Path]) -> None:
    """Bounds, level, alpha and lists; every interval says its own level."""
    more = """  bounds: {quality: [1, 5]}
  level: 0.9
  alpha: 0.1
  resamples: 200
"""
    place = fresh(
        ("  equivalence: {margin_dz: 0.5}\n", more),
        (
            "mixed: {outcome: quality, random: unit}",
            "mixed: [{outcome: quality}, {outcome: depth}]",
        ),
        (
            "dose: {outcome: quality, dose: words, within: bound}",
            "dose: [{outcome: quality, dose: words, within: bound}]",
        ),
    )
    report = report_of(place)
    assert report.findings.errors == ()
    analysis = report.findings.analysis
    assert analysis is not None
    assert [row.outcome for row in analysis.mixed] == ["quality", "depth"]
    assert analysis.primary[0].worst_case is not None
    assert "90\u00a0% CI" in report.answer
    assert "95\u00a0%" not in report.answer + section(report, "effects")


def test_mcnemar_is_named_once() -> None:
    """Beside its figures too."""
    rows = [
        {
            "arm": arm,
            "unit": f"u{at}",
            "outcome": "kept",
            "value": float(at % 3 < most),
            "scale": "binary",
        }
        for arm, most in (("a", 1), ("b", 2))
        for at in range(12)
    ]
    plan = AnalysisPlan(contrasts=(Contrast(arm="b", reference="a"),), primary=("kept",))
    effect = analyse(pd.DataFrame(rows), plan).primary[0]
    facts = {row[0]: row[1] for row in effect_details(effect).rows}
    assert facts["test"].startswith("McNemar, exact: 0, p .125")
    assert facts["test"].count("McNemar") == 1


def test_an_unfinished_study_says_so(study: Path, bend: Callable[..., None]) -> None:
    """At the top, and in the answer."""
    bend("UPDATE runs SET status='running', ended=NULL WHERE unit IN ('u0', 'u1')")
    report = report_of(study)
    assert "UNFINISHED" in titles(report)
    assert "so far (12 of 16 runs)" in report.answer


def test_a_study_without_a_run_has_no_answer(study: Path, bend: Callable[..., None]) -> None:
    """It is said, and nothing falls over."""
    for table in ("runs", "scores", "events", "calls", "evaluations"):
        bend(f"DELETE FROM {table}")
    report = report_of(study)
    assert report.answer == "There is no answer yet: no run has a score yet."
    assert titles(report) == ["UNFINISHED"]


def test_an_analysis_changed_after_data_is_reported(
    study: Path, add_plan: Callable[..., None]
) -> None:
    """At the top, and with what was changed."""
    add_plan({"analysis": {"contrasts": [["bound", "free"]], "primary": ["depth"]}}, LATER)
    report = report_of(study)
    assert "ANALYSIS CHANGED AFTER DATA EXISTED" in titles(report)
    told = section(report, "deviations")
    assert "AFTER DATA EXISTED: 16 runs had ended" in told
    assert 'analysis.primary\n["quality"]\n["depth"]' in told


def test_scores_beyond_the_plan_are_reported(study: Path, bend: Callable[..., None]) -> None:
    """Evaluators that the plan does not have."""
    bend("INSERT INTO evaluations SELECT run, 'mtld', '{}', NULL FROM runs")
    told = section(report_of(study), "deviations")
    assert "scored with evaluators that the plan does not have: mtld {}" in told


def test_a_plan_changed_before_data_is_no_scandal(
    study: Path, add_plan: Callable[..., None]
) -> None:
    """It is told under deviations, without an alarm."""
    add_plan({"composites": {"quality": ["order", "depth"]}}, "2000-01-01T00:00:00.000Z")
    report = report_of(study)
    assert "ANALYSIS CHANGED AFTER DATA EXISTED" not in titles(report)
    assert "before there were data" in section(report, "deviations")


def test_no_difference_is_never_said_without_its_test(
    fresh: Callable[..., Path],
) -> None:
    """Without a margin a p above .05 leaves the question open."""
    place = fresh(("  equivalence: {margin_dz: 0.5}\n", ""))
    report = report_of(place)
    written = write_report(place).page.read_text(encoding="utf-8")
    assert (
        "stays open" in report.answer
        or "was higher" in report.answer
        or "was lower" in report.answer
    )
    assert "no difference" not in written
    assert "equivalent" not in report.answer


def test_without_a_declared_analysis_nothing_is_claimed(
    study: Path, add_plan: Callable[..., None]
) -> None:
    """Scores are described, and called exploratory."""
    add_plan({"analysis": {}}, LATER)
    report = report_of(study)
    assert report.answer.startswith("No primary outcome was declared")
    assert "none is a confirmation" in section(report, "effects")
    figure = next(b for b in report.sections[0].blocks if isinstance(b, FigureBlock))
    assert "not corrected" in figure.caption
    assert "follow-up" not in figure.svg + section(report, "effects")


def test_a_wrong_plan_is_reported_and_the_rest_stands(
    study: Path, add_plan: Callable[..., None]
) -> None:
    """Effects are shown; what could not be computed is said at the top."""
    analysis = {
        "contrasts": [["bound", "free"]],
        "primary": ["quality"],
        "by": ["colour"],
    }
    add_plan({"analysis": analysis}, LATER)
    report = report_of(study)
    assert "NOT ALL COULD BE COMPUTED" in titles(report)
    assert "no column 'colour'" in next(b.text for b in report.banners if "colour" in b.text)
    assert "quality" in section(report, "effects")


def test_missing_scores_are_counted_with_reasons(study: Path, bend: Callable[..., None]) -> None:
    """By arm; never dropped in silence."""
    detail = '{"verdicts":[{"judge":"strict","repeat":0,"value":null}]}'
    bend("UPDATE scores SET detail=?, value=NULL WHERE name='depth' AND run=1", detail)
    report = report_of(study)
    told = section(report, "attrition")
    assert "depth\nstrict" in told
    assert "1 of 8 (12\u00a0%)" in told
    assert "no readable verdict (1)" in told
    assert "1 of 8 units" in section(report, "effects")


def test_failed_runs_stand_under_attrition(study: Path, bend: Callable[..., None]) -> None:
    """By arm, with the reason."""
    bend("UPDATE runs SET status='failed', reason='the host was gone' WHERE run=1")
    assert "the host was gone (1)" in section(report_of(study), "attrition")


def test_an_unknown_price_makes_the_cost_unknown(study: Path, bend: Callable[..., None]) -> None:
    """Unknown is not 0; what is known is said."""
    bend("UPDATE calls SET cost_usd=NULL WHERE run=1")
    bend("UPDATE runs SET cost_usd=NULL WHERE run=1")
    report = report_of(study)
    assert "some prices unknown" in dict(report.facts)["Cost of the study"]
    assert "unknown" in section(report, "costs")


def test_shared_calls_count_in_full_and_net(study: Path, bend: Callable[..., None]) -> None:
    """A reply taken from the other arm cost that arm nothing, and its figures say both."""
    bend("UPDATE calls SET attempts=0 WHERE role='writer' AND visit=1")
    report = report_of(study)
    assert "all roles, net" in section(report, "costs")
    costs = report.findings.costs.arms["bound"]
    first = costs.roles["writer"].shared_tokens
    assert 0 < first < costs.roles["writer"].tokens
    assert costs.generation.net_tokens == costs.generation.tokens - first
    assert costs.judging.shared_calls == 0


def test_costs_tell_writing_from_judging(told: Report[ExperimentFindings]) -> None:
    """And agree with what the runs say they used."""
    findings = told.findings
    for arm, costs in findings.costs.arms.items():
        runs = findings.tables.runs
        assert costs.generation.tokens == runs.loc[runs["arm"] == arm, "tokens"].sum()
        assert costs.judging.calls == 16
        assert set(costs.roles) == {"writer", "editor"}


def test_loops_agree_with_the_runs(told: Report[ExperimentFindings]) -> None:
    """Verdicts that obliged, by arm."""
    findings = told.findings
    for arm in ("free", "bound"):
        runs = findings.tables.runs
        obliged = sum(row.obliged for row in findings.loops if row.arm == arm)
        assert obliged == runs.loc[runs["arm"] == arm, "loops"].sum()
    assert sum(row.obliged for row in findings.loops if row.arm == "bound") > 0


def test_methods_say_only_what_was_done(fresh: Callable[..., Path]) -> None:
    """Parts that were not asked for are not in the methods, nor their sources."""
    place = fresh(
        ("  mixed: {outcome: quality, random: unit}\n", ""),
        ("  equivalence: {margin_dz: 0.5}\n", ""),
        ("  covariates: [words]\n", ""),
    )
    told = section(report_of(place), "methods")
    assert "Holm" in told
    assert "paired t-tests" in told
    for absent in ("mixed models", "Equivalence", "Judd", "Laird", "McNemar"):
        assert absent not in told


def test_the_report_is_the_same_each_time(made: Path, tmp_path: Path) -> None:
    """Byte for byte: no dates of making, no random ids."""
    first, second = (write_report(made, tmp_path / name) for name in ("a", "b"))
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*.*"))
    assert len(files) == first.files == second.files
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_json_is_strict_and_whole(made: Path, tmp_path: Path) -> None:
    """Missing is null; the analysis is in it."""
    write_report(made, tmp_path)

    def refuse(name: str) -> None:
        raise AssertionError(name)

    text = (tmp_path / "report.json").read_text(encoding="utf-8")
    found = json.loads(text, parse_constant=refuse)
    assert found["simulated"] is True
    assert found["analysis"]["primary"][0]["outcome"] == "quality"
    assert found["costs"]["bound"]["judging"]["calls"] == 16
    assert found["hedges"]


def test_pages_load_nothing_and_are_whole(made: Path, tmp_path: Path) -> None:
    """No address but of the files beside it; the page ends where it should."""
    write_report(made, tmp_path)
    for path in tmp_path.rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        assert page.startswith("<!doctype html>")
        assert page.rstrip().endswith("</html>")
        assert "<script" not in page
        addresses = re.findall(r'(?:href|src)="([^"]*)"', page)
        assert not [each for each in addresses if re.match(r"(https?:|//|javascript:)", each)]
        for each in addresses:
            if not each.startswith(("#", "data:")):
                assert (path.parent / each).is_file()


def test_figures_are_files_too(made: Path, tmp_path: Path) -> None:
    """With colours of their own in place of the page's."""
    write_report(made, tmp_path)
    figures = sorted(path.stem for path in (tmp_path / "figures").iterdir())
    assert {"effects", "pairs", "leaving-out", "dose", "costs", "severity"} <= set(figures)
    for path in (tmp_path / "figures").iterdir():
        assert "var(--" not in path.read_text(encoding="utf-8")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "fill: var(--ink)" in page
    assert "#0a0b0c" not in page


def test_a_study_of_one_team_is_refused(study: Path, bend: Callable[..., None]) -> None:
    """In words, before anything is written."""
    bend("DELETE FROM specs WHERE kind='experiment'")
    with pytest.raises(StoreError, match="no experiment"):
        write_report(study)
    assert {path.stem for path in study.iterdir()} == {"study"}


# --- models that changed, requests that were cut ---------------------------------------------------

DRIFT = Drift(
    provider="hosted",
    model="asked",
    versions=(
        Version(served="asked-1", fingerprint="fp", calls={"free": 1200, "bound": 3}),
        Version(served="asked-2", fingerprint="", calls={"bound": 9}),
    ),
)
CUT = InterruptedCall(
    arm="free",
    unit="u0",
    replicate=0,
    position="1.turn.0.0",
    copy="writer",
    requests=2,
    reserved_usd=0.25,
    killed=False,
)


def test_a_drift_stands_under_attrition_by_arm(told: Report[ExperimentFindings]) -> None:
    """A warning, and a table with the calls of each arm; none where models stayed the same."""
    assert "Models served by several versions" not in repr(attrition_section(told.findings))
    findings = replace(told.findings, drifts=[DRIFT])
    text = repr(attrition_section(findings))
    assert "1 model that was asked for did not stay the same" in text
    assert "['asked', 'asked-1', 'fp', '1,200', '3']" in text
    assert "['asked', 'asked-2', '–', '0', '9']" in text  # noqa: RUF001
    (drift,) = experiment_json(replace(told, findings=findings))["drifts"]
    assert [version["served"] for version in drift["versions"]] == ["asked-1", "asked-2"]


def test_cut_requests_stand_under_cost(told: Report[ExperimentFindings]) -> None:
    """With what is reserved for them; and one by one in the data."""
    assert "cut on the way" not in repr(costs_section(told.findings))
    spent = Spending(paid_usd=1.0, unpriced=0, uncounted_usd=0.0, cut=[CUT])
    findings = replace(told.findings, spending=spent)
    assert "2 attempts were cut on the way: at most $0.2500" in repr(costs_section(findings))
    (cut,) = experiment_json(replace(told, findings=findings))["cut_requests"]
    assert (cut["requests"], cut["reserved_usd"], cut["killed"]) == (2, 0.25, False)
