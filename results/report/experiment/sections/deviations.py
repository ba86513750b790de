"""What was done otherwise than the frozen plan says."""

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
    facts = list(findings.errors) if findings.tables.rows else []
    tables = findings.tables
    if others := tables.outside - tables.earlier:
        facts.append(
            f"{amount(others, 'run')} in the store are not in the plan (other "
            "units, replicates or seeds), and are left out"
        )
    if tables.earlier:
        facts.append(
            f"{amount(tables.earlier, 'run')} in the store are of an earlier content of their unit, "
            "which was edited under the same id, and are left out"
        )
    if tables.rows and findings.plan.added > findings.progress.first and not findings.changes:
        facts.append("the plan was frozen after the first run had begun")
    if not findings.declared:
        facts.append("no primary outcome was declared: everything shown is exploratory")
    if findings.later:
        facts.append(
            f"scored with evaluators that the plan does not have: {'; '.join(findings.later)}"
        )
    retried = sum(row.retries > 0 for row in tables.rows.values())
    if retried:
        facts.append(f"{amount(retried, 'run')} failed and were tried again")
    diverged = sum(row.diverged is not None for row in tables.rows.values())
    if diverged:
        facts.append(f"{amount(diverged, 'run')} gave other events when gone on with than before")
    if findings.analysis and findings.analysis.duplicates:
        facts.append(
            f"{amount(findings.analysis.duplicates, 'score')} written twice were counted once"
        )
    return facts
