"""How the study went: loops, attrition, missing scores."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from orglab.results.number_format import NOTHING, amount, label, number, percent
from orglab.results.report.experiment.counts import LoopRow
from orglab.results.report.experiment.data import NOT_RUN
from orglab.results.report.experiment.findings import Findings
from orglab.results.report.experiment.sections.served_models import served_blocks
from orglab.results.report.render.blocks import Block, Bullets, Column, Paragraph, Section, Table

__all__ = ["attrition_part", "loops_part"]

_MOST_REASONS = 3
_STATUSES = {
    "completed": "completed",
    "stopped": "stopped",
    "failed": "failed",
    "running": "not ended",
    NOT_RUN: "not run",
}


def loops_part(findings: Findings) -> Section | None:
    """Verdicts by link and action; None where no link has spoken."""
    if not findings.loops:
        return None
    columns = [Column(title=title, figures=False) for title in ("link", "by", "action")]
    arms = [arm for arm in findings.plan.arms if any(row.arm == arm for row in findings.loops)]
    for arm in arms:
        columns += [
            Column(title=f"{arm}: {what}")
            for what in ("verdicts", "a run", "obliged", "forced", "in runs")
        ]
    found: dict[tuple[str, str, str], dict[str, LoopRow]] = {}
    for row in findings.loops:
        found.setdefault((row.link, row.by, row.action), {})[row.arm] = row
    rows = [
        [*key, *[cell for arm in arms for cell in _loop_cells(findings, arm, own)]]
        for key, own in sorted(found.items())
    ]
    blocks: list[Block] = [
        Table(columns=columns, rows=rows),
        Bullets(items=[_loops_of(findings, arm) for arm in findings.plan.arms]),
    ]
    words = (
        "A verdict that obliged is a loop, and so is a use of a closing link. Forced: it objected with the cap used up, "
        "and the output was delivered all the same."
    )
    blocks.append(Paragraph(text=words, kind="note"))
    return Section(id="loops", title="Loops", blocks=blocks)


def _loop_cells(findings: Findings, arm: str, own: Mapping[str, LoopRow]) -> list[str]:
    row = own.get(arm)
    if row is None:
        return ["0", "0", "0", "0", "0"]
    runs = max(findings.costs.arms[arm].runs, 1)
    return [
        str(row.number),
        number(row.number / runs, 2),
        str(row.obliged),
        str(row.forced),
        str(row.runs),
    ]


def _loops_of(findings: Findings, arm: str) -> str:
    done = [
        row for row in findings.tables.rows.values() if row.arm == arm and row.status == "completed"
    ]
    if not done:
        return f"{arm}: no completed run"
    loops = [row.loops for row in done]
    spread = ", ".join(f"{loops.count(number)} with {number}" for number in sorted(set(loops)))
    return f"{arm}: {amount(sum(loops), 'loop')} in {amount(len(done), 'completed run')} ({spread})"


# --- attrition ------------------------------------------------------------------------------------


def attrition_part(findings: Findings) -> Section:
    """Runs by arm and how they ended; missing scores by arm, and why."""
    columns = [Column(title="arm", figures=False), Column(title="planned")]
    columns += [Column(title=words) for words in _STATUSES.values()]
    columns.append(Column(title="reasons", figures=False))
    rows = [_attrition_cells(findings, arm) for arm in findings.plan.arms]
    blocks: list[Block] = [Table(columns=columns, rows=rows, caption="Runs by arm")]
    missing = _missing_rows(findings)
    if missing is None:
        blocks.append(
            Paragraph(text="No score that the analysis names is missing in a completed run.")
        )
    else:
        blocks.append(missing)
        words = (
            "Missing scores are counted over completed runs; a judge's unreadable verdict "
            "is missing. Nothing missing counts as 0."
        )
        blocks.append(Paragraph(text=words, kind="note"))
    blocks += served_blocks(findings)
    return Section(id="attrition", title="Attrition and missing scores", blocks=blocks)


def _attrition_cells(findings: Findings, arm: str) -> list[str]:
    runs = findings.tables.runs
    own = runs[runs["arm"] == arm]
    counts = own["status"].value_counts().to_dict()
    counts["running"] = counts.pop("not ended", 0)
    reasons = own.loc[own["reason"] != "", "reason"].value_counts()
    told = [f"{reason} ({count})" for reason, count in reasons.head(_MOST_REASONS).items()]
    told += [f"{len(reasons) - _MOST_REASONS} more reasons"] if len(reasons) > _MOST_REASONS else []
    return [
        arm,
        str(len(own)),
        *[str(counts.get(status, 0)) for status in _STATUSES],
        "; ".join(told) or NOTHING,
    ]


def _missing_rows(findings: Findings) -> Table | None:
    scores = _of_completed(findings)
    scores = scores[scores["outcome"].isin(_told(findings))]
    gaps = scores[scores["value"].isna()]
    if not len(gaps):
        return None
    arms = findings.plan.arms
    columns = [Column(title="score", figures=False), Column(title="judge", figures=False)]
    columns += [Column(title=f"{arm}: missing") for arm in arms]
    columns.append(Column(title="why", figures=False))
    totals = scores.groupby(["outcome", "judge", "arm"]).size().to_dict()
    rows = []
    for (outcome, judge), own in gaps.groupby(["outcome", "judge"]):
        cells = [label(str(outcome)), str(judge) or NOTHING]
        for arm in arms:
            total = int(totals.get((outcome, judge, arm), 0))
            count = int((own["arm"] == arm).sum())
            cells.append(f"{count} of {total} ({percent(count / total)})" if total else NOTHING)
        reasons = own["reason"].replace("", "no reason given").value_counts().head(_MOST_REASONS)
        rows.append([*cells, "; ".join(f"{reason} ({count})" for reason, count in reasons.items())])
    return Table(columns=columns, rows=rows, caption="Missing scores of completed runs")


def _told(findings: Findings) -> list[str]:
    """Names of scores that the analysis reads."""
    plan = findings.analysis_plan
    if plan is None:
        return sorted(findings.tables.scores["outcome"].drop_duplicates())
    parts = [part for whole in plan.composites.values() for part in whole]
    dose = [name for each in plan.dose for name in (each.outcome, each.dose, *each.covariates)]
    return [*plan.outcomes, *parts, *plan.covariates, *dose, *[each.outcome for each in plan.mixed]]


def _of_completed(findings: Findings) -> pd.DataFrame:
    runs = findings.tables.runs
    done = runs.loc[runs["status"] == "completed", ["arm", "unit", "replicate"]]
    return findings.tables.scores.merge(done, on=["arm", "unit", "replicate"])
