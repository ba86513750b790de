"""Deviations from the frozen plan."""

from __future__ import annotations

from orglab.results.number_format import amount
from orglab.results.report.experiment.findings import ExperimentFindings
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
from orglab.results.report.render.prose import sentences

__all__ = ["changed_after_data", "deviations_section"]


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
