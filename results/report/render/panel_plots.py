"""Level plots: means by level of a factor with intervals, as lines; variants as dots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator, StrMethodFormatter

from orglab.results.number_format import number, places
from orglab.results.report.render.canvas import (
    COLOURS,
    INK,
    MUTED,
    canvas,
    panels_in_rows,
    plain,
    short,
    text,
)
from orglab.results.statistics.data.cells import Floats

_DODGE = 0.018
"""Distance of lines as a part of the width, so that no interval hides another."""
_MOST_TICKS = 9


@dataclass(frozen=True, kw_only=True)
class LevelLine:
    """One line: at each place a mean and the ends of its interval, or None for both."""

    label: str
    places: Sequence[float]
    means: Sequence[float]
    lows: Sequence[float | None]
    highs: Sequence[float | None]


@dataclass(frozen=True, kw_only=True)
class LevelPanel:
    """One panel.

    Attributes:
        title: What it shows.
        axes: Labels of the horizontal and the vertical axis.
        ticks: Places along, with their labels.
        lines: The lines.
        dots: Places and values of single variants.
        slope: Two ends of a fitted line, or None.
        log: The axis along is one of logarithms.
        zero: A line at 0 is drawn.
        legend: What the lines are levels of.
    """

    title: str
    axes: tuple[str, str]
    ticks: Sequence[tuple[float, str]]
    lines: Sequence[LevelLine]
    dots: Sequence[tuple[float, float]] = ()
    slope: tuple[tuple[float, float], tuple[float, float]] | None = None
    log: bool = False
    zero: bool = False
    legend: str = ""


def levels_figure(name: str, panels: Sequence[LevelPanel]) -> str:
    """Draw panels, two in a row."""
    return panels_in_rows(name, panels, _draw_level_panel, across=2, size=(4.6, 3.1))


def _draw_level_panel(axes: Axes, panel: LevelPanel) -> None:
    if panel.log:  # the formatter of matplotlib writes powers as markup, which is not parsed here
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    if panel.zero:
        axes.axhline(0, color=MUTED, linewidth=1)
    if panel.dots:
        along, up = zip(*panel.dots, strict=True)
        across = _moved(along, -_DODGE if panel.lines else 0.0, panel)
        axes.scatter(across, up, s=17, color=MUTED, alpha=0.6, linewidths=0, zorder=1)
    for place, line in enumerate(panel.lines):
        _draw_line(axes, line, place, panel)
    if panel.slope is not None:
        ends = np.array(panel.slope)
        axes.plot(ends[:, 0], ends[:, 1], color=COLOURS[1], linewidth=1.8)
    _draw_ticks(axes, panel)
    axes.set_xlabel(text(panel.axes[0]))
    axes.set_ylabel(short(panel.axes[1], 34))
    axes.set_title(short(panel.title, 44))
    plain(axes, grid="y")
    if len(panel.lines) > 1:
        axes.legend(title=short(panel.legend, 24), loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _draw_line(axes: Axes, line: LevelLine, place: int, panel: LevelPanel) -> None:
    colour = COLOURS[place % len(COLOURS)] if len(panel.lines) > 1 else INK
    spots = _moved(line.places, (place - (len(panel.lines) - 1) / 2) * _DODGE, panel)
    axes.plot(
        spots, line.means, color=colour, marker="o", markersize=5, linewidth=1.7,
        label=short(line.label, 22), zorder=3,
    )  # fmt: skip
    for at, low, high in zip(spots, line.lows, line.highs, strict=True):
        if low is not None and high is not None:
            axes.plot([at, at], [low, high], color=colour, linewidth=1.3, zorder=2)


def _moved(places: Sequence[float], step: float, panel: LevelPanel) -> list[float]:
    along = [place for place, _ in panel.ticks]
    if panel.log:
        width = float(np.log(max(along) / min(along))) or 1.0
        return [float(place * np.exp(step * width)) for place in places]
    width = (max(along) - min(along)) or 1.0
    return [place + step * width for place in places]


def _draw_ticks(axes: Axes, panel: LevelPanel) -> None:
    if len(panel.ticks) > _MOST_TICKS:
        return  # matplotlib's own
    names = [short(label, 14) for _, label in panel.ticks]
    axes.set_xticks([place for place, _ in panel.ticks], names)
    axes.xaxis.set_minor_locator(NullLocator())
    if sum(map(len, names)) > 40:
        axes.tick_params(axis="x", labelrotation=25)


@dataclass(frozen=True, kw_only=True, eq=False)
class DosePanel:
    """One panel; ``line`` is intercept and slope, where a line without covariates was fitted."""

    title: str
    axes: tuple[str, str]
    dose: Floats
    outcome: Floats
    line: tuple[float, float] | None


def dose_figure(name: str, panels: Sequence[DosePanel]) -> str:
    """Draw scatter plots side by side; marks are jittered so that none hides another."""
    return panels_in_rows(name, panels, _draw_dose_panel, across=2, size=(4.6, 3.0))


def _draw_dose_panel(axes: Axes, panel: DosePanel) -> None:
    axes.scatter(
        panel.dose + _jittered(panel.dose), panel.outcome, s=20, color=COLOURS[0], alpha=0.65,
        linewidths=0,
    )  # fmt: skip
    levels = np.unique(panel.dose)
    if len(levels) <= 12:
        means = [float(panel.outcome[panel.dose == level].mean()) for level in levels]
        axes.plot(levels, means, marker="_", markersize=18, markeredgewidth=2.2, color=INK, ls="")
        if np.array_equal(levels, levels.round()):
            axes.set_xticks(levels)
    if panel.line is not None and len(levels) > 1:
        ends = np.array([levels[0], levels[-1]])
        axes.plot(ends, panel.line[0] + panel.line[1] * ends, color=COLOURS[1], linewidth=1.8)
    axes.set_xlabel(text(panel.axes[0]))
    axes.set_ylabel(text(panel.axes[1]))
    axes.set_title(text(panel.title))
    plain(axes, grid="y")


def _jittered(dose: Floats) -> Floats:
    """Spread the marks evenly within each level, the same each time."""
    moved = np.zeros(len(dose))
    steps = np.diff(np.unique(dose))
    room = 0.3 * float(steps.min()) if len(steps) else 0.3
    for level in np.unique(dose):
        own = np.flatnonzero(dose == level)
        if len(own) > 1:
            spread = np.linspace(-room, room, len(own))
            moved[own] = spread[np.argsort((np.arange(len(own)) * 7919) % 104729, kind="stable")]
    return moved


MOST_LINES = 300
"""Where there are more pairs, so many are drawn: every so-manieth by the size of its difference."""
_UP, _DOWN = COLOURS[2], COLOURS[4]
_ACROSS = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class SlopePanel:
    """One panel: the same units on both sides."""

    title: str
    sides: tuple[str, str]
    left: Floats
    right: Floats


def slopes(name: str, panels: Sequence[SlopePanel]) -> str:
    """Draw paired slopes, three panels in a row; means are thick, with a value beside."""
    return panels_in_rows(
        name, panels, _draw_slope_panel, across=_ACROSS, size=(2.9, 2.9), more=0.2
    )


def _draw_slope_panel(axes: Axes, panel: SlopePanel) -> None:
    left, right = _drawn_pairs(panel.left, panel.right)
    d = right - left
    for keep, colour in ((d > 0, _UP), (d < 0, _DOWN), (d == 0, MUTED)):
        lines = [[(0.0, a), (1.0, b)] for a, b in zip(left[keep], right[keep], strict=True)]
        axes.add_collection(LineCollection(lines, colors=colour, linewidths=0.8, alpha=0.5))
    means = [float(panel.left.mean()), float(panel.right.mean())]
    axes.plot([0, 1], means, color=INK, linewidth=2.6, marker="o", markersize=5, zorder=5)
    for side, mean in enumerate(means):
        _write_mean(axes, side, mean)
    axes.set_xlim(-0.46, 1.46)
    axes.margins(y=0.06)
    axes.autoscale_view(scalex=False)
    axes.set_xticks([0, 1], [short(side, 18) for side in panel.sides])
    axes.set_title(short(panel.title, 30))
    plain(axes, grid="y")


def _write_mean(axes: Axes, side: int, mean: float) -> None:
    axes.annotate(
        number(mean, places(mean)),
        (side, mean), textcoords="offset points", xytext=((-7, 7)[side], 0),
        ha=("right", "left")[side], va="center", fontsize=8.5, fontweight="bold",
    )  # fmt: skip


def _drawn_pairs(left: Floats, right: Floats) -> tuple[Floats, Floats]:
    if len(left) <= MOST_LINES:
        return left, right
    order = np.argsort(right - left, kind="stable")
    chosen = order[np.linspace(0, len(left) - 1, MOST_LINES).round().astype(int)]
    return left[chosen], right[chosen]


_MOST_LABELS = 40
_MOST_INTERVALS = 60


@dataclass(frozen=True, kw_only=True)
class ParetoMark:
    """One variant: cost and quality, each with the ends of its interval, where it has one."""

    label: str
    cost: float
    quality: float
    costs: tuple[float, float] | None
    qualities: tuple[float, float] | None
    front: bool


def pareto_figure(name: str, marks: Sequence[ParetoMark], *, axes: tuple[str, str]) -> str:
    """Draw all variants, and the front.

    Args:
        name: The figure's name.
        marks: The variants.
        axes: Labels of the horizontal and the vertical axis.
    """

    def draw(figure: Figure) -> None:
        plane = figure.add_subplot()
        others = [mark for mark in marks if not mark.front]
        best = sorted((mark for mark in marks if mark.front), key=lambda mark: mark.cost)
        if len(marks) <= _MOST_INTERVALS:
            _draw_intervals(plane, others, MUTED)
        _draw_intervals(plane, best, COLOURS[0])
        _draw_marks(plane, others, MUTED, "beaten by another")
        plane.plot(
            [mark.cost for mark in best], [mark.quality for mark in best],
            color=COLOURS[0], linewidth=1.8, zorder=3,
        )  # fmt: skip
        _draw_marks(plane, best, COLOURS[0], "on the front")
        for mark in marks if len(marks) <= _MOST_LABELS else best[:_MOST_LABELS]:
            plane.annotate(
                mark.label, (mark.cost, mark.quality), textcoords="offset points", xytext=(6, 5),
                fontsize=8.5, fontweight="bold" if mark.front else "normal",
            )  # fmt: skip
        plane.set_xlabel(text(axes[0]))
        plane.set_ylabel(text(axes[1]))
        plain(plane, grid="both")
        figure.legend(loc="outside lower center", ncols=2)

    return canvas(name, 4.3, draw)


def _draw_intervals(plane: Axes, marks: Sequence[ParetoMark], colour: str) -> None:
    lines = [
        [(mark.costs[0], mark.quality), (mark.costs[1], mark.quality)]
        for mark in marks
        if mark.costs is not None
    ]
    lines += [
        [(mark.cost, mark.qualities[0]), (mark.cost, mark.qualities[1])]
        for mark in marks
        if mark.qualities is not None
    ]
    plane.add_collection(LineCollection(lines, colors=colour, linewidths=1, alpha=0.55))
    plane.autoscale_view()


def _draw_marks(plane: Axes, marks: Sequence[ParetoMark], colour: str, label: str) -> None:
    across, up = [mark.cost for mark in marks], [mark.quality for mark in marks]
    plane.plot(across, up, ls="", marker="o", markersize=6, color=colour, label=label, zorder=4)
