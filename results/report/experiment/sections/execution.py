"""Execution sections: loops, attrition, missing scores, served models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from orglab.providers.base import JSON
from orglab.results.number_format import NOTHING, amount, label, number, percent
from orglab.results.report.experiment.data import NOT_RUN
from orglab.results.report.experiment.findings import ExperimentFindings, LoopRow
from orglab.results.report.experiment.plan_history import PlanChange
from orglab.results.report.render.blocks import (
    Block,
    Bullets,
    Fold,
    Paragraph,
    Section,
    TableBlock,
    TableColumn,
)
from orglab.results.report.render.pages import paragraphs, sentences
from orglab.results.usage.served_models import Drift

_MOST_REASONS = 3
_STATUSES = {
    "completed": "completed",
    "stopped": "stopped",
    "failed": "failed",
    "running": "not ended",
    NOT_RUN: "not run",
}


def loops_section(findings: ExperimentFindings) -> Section | None:
    """Show verdicts by link and action; None if no link has spoken."""
    if not findings.loops:
        return None
    columns = TableColumn.texts("link", "by", "action")
    arms = [arm for arm in findings.plan.arms if any(row.arm == arm for row in findings.loops)]
    for arm in arms:
        columns += TableColumn.numbers(
            *[f"{arm}: {what}" for what in ("verdicts", "a run", "obliged", "forced", "in runs")]
        )
    found: dict[tuple[str, str, str], dict[str, LoopRow]] = {}
    for row in findings.loops:
        found.setdefault((row.link, row.by, row.action), {})[row.arm] = row
    rows = [
        [*key, *[cell for arm in arms for cell in _loop_cells(findings, arm, own)]]
        for key, own in sorted(found.items())
    ]
    blocks: list[Block] = [
        TableBlock(columns=columns, rows=rows),
        Bullets(items=[_loops_text(findings, arm) for arm in findings.plan.arms]),
    ]
    words = (
        "A verdict that obliged is a loop, and so is a use of a closing link. Forced: it objected with the cap used up, "
        "and the output was delivered all the same."
    )
    blocks.append(Paragraph.note(words))
    return Section(id="loops", title="Loops", blocks=blocks)


def _loop_cells(findings: ExperimentFindings, arm: str, own: Mapping[str, LoopRow]) -> list[str]:
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


def _loops_text(findings: ExperimentFindings, arm: str) -> str:
    done = [
        row for row in findings.tables.rows.values() if row.arm == arm and row.status == "completed"
    ]
    if not done:
        return f"{arm}: no completed run"
    loops = [row.loops for row in done]
    spread = ", ".join(f"{loops.count(number)} with {number}" for number in sorted(set(loops)))
    return f"{arm}: {amount(sum(loops), 'loop')} in {amount(len(done), 'completed run')} ({spread})"


# --- attrition ------------------------------------------------------------------------------------


def attrition_section(findings: ExperimentFindings) -> Section:
    """Show runs by arm and status, and missing scores by arm and reason."""
    columns = TableColumn.texts("arm") + TableColumn.numbers("planned")
    columns += TableColumn.numbers(*_STATUSES.values())
    columns += TableColumn.texts("reasons")
    rows = [_attrition_cells(findings, arm) for arm in findings.plan.arms]
    blocks: list[Block] = [TableBlock(columns=columns, rows=rows, caption="Runs by arm")]
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
        blocks.append(Paragraph.note(words))
    blocks += served_model_blocks(findings)
    return Section(id="attrition", title="Attrition and missing scores", blocks=blocks)


def _attrition_cells(findings: ExperimentFindings, arm: str) -> list[str]:
    runs = findings.tables.runs
    own = runs[runs["arm"] == arm]
    counts = own["status"].value_counts().to_dict()
    counts["running"] = counts.pop("not ended", 0)
    reasons = own.loc[own["reason"] != "", "reason"].value_counts()
    texts = [f"{reason} ({count})" for reason, count in reasons.head(_MOST_REASONS).items()]
    texts += (
        [f"{len(reasons) - _MOST_REASONS} more reasons"] if len(reasons) > _MOST_REASONS else []
    )
    return [
        arm,
        str(len(own)),
        *[str(counts.get(status, 0)) for status in _STATUSES],
        "; ".join(texts) or NOTHING,
    ]


def _missing_rows(findings: ExperimentFindings) -> TableBlock | None:
    scores = _scores_of_completed(findings)
    scores = scores[scores["outcome"].isin(_analysed_names(findings))]
    gaps = scores[scores["value"].isna()]
    if not len(gaps):
        return None
    arms = findings.plan.arms
    columns = TableColumn.texts("score", "judge")
    columns += TableColumn.numbers(*[f"{arm}: missing" for arm in arms])
    columns += TableColumn.texts("why")
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
    return TableBlock(columns=columns, rows=rows, caption="Missing scores of completed runs")


def _analysed_names(findings: ExperimentFindings) -> list[str]:
    """List the names of scores that the analysis reads."""
    plan = findings.analysis_plan
    if plan is None:
        return sorted(findings.tables.scores["outcome"].drop_duplicates())
    dose = [name for each in plan.dose for name in (each.outcome, each.dose, *each.covariates)]
    return [
        *plan.outcomes,
        *plan.composite_parts,
        *plan.covariates,
        *dose,
        *[each.outcome for each in plan.mixed],
    ]


def _scores_of_completed(findings: ExperimentFindings) -> pd.DataFrame:
    runs = findings.tables.runs
    done = runs.loc[runs["status"] == "completed", ["arm", "unit", "replicate"]]
    return findings.tables.scores.merge(done, on=["arm", "unit", "replicate"])


def served_model_blocks(findings: ExperimentFindings) -> list[Block]:
    """Show models served by several versions; [] if there are none."""
    if not findings.drifts:
        return []
    words = (
        f"{amount(len(findings.drifts), 'model')} that was asked for did not stay the same: several "
        "versions served it. Where arms were served by other versions, what differs between them "
        "need not be the treatment."
    )
    columns = TableColumn.texts("asked for", "served", "fingerprint")
    columns += TableColumn.numbers(*[f"{arm}: calls" for arm in findings.plan.arms])
    rows = [row for drift in findings.drifts for row in _version_rows(drift, findings.plan.arms)]
    table = TableBlock(columns=columns, rows=rows, caption="Models served by several versions")
    return [Paragraph.warning(words), table]


def _version_rows(drift: Drift, arms: Sequence[str]) -> list[list[str]]:
    return [
        [
            drift.model or drift.provider,
            version.served,
            version.fingerprint or NOTHING,
            *[f"{version.calls.get(arm, 0):,}" for arm in arms],
        ]
        for version in drift.versions
    ]


def changed_after_data(findings: ExperimentFindings) -> bool:
    """Check whether outcomes or tests were changed after runs had ended."""
    return any(change.ended and change.touches_analysis for change in findings.changes)


def deviations_section(findings: ExperimentFindings) -> Section:
    """Show changes of plan, runs beyond it, diverged replays, what could not be computed."""
    blocks: list[Block] = [_change_fold(change) for change in findings.changes]
    found = _facts(findings)
    if found:
        blocks.append(Bullets(items=found))
    if not blocks:
        words = (
            "None found: one plan was frozen before the first run, and every run in the "
            "store is one of its."
        )
        blocks.append(Paragraph(text=words))
    blocks.append(
        Paragraph.note(
            f"The plan has the hash {findings.plan.hash} and was frozen at {findings.plan.added}."
        )
    )
    return Section(id="deviations", title="Deviations from the frozen plan", blocks=blocks)


def _change_fold(change: PlanChange) -> Fold:
    columns = TableColumn.texts("where", "before", "after")
    rows = [[each.path, each.before, each.after] for each in change.changes]
    return Fold(title=_change_title(change), blocks=[TableBlock(columns=columns, rows=rows)])


def _change_title(change: PlanChange) -> str:
    what = "The analysis was changed" if change.touches_analysis else "The plan was changed"
    places = amount(len(change.changes), "place")
    if not change.ended:
        return f"{what} before there were data, at {change.added}, in {places}"
    return (
        f"{what} AFTER DATA EXISTED: {amount(change.ended, 'run')} had ended at "
        f"{change.added}; {places} differ"
    )


def _facts(findings: ExperimentFindings) -> list[str]:
    rows = findings.tables.rows.values()
    errors = list(findings.errors) if rows else []
    return errors + sentences(
        "deviations.txt.j2",
        findings=findings,
        tables=findings.tables,
        retried=sum(row.retries > 0 for row in rows),
        diverged=sum(row.diverged is not None for row in rows),
    )


def methods_section(findings: ExperimentFindings) -> Section:
    """Describe design, measures, analysis and sources."""
    values = _values(findings)
    texts = paragraphs("methods.txt.j2", **values)
    blocks: list[Block] = [Paragraph(text=text) for text in texts]
    if findings.analysis is not None:
        blocks.append(Bullets(items=sorted(sentences("sources.txt.j2", **values))))
    blocks.append(Paragraph.note(_software(findings)))
    return Section(id="methods", title="Methods", blocks=blocks)


def _values(findings: ExperimentFindings) -> dict[str, JSON]:
    """Return what the templates show."""
    plan, analysis, runs = findings.plan.normal, findings.analysis, findings.tables.runs
    rows = [*analysis.primary, *analysis.followups] if analysis else []
    judging = analysis.judging if analysis else ()
    models = [name for name in runs.columns if name.startswith("model.")]
    names = [name for each in plan["evaluators"] for name in each]
    return {
        "findings": findings,
        "plan": plan,
        "arms": findings.plan.arms,
        "models_vary": any(runs[name].nunique() > 1 for name in models),
        "evaluators": list(dict.fromkeys(names)),
        "judging": judging,
        "judges": [each.judge for each in judging[0].judges] if judging else [],
        "analysis": analysis,
        "asked": findings.analysis_plan,
        "paired": any(row.test == "paired t" for row in rows),
        "rates": any(row.rates for row in rows),
        "families": {row.family: row.family_size for row in rows if row.family_size > 1},
        "robust": any(row.robust for row in rows),
        "gaps": any(side.missing.units for row in rows for side in row.arms.values()),
        "mtld": any(each.measure == "mtld" for each in (analysis.drafts if analysis else ())),
    }


def _software(findings: ExperimentFindings) -> str:
    meta, progress = findings.meta, findings.progress
    when = (
        f"Runs were made from {progress.first} to {progress.last or 'now'}"
        if progress.first
        else "No run was begun"
    )
    return (
        f"{when}, with orglab {meta.get('orglab', '(unknown)')} on Python "
        f"{meta.get('python', '(unknown)')}; the frozen plan has the hash "
        f"{findings.plan.hash}."
    )
