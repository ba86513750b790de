"""The effect by what was drawn: models from a pool, or a column of the unit."""

from __future__ import annotations

from collections.abc import Sequence

from orglab.results.number_format import MINUS, amount, label, number, p_equals
from orglab.results.report.experiment.findings import Findings
from orglab.results.report.experiment.sections.effect_table import effect_table
from orglab.results.report.experiment.sections.effects import effect_forest
from orglab.results.report.render.blocks import Block, Figure, Paragraph, Section
from orglab.results.statistics.models.subgroups import Split

__all__ = ["drawn_part"]


def drawn_part(findings: Findings) -> Section | None:
    """Every declared split of an effect."""
    analysis, plan = findings.analysis, findings.analysis_plan
    if analysis is None or plan is None or not analysis.by:
        return None
    blocks: list[Block] = []
    for at, column in enumerate(dict.fromkeys(row.column for row in analysis.by)):
        own = [row for row in analysis.by if row.column == column]
        name = f"by-{at + 1}"
        groups = [
            (
                _title(row),
                [(_level(level.value, level.units), level.effect) for level in row.levels],
            )
            for row in own
        ]
        if any(rows for _, rows in groups):
            caption = f"The effect by {column}. Exploratory: rows are not corrected."
            blocks.append(
                Figure(
                    name=name,
                    svg=effect_forest(name, groups, plan.alpha, level=plan.level),
                    caption=caption,
                )
            )
        blocks += [Paragraph(text=_heterogeneity(row)) for row in own]
        blocks += _tables(own, plan.alpha, findings.costs.unreal)
    return Section(id="drawn", title="The effect by what was drawn", blocks=blocks)


def _title(row: Split) -> str:
    return f"{label(row.outcome)}, {row.arm} {MINUS} {row.reference}"


def _level(value: str, units: int) -> str:
    return f"{value} (n = {units})"


def _heterogeneity(row: Split) -> str:
    words = f"{_title(row)} by {row.column}: "
    if row.f is None:
        words += "whether the effect differs between the values cannot be tested"
    else:
        words += (
            f"do the effects differ between the values? F = {number(row.f, 2)}, {p_equals(row.p)}"
        )
    if row.left_out:
        words += (
            f"; {amount(row.left_out, 'pair')} left out, the value being missing or not the "
            "same in both arms"
        )
    return f"{words}."


def _tables(rows: Sequence[Split], alpha: float, unreal: str) -> list[Block]:
    return [
        effect_table(
            [level.effect for level in row.levels],
            alpha,
            names=[level.value for level in row.levels],
            first=_title(row),
            unreal=unreal,
        )
        for row in rows
        if row.levels
    ]
