"""Level plots: means by level of a factor with intervals, as lines; variants as dots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter, NullLocator, StrMethodFormatter

from orglab.results.report.render.canvas import (
    COLOURS,
    INK,
    MUTED,
    panels_in_rows,
    plain,
    short,
    text,
)

__all__ = ["LevelLine", "LevelPanel", "levels_figure"]

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
    return panels_in_rows(name, panels, _draw_panel, across=2, size=(4.6, 3.1))


def _draw_panel(axes: Axes, panel: LevelPanel) -> None:
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
    for number, line in enumerate(panel.lines):
        _draw_line(axes, line, number, panel)
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


def _draw_line(axes: Axes, line: LevelLine, number: int, panel: LevelPanel) -> None:
    colour = COLOURS[number % len(COLOURS)] if len(panel.lines) > 1 else INK
    places = _dodged(line.places, number, panel)
    axes.plot(
        places, line.means, color=colour, marker="o", markersize=5, linewidth=1.7,
        label=short(line.label, 22), zorder=3,
    )  # fmt: skip
    for at, low, high in zip(places, line.lows, line.highs, strict=True):
        if low is not None and high is not None:
            axes.plot([at, at], [low, high], color=colour, linewidth=1.3, zorder=2)


def _dodged(places: Sequence[float], number: int, panel: LevelPanel) -> list[float]:
    """Move places sideways, evenly to both sides."""
    return _moved(places, (number - (len(panel.lines) - 1) / 2) * _DODGE, panel)


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
