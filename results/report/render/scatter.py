"""Scatter plots of an outcome against a dose, with the fitted line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from orglab.results.report.render.canvas import COLOURS, INK, panels_in_rows, plain, text
from orglab.results.statistics.data.arrays import Floats

__all__ = ["DosePanel", "dose_figure"]


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
    return panels_in_rows(name, panels, _draw_panel, across=2, size=(4.6, 3.0))


def _draw_panel(axes: Axes, panel: DosePanel) -> None:
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
