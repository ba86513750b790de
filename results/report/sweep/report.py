"""The report of a sweep: HTML, Markdown and JSON from its store alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from orglab.results.number_format import amount, label, p_equals
from orglab.results.report.page import Lead, Report, answer_opening, run_facts, status_banners
from orglab.results.report.render.blocks import Section
from orglab.results.report.sweep.analysis import FrontRow, MainEffect, Trend, VariantRow
from orglab.results.report.sweep.curves import dose_section, interactions_section
from orglab.results.report.sweep.findings import OutcomeFindings, SweepFindings, read_sweep_findings
from orglab.results.report.sweep.sections import (
    ALPHA,
    cost_text,
    difference_text,
    effects_section,
    execution_section,
    front_section,
    level_name,
    mean_text,
    methods_section,
    variants_section,
)
from orglab.results.statistics.models.main_effects import Estimate, difference

_SECTIONS: Sequence[Callable[[SweepFindings], Section | None]] = (
    variants_section,
    effects_section,
    dose_section,
    interactions_section,
    front_section,
    execution_section,
    methods_section,
)
_BEST = 3
_MOST_LEVELS = 12


def sweep_report_of(place: Path) -> Report[SweepFindings]:
    """Analyse a sweep.

    Raises:
        StoreError: There is no study at ``place``, or it is no sweep.
    """
    findings = read_sweep_findings(place)
    question = findings.plan.normal["question"]
    factors = [label(factor.name) for factor in findings.plan.factors]
    changed = any(change.analysis and change.ended for change in findings.changes)
    return Report(
        name=findings.plan.name,
        question=question,
        heading=question or f"What does it do to vary {', '.join(factors)}?",
        banners=status_banners(
            findings,
            unfinished="variants may be compared on few units",
            changed="What the report looks at was changed after runs had ended; see How it went."
            if changed
            else "",
        ),
        answer=_answer(findings),
        leads=_leads(findings),
        facts=_facts(findings),
        sections=[section for build in _SECTIONS if (section := build(findings)) is not None],
        findings=findings,
    )


# --- the answer ----------------------------------------------------------------------------------


def _answer(findings: SweepFindings) -> str:
    main = findings.main
    if main is None or not main.ranked:
        why = "; ".join(findings.errors) or findings.chosen
        return (
            f"There is no answer yet: {why}."
            if not main
            else "There is no answer yet: no run with a score has completed."
        )
    opening = answer_opening(findings)
    best = main.ranked[0]
    side = "lowest" if main.lower else "highest"
    words = (
        f"{label(main.name)} was {side} under {findings.names[best.point]}: {mean_text(best.mean)} over "
        f"{_units_text(findings, best.mean.n)}"
    )
    if best.point != findings.reference and best.against.value is not None:
        words += f", {difference_text(best.against)} against {findings.names[findings.reference]}"
    return f"{opening}{words}. {_effects_text(findings, main)}".strip()


def _units_text(findings: SweepFindings, n: int) -> str:
    """Format the number of units: ``16 units``, or ``2 of 3 units`` if others have no value."""
    every = len(findings.plan.normal["units"])
    return amount(every, "unit") if n == every else f"{n:,} of {amount(every, 'unit')}"


def _effects_text(findings: SweepFindings, main: OutcomeFindings) -> str:
    """Describe the strongest main effect of each factor that is shown, and name the others."""
    texts, open_ = [], []
    for at, axis in enumerate(findings.axes):
        rows = [row for row in main.effects if row.factor == at and row.effect.p is not None]
        shown = [row for row in rows if row.p_adjusted is not None and row.p_adjusted < ALPHA]
        if shown:
            texts.append(_effect_text(findings, max(shown, key=_size)))
        elif rows:
            open_.append(label(axis.name))
    texts += [_slope_text(findings, row) for row in main.trends if _is_slope_shown(findings, row)]
    words = f"{'; '.join(texts)[:1].upper()}{'; '.join(texts)[1:]}." if texts else ""
    if open_:
        words += f" No main effect of {' or '.join(open_)} is shown (which is not to say that there is none)."
    return words.strip()


def _is_slope_shown(findings: SweepFindings, row: Trend) -> bool:
    """Check whether a slope of a drawn factor is shown; listed factors have their levels."""
    drawn = findings.axes[row.factor].drawn
    return drawn and row.slope.p is not None and row.slope.p < ALPHA


def _slope_text(findings: SweepFindings, row: Trend) -> str:
    step = "a natural logarithm" if row.log else "a step of 1"
    name = label(findings.axes[row.factor].name)
    return f"{step} in {name} made {difference_text(row.slope)} ({p_equals(row.slope.p)})"


def _size(row: MainEffect) -> float:
    return abs(row.effect.value or 0.0)


def _effect_text(findings: SweepFindings, row: MainEffect) -> str:
    axis = findings.axes[row.factor]
    return (
        f"{level_name(findings, row.factor, row.level)} against {axis.labels[axis.reference]} made "
        f"{difference_text(row.effect)} ({p_equals(row.p_adjusted)}, corrected)"
    )


# --- beside the answer ---------------------------------------------------------------------------


def _leads(findings: SweepFindings) -> list[Lead]:
    plan = findings.plan.normal
    base = f"{plan['base']['file']}, {'a' if plan['base']['kind'] == 'topology' else 'an'} {plan['base']['kind']}"
    design = plan["design"] if isinstance(plan["design"], str) else next(iter(plan["design"]))
    leads = [Lead("Base", [f"{base}; design: {design}"]), Lead("Factors", _factors(findings))]
    main = findings.main
    if main is not None and main.ranked:
        leads.append(
            Lead("Best", [_variant_line(findings, main, row) for row in main.ranked[:_BEST]])
        )
        if line := _decision(findings, main):
            leads.append(Lead("To decide", [line], "decision"))
    return leads


def _factors(findings: SweepFindings) -> list[str]:
    lines = []
    for factor in findings.plan.factors:
        shown = ", ".join(factor.labels[:_MOST_LEVELS])
        if len(factor.labels) > _MOST_LEVELS:
            shown = f"{len(factor.labels)} levels, {factor.labels[0]} to {factor.labels[-1]}"
        lines.append(f"{label(factor.name)} ({factor.path}): {shown}")
    return lines


def _variant_line(findings: SweepFindings, main: OutcomeFindings, row: VariantRow) -> str:
    words = f"{findings.names[row.point]}: {label(main.name)} {mean_text(row.mean)}"
    cost = _variant_cost(findings, row.point)
    return (
        f"{words}, {cost} {findings.cost} a run"
        if cost and findings.cost == "tokens"
        else (f"{words}, {cost} a run" if cost else words)
    )


def _variant_cost(findings: SweepFindings, point: int) -> str:
    team = findings.teams[point]
    row = next((row for row in findings.front if findings.teams[row.point] == team), None)
    return cost_text(findings, row.cost) if row is not None and row.cost.value is not None else ""


def _decision(findings: SweepFindings, main: OutcomeFindings) -> str:
    """Describe the cheapest variant of the front that is not shown to be worse than the best."""
    known = [row for row in findings.front if row.front and row.cost.value is not None]
    if len(known) < 2:
        return ""
    best = main.ranked[0].point
    for row in sorted(known, key=lambda row: row.cost.value or 0.0):
        behind = difference(main.values[row.point], main.values[best])
        if findings.teams[row.point] == findings.teams[best]:
            return (
                f"{findings.names[best]}: every cheaper variant on the front is shown to be worse."
            )
        if behind.p is None:
            return ""  # too few units have both: it is not known whether it is worse
        if behind.p >= ALPHA:
            return _cheaper_text(findings, row, best, behind)
    return ""


def _cheaper_text(findings: SweepFindings, row: FrontRow, best: int, behind: Estimate) -> str:
    return (
        f"{findings.names[row.point]} costs {_variant_cost(findings, row.point)}{' tokens' if findings.cost == 'tokens' else ''} a run, the best "
        f"{_variant_cost(findings, best)}; its difference to the best, {difference_text(behind)}, is not shown to be real."
    )


def _facts(findings: SweepFindings) -> list[tuple[str, str]]:
    plan = findings.plan.normal
    variants = f"{len(plan['points']):,}"
    teams = len(plan["cells"])
    arms = len(findings.plan.arms)
    if arms > 1:
        variants += f" under {arms} arms"
    if teams < len(plan["points"]) * arms:
        variants += f"; {teams:,} of these teams differ, and each was run once"
    return [
        ("Variants", variants),
        (
            "Units",
            f"{amount(len(plan['units']), 'unit')}, {amount(plan['replicates'], 'replicate')}",
        ),
        *run_facts(findings),
    ]
