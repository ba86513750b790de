"""What was done otherwise than the frozen plan says."""

from __future__ import annotations

from orglab.results.number_format import amount
from orglab.results.report.experiment.findings import Findings
from orglab.results.report.experiment.plan_history import PlanChange
from orglab.results.report.render.blocks import (
    Block,
    Bullets,
    Column,
    Fold,
    Paragraph,
    Section,
    Table,
)

__all__ = ["changed_after_data", "deviations_part"]


def changed_after_data(findings: Findings) -> bool:
    """Outcomes or tests were changed when runs had ended already."""
    return any(change.ended and change.touches_analysis for change in findings.changes)


def deviations_part(findings: Findings) -> Section:
    """Changes of plan, runs beyond it, replays that diverged, what could not be computed."""
    blocks: list[Block] = [_told(change) for change in findings.changes]
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
        Paragraph(
            text=(
                f"The plan has the hash {findings.plan.hash} and was frozen at "
                f"{findings.plan.added}."
            ),
            kind="note",
        )
    )
    return Section(id="deviations", title="Deviations from the frozen plan", blocks=blocks)


def _told(change: PlanChange) -> Fold:
    columns = [Column(title=title, figures=False) for title in ("where", "before", "after")]
    rows = [[each.path, each.before, each.after] for each in change.changes]
    return Fold(title=_change_words(change), blocks=[Table(columns=columns, rows=rows)])


def _change_words(change: PlanChange) -> str:
    what = "The analysis was changed" if change.touches_analysis else "The plan was changed"
    places = amount(len(change.changes), "place")
    if not change.ended:
        return f"{what} before there were data, at {change.added}, in {places}"
    return (
        f"{what} AFTER DATA EXISTED: {amount(change.ended, 'run')} had ended at "
        f"{change.added}; {places} differ"
    )


def _facts(findings: Findings) -> list[str]:
    facts = list(findings.faults) if findings.tables.rows else []
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
