"""Tables of effects and the text of their cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from textwrap import fill
from typing import TypeAlias

from orglab.results.number_format import (
    MINUS,
    NOTHING,
    amount,
    interval,
    label,
    money,
    number,
    p_value,
    percent,
    places,
    with_interval,
)
from orglab.results.report.experiment.answer import is_shown
from orglab.results.report.experiment.findings import ExperimentFindings
from orglab.results.report.render.blocks import TableBlock, TableColumn
from orglab.results.report.render.prose import sentences
from orglab.results.statistics.data.pairing import Missing
from orglab.results.statistics.effects import ArmSummary, Effect

__all__ = [
    "FAMILIES",
    "bracketed",
    "contrast_name",
    "difference_text",
    "effect_details",
    "effect_table",
    "effect_title",
    "several_contrasts",
    "test_text",
]

Cell: TypeAlias = Callable[[Effect], str]

_LINE = 24
"""Signs of a line in a cell of words."""
FAMILIES = {"primary": "primary", "followups": "follow-up"}
"""What families are called."""


def effect_table(
    rows: Sequence[Effect],
    alpha: float,
    *,
    names: Sequence[str] = (),
    first: str = "outcome",
    unreal: str = "",
) -> TableBlock:
    """Show the main figures of effects; rows that are shown to differ stand out.

    Args:
        rows: The effects.
        alpha: Level of tests.
        names: What the rows are called; default: by outcome.
        first: Title of the column with the names.
        unreal: Mark of simulated dollars: ``simulated``.
    """
    named = list(names) or [label(row.outcome) for row in rows]
    several = len({(row.arm, row.reference) for row in rows}) > 1
    made: list[tuple[str, list[str]]] = [(first, named)]
    if several:
        made.append(("contrast", [f"{row.arm} {MINUS} {row.reference}" for row in rows]))
    worded = len(made)
    made += [
        (title, [cell(row) for row in rows]) for title, cell in _columns(rows, several, unreal)
    ]
    return TableBlock(
        columns=[
            TableColumn(title=title, figures=at >= worded) for at, (title, _) in enumerate(made)
        ],
        rows=list(zip(*[cells for _, cells in made], strict=True)),
        strong=frozenset(at for at, row in enumerate(rows) if is_shown(row, alpha)),
    )


def _columns(rows: Sequence[Effect], several: bool, unreal: str) -> Iterator[tuple[str, Cell]]:
    """Yield title and cell of each column; the family's columns only if there is a family."""
    corrected = any(row.family_size for row in rows)
    one = rows[0] if rows and not several else None
    if corrected:
        yield "family", _family
    yield "n", lambda row: str(row.n)
    yield one.reference if one else "reference", lambda row: _mean(row, row.arms[row.reference])
    yield one.arm if one else "arm", lambda row: _mean(row, row.arms[row.arm])
    yield "difference", difference_text
    yield "d_z", lambda row: bracketed(row.effect.d_z, row.effect.d_z_low, row.effect.d_z_high)
    yield "test", _test_cell
    yield "p", lambda row: p_value(row.p) if row.p is not None else "none"
    if corrected:
        yield "p (Holm)", lambda row: p_value(row.p_adjusted) if row.family_size else NOTHING
    yield "Wilcoxon p", lambda row: p_value(row.robust.p) if row.robust else NOTHING
    yield "wins / ties / losses", _wins
    yield "units missing", lambda row: _both_arms(row, lambda side: str(len(side.missing.units)))
    yield "tokens a run", lambda row: _both_arms(row, _tokens)
    yield f"{unreal}\n$ a run".strip(), lambda row: _both_arms(row, _dollars)


def _wins(row: Effect) -> str:
    return f"{row.wins.wins} / {row.wins.ties} / {row.wins.losses}"


def _family(row: Effect) -> str:
    name = FAMILIES.get(row.family, row.family)
    return f"{name},\n{row.family_size}" if row.family_size else f"{name},\nuncorrected"


def _mean(row: Effect, side: ArmSummary) -> str:
    if row.rates is not None and side.rate_low is not None:
        low, high = _in_percent(side.rate_low), _in_percent(side.rate_high)
        return f"{percent(side.paired_mean)}\n[{interval(low, high, 0)}]"
    return number(side.paired_mean, places(side.paired_mean))


def _in_percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def difference_text(row: Effect) -> str:
    """Format the difference with its interval; of rates in percentage points."""
    if row.rates is not None:
        found = row.rates
        size, low, high = (
            _in_percent(found.difference),
            _in_percent(found.low),
            _in_percent(found.high),
        )
        return bracketed(size, low, high, " points")
    return bracketed(row.effect.difference, row.effect.low, row.effect.high)


def bracketed(value: float | None, low: float | None, high: float | None, unit: str = "") -> str:
    """Format a value, with its unit, above its interval."""
    return with_interval(value, low, high, unit=unit, separator="\n")


def test_text(row: Effect) -> str:
    """Format the statistic, or why there is none."""
    if row.statistic is None:
        return row.why or NOTHING
    if row.rates is not None:
        return f"{row.test}:\n{number(row.statistic)}"
    return f"t({row.effect.df}) =\n{number(row.statistic, 2)}"


def _test_cell(row: Effect) -> str:
    """Format the test in short lines, or why there is none."""
    return test_text(row) if row.statistic is not None else fill(test_text(row), _LINE)


def _both_arms(row: Effect, cell: Callable[[ArmSummary], str]) -> str:
    """Format a value of reference and arm."""
    first, second = (cell(row.arms[arm]) for arm in (row.reference, row.arm))
    if first == second == NOTHING:
        return first
    return f"{first} / {second}" if len(first + second) < 8 else f"{first} /\n{second}"


def _tokens(side: ArmSummary) -> str:
    value = side.compute.get("tokens")
    return NOTHING if value is None else number(value, 0)


def _dollars(side: ArmSummary) -> str:
    return money(side.compute.get("cost_usd"))


def contrast_name(outcome: str, arm: str, reference: str, *, several: bool) -> str:
    """Name the outcome, and the contrast if there are several."""
    return f"{label(outcome)}, {arm} {MINUS} {reference}" if several else label(outcome)


def several_contrasts(findings: ExperimentFindings) -> bool:
    """Check whether the study has more than one contrast."""
    return len(findings.plan.contrasts) > 1


def effect_title(row: Effect) -> str:
    """Name the outcome and the contrast."""
    return f"{label(row.outcome)} ({row.arm} {MINUS} {row.reference})"


def effect_details(row: Effect) -> TableBlock:
    """Show test, sizes, robust test, equivalence, missing values and compute of one effect."""
    facts = sentences(
        "effect_details.txt.j2",
        row=row,
        difference=difference_text(row).replace("\n", " "),
        test=test_text(row).replace("\n", " "),
        why_missing=why_missing,
    )
    return TableBlock(
        columns=TableColumn.texts(effect_title(row), ""),
        rows=[tuple(fact.split("\t", 1)) for fact in facts],
    )


def why_missing(found: Missing) -> str:
    """Describe how many units have no value and why."""
    words = [f"{len(found.units)} of {amount(found.planned, 'unit')}"]
    words += [f"{reason}: {count}" for reason, count in found.why.items()]
    if found.cells:
        words.append(f"and {amount(found.cells, 'single value')} of units that have others")
    return "; ".join(words)
