"""Sections of a sweep's report with curves: dose-response, interactions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from orglab.results.number_format import amount, label, p_equals, p_value
from orglab.results.report.render.blocks import (
    Block,
    Bullets,
    FigureBlock,
    Paragraph,
    Section,
    TableBlock,
    TableColumn,
)
from orglab.results.report.render.panel_plots import LevelLine, LevelPanel, levels_figure
from orglab.results.report.sweep.analysis import Axis, Trend, is_grid
from orglab.results.report.sweep.findings import OutcomeFindings, SweepFindings
from orglab.results.report.sweep.sections import difference_text, level_name
from orglab.results.statistics.data.cells import known_means
from orglab.results.statistics.models.main_effects import Estimate, mean_estimate

_MOST_LINES = 8
_MOST_PANELS = 6
_MOST_ROWS = 60
_WIDE = 50.0
"""Where the largest level is so many times the least, the axis is one of logarithms."""


def dose_section(findings: SweepFindings) -> Section | None:
    """Show outcomes over the levels of each numeric factor."""
    pairs = [(outcome, trend) for outcome in findings.outcomes for trend in outcome.trends]
    panels = [panel for outcome, trend in pairs for panel in _dose_panels(findings, outcome, trend)]
    if not panels:
        return None
    caption = (
        "Means at each level with intervals of 95 % over units; grey: single variants. Beside them "
        "the differences to the reference level, paired by unit, whose intervals leave out how "
        "units differ. For factors drawn from a range: every variant, and the line fitted within units."
    )
    shown = panels[: 2 * _MOST_PANELS]
    blocks: list[Block] = [
        FigureBlock(name="dose", svg=levels_figure("dose", shown), caption=caption)
    ]
    blocks.append(Bullets(items=[_trend_text(findings, *pair) for pair in pairs]))
    return Section(id="dose", title="Dose and response", blocks=blocks)


def _dose_panels(
    findings: SweepFindings, outcome: OutcomeFindings, trend: Trend
) -> list[LevelPanel]:
    axis = findings.axes[trend.factor]
    values = axis.values
    means = _variant_means(findings, outcome, trend.factor)
    if values is None or not means:
        return []
    if axis.drawn:
        return [_fitted_panel(axis, outcome, trend, means)]
    rows = [row for row in outcome.effects if row.factor == trend.factor]
    levels = [(values[row.level], row.mean) for row in rows]
    against = [
        (values[row.level], row.effect if row.how else Estimate(n=0, value=0.0)) for row in rows
    ]
    names = (label(axis.name), label(outcome.name))
    ticks = list(zip(values, axis.labels, strict=True))
    panels = [
        LevelPanel(
            title="means", axes=names, ticks=ticks, lines=[_level_line("", levels)], dots=means,
            log=_is_wide(axis),
        )
    ]  # fmt: skip
    if any(row.how and row.effect.value is not None for row in rows):
        title = f"difference to {label(axis.name)} {axis.labels[axis.reference]}, paired"
        names = (names[0], f"difference in {names[1]}")
        panels.append(
            LevelPanel(
                title=title, axes=names, ticks=ticks, lines=[_level_line("", against)], zero=True,
                log=_is_wide(axis),
            )
        )  # fmt: skip
    return panels


def _fitted_panel(
    axis: Axis, outcome: OutcomeFindings, trend: Trend, means: Sequence[tuple[float, float]]
) -> LevelPanel:
    values = axis.values or ()
    line = None
    if trend.slope.value is not None:
        middle = float(np.mean([value for _, value in means]))
        along = [_axis_position(place, trend.log) for place, _ in means]
        ends = (min(values), max(values))
        heights = [
            middle + trend.slope.value * (_axis_position(end, trend.log) - float(np.mean(along)))
            for end in ends
        ]
        line = ((ends[0], heights[0]), (ends[1], heights[1]))
    return LevelPanel(
        title="variants and the fitted line",
        axes=(label(axis.name), label(outcome.name)),
        ticks=list(zip(values, axis.labels, strict=True)),
        lines=[],
        dots=means,
        slope=line,
        log=axis.log,
    )


def _axis_position(place: float, log: bool) -> float:
    return float(np.log(place)) if log else place


def _is_wide(axis: Axis) -> bool:
    values = axis.values or ()
    return min(values) > 0 and max(values) >= _WIDE * min(values)


def _variant_means(
    findings: SweepFindings, outcome: OutcomeFindings, factor: int
) -> list[tuple[float, float]]:
    """Return place along the axis and mean of every variant."""
    values = findings.axes[factor].values or ()
    codes = findings.design.codes[:, factor].tolist()
    return [
        (values[codes[row.point]], row.mean.value)
        for row in outcome.variants
        if row.mean.value is not None
    ]


def _level_line(name: str, found: Sequence[tuple[float, Estimate]]) -> LevelLine:
    known = sorted(
        ((place, each) for place, each in found if each.value is not None), key=lambda pair: pair[0]
    )
    return LevelLine(
        label=name,
        places=[place for place, _ in known],
        means=[each.value or 0.0 for _, each in known],
        lows=[each.low for _, each in known],
        highs=[each.high for _, each in known],
    )


def _trend_text(findings: SweepFindings, outcome: OutcomeFindings, trend: Trend) -> str:
    axis, slope = findings.axes[trend.factor], trend.slope
    step = (
        f"a natural logarithm of {label(axis.name)}"
        if trend.log
        else f"a step of 1 in {label(axis.name)}"
    )
    if slope.value is None:
        return f"{label(outcome.name)} over {label(axis.name)}: no slope: {slope.why}."
    return (
        f"{label(outcome.name)} by {step}: {difference_text(slope)}, {p_equals(slope.p)} (a straight "
        f"line within each of {amount(slope.n, 'unit')}, averaged; other factors held equal)."
    )


# --- interactions --------------------------------------------------------------------------------


def interactions_section(findings: SweepFindings) -> Section | None:
    """Show how the effect of one factor depends on another; None if the design cannot show it."""
    main = findings.main
    pairs = _factor_pairs(findings)
    if main is None or not pairs:
        return None
    panels = [_interaction_panel(findings, main, pair) for pair in pairs[:_MOST_PANELS]]
    caption = (
        f"Mean {label(main.name)} at each pair of levels, over the other factors, with intervals of 95 % over "
        "units. Parallel lines: the one factor does the same whatever the other is."
    )
    figure = levels_figure("interactions", panels)
    blocks: list[Block] = [FigureBlock(name="interactions", svg=figure, caption=caption)]
    if main.interactions:
        blocks.append(_interactions_table(findings, main))
        more = len(main.interactions) - _MOST_ROWS
        words = (
            "Each row is a difference of differences: the first factor's difference at the second's level, "
            "minus the same at the second's reference, made within units. Corrected: Holm over all rows."
        )
        words += f" {more} more rows stand in report.json." if more > 0 else ""
        blocks.append(Paragraph.note(words))
    return Section(id="interactions", title="Interactions", blocks=blocks)


def _factor_pairs(findings: SweepFindings) -> list[tuple[int, int]]:
    """List pairs of listed factors: the one along the axis, and the one whose levels are lines."""
    if not is_grid(findings.design, findings.axes):
        return []
    axes = findings.axes
    found = []
    listed = [at for at, axis in enumerate(axes) if not axis.drawn and len(axis.labels) > 1]
    for one, other in combinations(listed, 2):
        along, lines = sorted(
            (one, other), key=lambda at: (axes[at].values is None, -len(axes[at].labels))
        )
        if len(axes[lines].labels) > _MOST_LINES:
            along, lines = lines, along
        if len(axes[lines].labels) <= _MOST_LINES:
            found.append((along, lines))
    return found


def _interaction_panel(
    findings: SweepFindings, outcome: OutcomeFindings, pair: tuple[int, int]
) -> LevelPanel:
    along, across = (findings.axes[at] for at in pair)
    places = along.values or tuple(float(at) for at in range(len(along.labels)))
    codes = findings.design.codes
    lines = []
    for level, name in enumerate(across.labels):
        found = []
        for at, place in enumerate(places):
            keep = (codes[:, pair[0]] == at) & (codes[:, pair[1]] == level)
            found.append((place, mean_estimate(known_means(outcome.values[keep], 0))))
        lines.append(_level_line(name, found))
    return LevelPanel(
        title=f"{label(along.name)} by {label(across.name)}",
        axes=(label(along.name), label(outcome.name)),
        ticks=list(zip(places, along.labels, strict=True)),
        lines=lines,
        log=along.values is not None and _is_wide(along),
        legend=label(across.name),
    )


def _interactions_table(findings: SweepFindings, outcome: OutcomeFindings) -> TableBlock:
    columns = TableColumn.texts("difference", "at")
    columns += TableColumn.numbers("units", "difference of differences", "p", "p corrected")
    rows = []
    for row in outcome.interactions[:_MOST_ROWS]:
        (one, other), (a, b) = row.factors, row.levels
        first, second = findings.axes[one], findings.axes[other]
        rows.append(
            [
                f"{level_name(findings, one, a)} against {first.labels[first.reference]}",
                f"{level_name(findings, other, b)} against {second.labels[second.reference]}",
                str(row.effect.n),
                difference_text(row.effect),
                p_value(row.effect.p),
                p_value(row.p_adjusted),
            ]
        )
    return TableBlock(columns=columns, rows=rows)
