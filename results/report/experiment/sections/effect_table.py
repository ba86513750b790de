"""The table of effects, and what stands in its cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from textwrap import fill
from typing import TypeAlias

from orglab.results.number_format import (
    MINUS,
    NOTHING,
    clear_places,
    interval,
    label,
    money,
    number,
    p_value,
    percent,
    places,
    signed,
)
from orglab.results.report.experiment.answer import is_shown
from orglab.results.report.experiment.findings import Findings
from orglab.results.report.render.blocks import (
    Column,
    Table,
)
from orglab.results.statistics.effects import ArmSummary, Effect

__all__ = [
    "FAMILIES",
    "bracketed",
    "contrast_name",
    "difference_text",
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
) -> Table:
    """The main figures of effects; rows that are shown to differ stand out.

    Args:
        rows: The effects.
        alpha: Level of tests.
        names: What the rows are called; default: by outcome.
        first: Title of the column with the names.
        unreal: What dollars are that nobody paid: ``simulated``.
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
    return Table(
        columns=[Column(title=title, figures=at >= worded) for at, (title, _) in enumerate(made)],
        rows=list(zip(*[cells for _, cells in made], strict=True)),
        strong=frozenset(at for at, row in enumerate(rows) if is_shown(row, alpha)),
    )


def _columns(rows: Sequence[Effect], several: bool, unreal: str) -> Iterator[tuple[str, Cell]]:
    """Title and cell of each column; the family's columns only where there is a family."""
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
    yield "units missing", lambda row: _both(row, lambda side: str(len(side.missing.units)))
    yield "tokens a run", lambda row: _both(row, _tokens)
    yield f"{unreal}\n$ a run".strip(), lambda row: _both(row, _dollars)


def _wins(row: Effect) -> str:
    return f"{row.wins.wins} / {row.wins.ties} / {row.wins.losses}"


def _family(row: Effect) -> str:
    name = FAMILIES.get(row.family, row.family)
    return f"{name},\n{row.family_size}" if row.family_size else f"{name},\nuncorrected"


def _mean(row: Effect, side: ArmSummary) -> str:
    if row.rates is not None and side.rate_low is not None:
        low, high = _times(side.rate_low), _times(side.rate_high)
        return f"{percent(side.paired_mean)}\n[{interval(low, high, 0)}]"
    return number(side.paired_mean, places(side.paired_mean))


def _times(share: float | None) -> float | None:
    return None if share is None else 100 * share


def difference_text(row: Effect) -> str:
    """The difference with its interval; of rates in percentage points."""
    if row.rates is not None:
        found = row.rates
        size, low, high = _times(found.difference), _times(found.low), _times(found.high)
        return bracketed(size, low, high, " points")
    return bracketed(row.effect.difference, row.effect.low, row.effect.high)


def bracketed(value: float | None, low: float | None, high: float | None, unit: str = "") -> str:
    """A value, with its unit, over its interval."""
    if value is None:
        return NOTHING
    digits = clear_places(value, low, high)
    words = f"{signed(value, digits)}{unit}"
    return f"{words}\n[{interval(low, high, digits)}]" if low is not None else words


def test_text(row: Effect) -> str:
    """The statistic, or why there is none."""
    if row.statistic is None:
        return row.why or NOTHING
    if row.rates is not None:
        return f"{row.test}:\n{number(row.statistic)}"
    return f"t({row.effect.df}) =\n{number(row.statistic, 2)}"


def _test_cell(row: Effect) -> str:
    """The test, or why there is none, in short lines."""
    return test_text(row) if row.statistic is not None else fill(test_text(row), _LINE)


def _both(row: Effect, cell: Callable[[ArmSummary], str]) -> str:
    """Reference and arm, as everywhere."""
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
    """The outcome, and the contrast where there are several."""
    return f"{label(outcome)}, {arm} {MINUS} {reference}" if several else label(outcome)


def several_contrasts(findings: Findings) -> bool:
    """The study has more than one contrast."""
    return len(findings.plan.contrasts) > 1


def effect_title(row: Effect) -> str:
    """The outcome and the contrast."""
    return f"{label(row.outcome)} ({row.arm} {MINUS} {row.reference})"
