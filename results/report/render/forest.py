"""Forest plots: effects with their intervals, one a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from orglab.results.report.render.canvas import (
    COLOURS,
    INK,
    MUTED,
    canvas,
    plain,
    quiet,
    short,
)

__all__ = ["ForestGroup", "ForestRow", "forest"]

_ROW = 0.26
"""Inches a row."""


@dataclass(frozen=True, kw_only=True)
class ForestRow:
    """One effect; without a value its ``note`` is shown."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    strong: bool = False
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class ForestGroup:
    """Rows under a heading."""

    title: str
    rows: Sequence[ForestRow]


def forest(
    name: str,
    groups: Sequence[ForestGroup],
    *,
    axis: str,
    sides: tuple[str, str] | None = None,
    margin: float | None = None,
) -> str:
    """Draw a forest plot.

    Args:
        name: The figure's name.
        groups: Rows by heading.
        axis: What the values are.
        sides: What it means to be below and above 0.
        margin: Half-width of a region of equivalence to shade.
    """
    lines = sum(len(group.rows) + bool(group.title) for group in groups)
    height = _ROW * lines + 0.75 + (0.2 if sides else 0)

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        if margin is not None:
            axes.axvspan(-margin, margin, color=MUTED, alpha=0.12, linewidth=0)
        axes.axvline(0, color=MUTED, linewidth=1)
        _draw_rows(axes, groups)
        plain(axes)
        quiet(axes)
        axes.set_xlabel(axis)
        axes.set_ylim(lines - 0.4, -0.7)
        _widen_axis(axes)
        if sides:
            _name_sides(axes, sides)

    return canvas(name, height, draw)


def _draw_rows(axes: Axes, groups: Sequence[ForestGroup]) -> None:
    placed: list[tuple[int, ForestRow]] = []
    at = 0
    for group in groups:
        if group.title:
            axes.annotate(
                short(group.title, 70), (0, at), xycoords=("axes fraction", "data"),
                fontweight="bold", va="center", ha="left", fontsize=8.5,
            )  # fmt: skip
            at += 1
        placed += [(at + place, row) for place, row in enumerate(group.rows)]
        at += len(group.rows)
    for strong in (False, True):
        _effects(axes, [(y, row) for y, row in placed if row.strong == strong], strong)
    for y, row in placed:
        if row.value is None:
            _note(axes, row, y)
    axes.set_yticks([y for y, _ in placed], [short(row.label, 46) for _, row in placed])


def _effects(axes: Axes, placed: Sequence[tuple[int, ForestRow]], strong: bool) -> None:
    """Draw all rows of one look at once: many artists are slow to draw."""
    colour = COLOURS[0] if strong else INK
    lines = [
        [(row.low, y), (row.high, y)]
        for y, row in placed
        if row.value is not None and row.low is not None and row.high is not None
    ]
    axes.add_collection(
        LineCollection(lines, colors=colour, linewidths=2 if strong else 1.3), autolim=True
    )
    known = [(row.value, y) for y, row in placed if row.value is not None]
    axes.plot(
        [value for value, _ in known], [y for _, y in known], ls="", color=colour,
        marker="D" if strong else "o", markersize=6 if strong else 5,
    )  # fmt: skip
    axes.autoscale_view()


def _note(axes: Axes, row: ForestRow, y: int) -> None:
    """Write why there is no effect, in its place."""
    axes.annotate(
        short(row.note or "not computed", 60), (0, y), textcoords="offset points",
        xytext=(4, 0), va="center", color=MUTED, fontsize=8,
    )  # fmt: skip


def _widen_axis(axes: Axes) -> None:
    """Widen the axis: zero is always visible, and marks keep off the edges."""
    low, high = axes.get_xlim()
    low, high = min(low, 0.0), max(high, 0.0)
    room = 0.06 * (high - low or 1.0)
    axes.set_xlim(low - room, high + room)


def _name_sides(axes: Axes, sides: tuple[str, str]) -> None:
    left, right = (short(side, 40) for side in sides)
    axes.set_title(f"← {left}", loc="left", fontsize=8.5, fontweight="normal", color=MUTED)
    axes.set_title(f"{right} →", loc="right", fontsize=8.5, fontweight="normal", color=MUTED)
