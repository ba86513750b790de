"""The report of a sweep: HTML, Markdown and JSON from its store alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from orglab.results.number_format import amount, label, p_equals
from orglab.results.report.experiment.sections.costs import cost_words as total_words
from orglab.results.report.page import Banner, Lead, simulation_banner
from orglab.results.report.render.blocks import Section
from orglab.results.report.sweep.analysis import FrontRow, MainEffect, Trend, VariantRow
from orglab.results.report.sweep.curves import dose_part, interactions_part
from orglab.results.report.sweep.findings import OutcomeFindings, SweepFindings, read_sweep_findings
from orglab.results.report.sweep.sections import (
    conduct_part,
    effects_part,
    front_part,
    methods_part,
    variants_part,
)
from orglab.results.report.sweep.sweep_words import (
    ALPHA,
    cost_words,
    difference_words,
    level_name,
    mean_words,
)
from orglab.results.statistics.models.main_effects import Estimate, difference

__all__ = ["SweepReport", "sweep_report_of"]

Part: TypeAlias = Callable[[SweepFindings], Section | None]

_PARTS: Sequence[Part] = (
    variants_part,
    effects_part,
    dose_part,
    interactions_part,
    front_part,
    conduct_part,
    methods_part,
)
_BEST = 3
_MOST_LEVELS = 12


@dataclass(frozen=True, kw_only=True)
class SweepReport:
    """A sweep's report, ready to be shown.

    Attributes:
        name: The sweep's name.
        question: What it asks, or "".
        banners: What must be seen first: simulated, unfinished, changed.
        answer: The answer in one sentence.
        leads: Base, factors, the best variants, the lines for who must decide.
        facts: Name and value of what stands beside the answer.
        findings: What it was made from.
    """

    name: str
    question: str
    banners: Sequence[Banner]
    answer: str
    leads: Sequence[Lead]
    facts: Sequence[tuple[str, str]]
    findings: SweepFindings

    @cached_property
    def sections(self) -> Sequence[Section]:
        """Everything else; its figures are drawn when it is first asked for."""
        return [section for part in _PARTS if (section := part(self.findings)) is not None]

    @property
    def heading(self) -> str:
        """The question, or what every sweep asks."""
        factors = [label(factor.name) for factor in self.findings.plan.factors]
        return self.question or f"What does it do to vary {', '.join(factors)}?"


def sweep_report_of(place: Path) -> SweepReport:
    """Analyses a sweep and writes nothing.

    Raises:
        StoreError: There is no study at ``place``, or it is no sweep.
    """
    findings = read_sweep_findings(place)
    return SweepReport(
        name=findings.plan.name,
        question=findings.plan.normal["question"],
        banners=_banners(findings),
        answer=_answer(findings),
        leads=_leads(findings),
        facts=_facts(findings),
        findings=findings,
    )


# --- what must be seen first ---------------------------------------------------------------------


def _banners(findings: SweepFindings) -> list[Banner]:
    simulation = simulation_banner(findings.costs)
    found = [simulation] if simulation else []
    progress = findings.progress
    if not progress.finished:
        ended = progress.planned - progress.open
        words = (
            f"{ended:,} of {amount(progress.planned, 'planned run')} have ended. Every figure is of "
            "these alone, and variants may be compared on few units."
        )
        found.append(Banner("UNFINISHED", words))
    if any(change.analysis and change.ended for change in findings.changes):
        words = "What the report looks at was changed after runs had ended; see How it went."
        found.append(Banner("ANALYSIS CHANGED AFTER DATA EXISTED", words))
    if findings.faults and findings.tables.rows:
        found.append(Banner("NOT ALL COULD BE COMPUTED", "; ".join(findings.faults)))
    return found


# --- the answer ----------------------------------------------------------------------------------


def _answer(findings: SweepFindings) -> str:
    main = findings.main
    if main is None or not main.ranked:
        why = "; ".join(findings.faults) or findings.chosen
        return (
            f"There is no answer yet: {why}."
            if not main
            else "There is no answer yet: no run with a score has completed."
        )
    opening = _opening(findings)
    best = main.ranked[0]
    side = "lowest" if main.lower else "highest"
    words = (
        f"{label(main.name)} was {side} under {findings.names[best.point]}: {mean_words(best.mean)} over "
        f"{_units(findings, best.mean.n)}"
    )
    if best.point != findings.reference and best.against.value is not None:
        words += f", {difference_words(best.against)} against {findings.names[findings.reference]}"
    return f"{opening}{words}. {_effects_words(findings, main)}".strip()


def _units(findings: SweepFindings, n: int) -> str:
    """``16 units``, or ``2 of 3 units`` where others have no value."""
    every = len(findings.plan.normal["units"])
    return amount(every, "unit") if n == every else f"{n:,} of {amount(every, 'unit')}"


def _opening(findings: SweepFindings) -> str:
    words = ""
    if findings.simulated:
        whole = findings.costs.simulated == findings.costs.answered
        words = "With simulated models" if whole else "With partly simulated models"
    if not findings.progress.finished:
        ended = findings.progress.planned - findings.progress.open
        so_far = f"so far ({ended:,} of {amount(findings.progress.planned, 'run')})"
        words = f"{words}, {so_far}" if words else so_far.capitalize()
    return f"{words}, " if words else ""


def _effects_words(findings: SweepFindings, main: OutcomeFindings) -> str:
    """The strongest main effect of each factor that is shown; which are not."""
    told, open_ = [], []
    for at, axis in enumerate(findings.axes):
        rows = [row for row in main.effects if row.factor == at and row.effect.p is not None]
        shown = [row for row in rows if row.p_adjusted is not None and row.p_adjusted < ALPHA]
        if shown:
            told.append(_effect_words(findings, max(shown, key=_size)))
        elif rows:
            open_.append(label(axis.name))
    told += [_slope_words(findings, row) for row in main.trends if _is_steep(findings, row)]
    words = f"{'; '.join(told)[:1].upper()}{'; '.join(told)[1:]}." if told else ""
    if open_:
        words += f" No main effect of {' or '.join(open_)} is shown (which is not to say that there is none)."
    return words.strip()


def _is_steep(findings: SweepFindings, row: Trend) -> bool:
    """A slope of a drawn factor is shown; listed factors have their levels."""
    drawn = findings.axes[row.factor].drawn
    return drawn and row.slope.p is not None and row.slope.p < ALPHA


def _slope_words(findings: SweepFindings, row: Trend) -> str:
    step = "a natural logarithm" if row.log else "a step of 1"
    name = label(findings.axes[row.factor].name)
    return f"{step} in {name} made {difference_words(row.slope)} ({p_equals(row.slope.p)})"


def _size(row: MainEffect) -> float:
    return abs(row.effect.value or 0.0)


def _effect_words(findings: SweepFindings, row: MainEffect) -> str:
    axis = findings.axes[row.factor]
    return (
        f"{level_name(findings, row.factor, row.level)} against {axis.labels[axis.reference]} made "
        f"{difference_words(row.effect)} ({p_equals(row.p_adjusted)}, corrected)"
    )


# --- beside the answer ---------------------------------------------------------------------------


def _leads(findings: SweepFindings) -> list[Lead]:
    plan = findings.plan.normal
    base = f"{plan['base']['file']}, {'a' if plan['base']['kind'] == 'topology' else 'an'} {plan['base']['kind']}"
    design = plan["design"] if isinstance(plan["design"], str) else next(iter(plan["design"]))
    leads = [Lead("Base", [f"{base}; design: {design}"]), Lead("Factors", _factors(findings))]
    main = findings.main
    if main is not None and main.ranked:
        leads.append(Lead("Best", [_best(findings, main, row) for row in main.ranked[:_BEST]]))
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


def _best(findings: SweepFindings, main: OutcomeFindings, row: VariantRow) -> str:
    words = f"{findings.names[row.point]}: {label(main.name)} {mean_words(row.mean)}"
    cost = _cost_of(findings, row.point)
    return (
        f"{words}, {cost} {findings.cost} a run"
        if cost and findings.cost == "tokens"
        else (f"{words}, {cost} a run" if cost else words)
    )


def _cost_of(findings: SweepFindings, point: int) -> str:
    team = findings.teams[point]
    row = next((row for row in findings.front if findings.teams[row.point] == team), None)
    return cost_words(findings, row.cost) if row is not None and row.cost.value is not None else ""


def _decision(findings: SweepFindings, main: OutcomeFindings) -> str:
    """The cheapest variant of the front that is not shown to be worse than the best."""
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
            return _cheaper(findings, row, best, behind)
    return ""


def _cheaper(findings: SweepFindings, row: FrontRow, best: int, behind: Estimate) -> str:
    return (
        f"{findings.names[row.point]} costs {_cost_of(findings, row.point)}{' tokens' if findings.cost == 'tokens' else ''} a run, the best "
        f"{_cost_of(findings, best)}; its difference to the best, {difference_words(behind)}, is not shown to be real."
    )


def _facts(findings: SweepFindings) -> list[tuple[str, str]]:
    progress, plan = findings.progress, findings.plan.normal
    ended = ", ".join(f"{count:,} {status}" for status, count in progress.statuses.items())
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
        ("Runs", f"{progress.planned:,} planned: {ended}"),
        ("Cost of the study", total_words(findings.costs)),
    ]
