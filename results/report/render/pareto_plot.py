"""Pareto plot: quality against cost, with the front."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from orglab.results.report.render.canvas import COLOURS, MUTED, canvas, plain, text

__all__ = ["ParetoMark", "pareto_figure"]

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
        _draw_dots(plane, others, MUTED, "beaten by another")
        plane.plot(
            [mark.cost for mark in best], [mark.quality for mark in best],
            color=COLOURS[0], linewidth=1.8, zorder=3,
        )  # fmt: skip
        _draw_dots(plane, best, COLOURS[0], "on the front")
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


def _draw_dots(plane: Axes, marks: Sequence[ParetoMark], colour: str, label: str) -> None:
    across, up = [mark.cost for mark in marks], [mark.quality for mark in marks]
    plane.plot(across, up, ls="", marker="o", markersize=6, color=colour, label=label, zorder=4)
