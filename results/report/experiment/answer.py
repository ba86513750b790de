"""The answer in one sentence, and the decision lines."""

from __future__ import annotations

from orglab.results.number_format import (
    clear_places,
    duration,
    interval,
    label,
    money,
    number,
    p_equals,
    percent,
    sentence,
    signed,
)
from orglab.results.report.experiment.findings import ExperimentFindings
from orglab.results.report.page import answer_opening
from orglab.results.statistics.effects import Effect

_MOST_CLAUSES = 4


def answer(findings: ExperimentFindings) -> str:
    """Answer the experiment's question in one sentence, with intervals."""
    analysis = findings.analysis
    if analysis is None:
        return f"There is no answer yet: {'; '.join(findings.errors) or 'nothing was computed'}."
    if not findings.declared:
        return (
            "No primary outcome was declared, so there is no answer to a question: the figures "
            "below describe what was measured."
        )
    rows = list(analysis.primary)
    alpha = findings.analysis_plan.alpha if findings.analysis_plan else 0.05
    if len(rows) <= _MOST_CLAUSES:
        return sentence(
            answer_opening(findings) + "; ".join(clause(row, alpha, findings.level) for row in rows)
        )
    shown = [row for row in rows if is_shown(row, alpha)]
    texts = [clause(row, alpha, findings.level) for row in shown[:_MOST_CLAUSES]]
    words = f"in {len(shown) or 'none'} of {len(rows)} primary comparisons a difference is shown"
    words += f": {'; '.join(texts)}" if texts else "; what is open and what equivalent stands below"
    untested = sum(row.p is None for row in rows)
    words += f"; {untested} could not be tested" if untested else ""
    rest = "; the others stand below" if len(shown) > _MOST_CLAUSES else ""
    return sentence(f"{answer_opening(findings)}{words}{rest}")


def is_shown(row: Effect, alpha: float) -> bool:
    """Check whether the difference is significant, corrected within its family if it is in one."""
    p = row.p_adjusted if row.family_size else row.p
    return p is not None and p < alpha


def clause(row: Effect, alpha: float = 0.05, level: float = 0.95) -> str:
    """Describe one comparison; equivalence is claimed only after its test, "no difference" never."""
    what, found = label(row.outcome), row.effect
    if found.difference is None:
        return f"{what} cannot be compared between {row.arm} and {row.reference} ({found.why})"
    numbers = effect_figures(row, level)
    if row.p is None:
        return f"{what} of {row.arm} minus {row.reference} was {numbers} ({row.why})"
    shown, same = is_shown(row, alpha), row.equivalence and row.equivalence.equivalent
    if shown:
        side = "higher" if found.difference > 0 else "lower"
        but = f", but by less than the margin of {_margin_text(row)}" if same else ""
        return f"{what} was {side} under {row.arm} than under {row.reference}{but} ({numbers})"
    if same:
        return (
            f"{what} was equivalent under {row.arm} and {row.reference} within {_margin_text(row)} "
            f"({numbers})"
        )
    return f"whether {what} differs between {row.arm} and {row.reference} stays open ({numbers})"


def shown_interval(row: Effect) -> tuple[float | None, float | None, float | None]:
    """Return the difference and its interval; of rates in percent."""
    if row.rates is None:
        return row.effect.difference, row.effect.low, row.effect.high
    found = row.rates
    size, low, high = (
        None if share is None else 100 * share
        for share in (found.difference, found.low, found.high)
    )
    return size, low, high


def effect_figures(row: Effect, level: float = 0.95) -> str:
    """Format an effect: ``0.21 (95 % CI 0.05 to 0.37, n = 43, p = .009)``; rates in percentage points."""
    size, low, high = shown_interval(row)
    unit = " percentage points" if row.rates is not None and size is not None else ""
    digits = clear_places(size, low, high)
    parts = [f"{percent(level)} CI {interval(low, high, digits)}"] if low is not None else []
    parts += [f"n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{row.n}"]
    if row.p is not None:
        corrected = row.family_size > 1 and row.p_adjusted is not None
        parts.append(f"{p_equals(row.p_adjusted)} after Holm" if corrected else p_equals(row.p))
    return f"{signed(size, digits)}{unit}, {', '.join(parts)}"


def _margin_text(row: Effect) -> str:
    found = row.equivalence
    if found is None or found.margin is None:
        return "the margin"
    return f"±{number(found.margin)}"


# --- decision lines ------------------------------------------------------------------------------


def decision_lines(findings: ExperimentFindings) -> list[str]:
    """Compare the gain with dollars and seconds, one line a contrast."""
    return [_decision_line(findings, arm, other) for arm, other in findings.plan.contrasts]


def _decision_line(findings: ExperimentFindings, arm: str, other: str) -> str:
    gained = _gains_text(findings, arm, other)
    paid = ", ".join(_cost_differences(findings, arm, other)) or "what it costs is not known yet"
    return f"With {arm} in place of {other}: {gained}; a unit: {paid}."


def _gains_text(findings: ExperimentFindings, arm: str, other: str) -> str:
    rows = [
        row
        for row in (findings.analysis.primary if findings.analysis else ())
        if (row.arm, row.reference) == (arm, other) and row.effect.difference is not None
    ]
    alpha = findings.analysis_plan.alpha if findings.analysis_plan else 0.05
    texts = [
        f"{label(row.outcome)} {_gain_text(findings, row)}{_why_not_shown(row, alpha)}"
        for row in rows
    ]
    return ", ".join(texts) or "no outcome can be compared yet"


def _why_not_shown(row: Effect, alpha: float) -> str:
    """Return why a gain is not shown; "" if it is."""
    if row.p is None:
        return f" (not tested: {row.why})" if row.why else " (not tested)"
    return "" if is_shown(row, alpha) else " (not shown to differ from 0)"


def _gain_text(findings: ExperimentFindings, row: Effect) -> str:
    """Format a gain, in points if judges gave the values."""
    size = row.effect.difference
    if row.rates is not None and size is not None:
        return f"{signed(100 * size)} percentage points"
    judged = findings.dataset is not None and findings.dataset.cells(row.outcome).judged
    size_text = signed(size, clear_places(size, row.effect.low, row.effect.high))
    return f"{size_text} points" if judged else size_text


def _cost_differences(findings: ExperimentFindings, arm: str, other: str) -> list[str]:
    """List the differences of a unit in dollars, seconds and tokens, judging aside."""
    shows = {"cost_usd": _dollars, "seconds": _seconds, "tokens": _tokens}
    rows = {
        row.column: row
        for row in (findings.analysis.compute_contrasts if findings.analysis else ())
        if (row.arm, row.reference) == (arm, other)
    }
    texts = []
    for column, show in shows.items():
        if column in rows and rows[column].difference is not None:
            share = rows[column].relative
            more = f" ({'+' if share > 0 else ''}{percent(share)})" if share is not None else ""
            value = rows[column].difference or 0.0
            unreal = findings.costs.unreal if column == "cost_usd" and value else ""
            texts.append(show(value) + more + (f" ({unreal})" if unreal else ""))
        elif column == "cost_usd":
            texts.append("dollars unknown")
    return texts


def _dollars(value: float) -> str:
    return f"{money(abs(value))} {'more' if value >= 0 else 'less'}"


def _seconds(value: float) -> str:
    return f"{duration(abs(value))} {'longer' if value >= 0 else 'shorter'}"


def _tokens(value: float) -> str:
    return f"{number(abs(value), 0)} tokens {'more' if value >= 0 else 'fewer'}"
