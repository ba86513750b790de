"""Slope plots: each pair as a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from orglab.results.number_format import number, places
from orglab.results.report.render.canvas import COLOURS, INK, MUTED, panels_in_rows, plain, short
from orglab.results.statistics.data.arrays import Floats

__all__ = ["MOST_LINES", "SlopePanel", "slopes"]

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
    return panels_in_rows(name, panels, _draw_panel, across=_ACROSS, size=(2.9, 2.9), more=0.2)


def _draw_panel(axes: Axes, panel: SlopePanel) -> None:
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
