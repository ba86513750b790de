"""Forest plots: effects with their intervals, one a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from orglab.results.report.render.canvas import (
    COLOURS,
    INK,
    MUTED,
    canvas,
    plain,
    quiet,
    short,
)

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


_DOT_ROW = 0.4


@dataclass(frozen=True, kw_only=True)
class DotRow:
    """One row.

    Attributes:
        label: Its name.
        named: Values of named marks (judges), each in its colour.
        others: Values without a name (units), small and grey.
        whole: The value with all, or None.
    """

    label: str
    named: Sequence[tuple[str, float]]
    others: Sequence[float] = ()
    whole: float | None = None


def dots(name: str, rows: Sequence[DotRow], *, axis: str, whole: str = "", others: str = "") -> str:
    """Draw rows of marks.

    Args:
        name: The figure's name.
        rows: The rows.
        axis: What the values are.
        whole: What the mark of the whole is called in the legend.
        others: What the grey marks are called.
    """
    names = list(dict.fromkeys(who for row in rows for who, _ in row.named))
    colours = {who: COLOURS[at % len(COLOURS)] for at, who in enumerate(names)}

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        axes.axvline(0, color=MUTED, linewidth=1)
        _marks(axes, rows, colours)
        axes.set_yticks(range(len(rows)), [short(row.label, 46) for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel(axis)
        plain(axes)
        quiet(axes)
        _legend(figure, axes, colours, (whole, others))

    return canvas(name, _DOT_ROW * len(rows) + 1.1, draw)


def _marks(axes: Axes, rows: Sequence[DotRow], colours: dict[str, str]) -> None:
    """Draw all marks of a name at once: many artists are slow to draw."""
    others = [(value, at + 0.3) for at, row in enumerate(rows) for value in row.others]
    _draw_dots(axes, others, MUTED, size=3, alpha=0.45)
    for place, (who, colour) in enumerate(colours.items()):
        lift = _lift(place, len(colours))
        own = [
            (value, at + lift)
            for at, row in enumerate(rows)
            for name, value in row.named
            if name == who
        ]
        _draw_dots(axes, own, colour, size=5.2, alpha=0.9)
    for at, row in enumerate(rows):
        if row.whole is not None:
            axes.plot([row.whole] * 2, [at - 0.38, at + 0.38], color=INK, linewidth=2)


def _draw_dots(
    axes: Axes, places: Sequence[tuple[float, float]], colour: str, *, size: float, alpha: float
) -> None:
    across, down = [x for x, _ in places], [y for _, y in places]
    axes.plot(
        across, down, marker="o", ls="", color=colour, markersize=size, alpha=alpha,
        markeredgewidth=0,
    )  # fmt: skip


def _lift(place: int, names: int) -> float:
    """Return the height of a name's marks, so that equal values do not hide each other."""
    return 0.0 if names < 2 else -0.3 + 0.42 * place / (names - 1)


def _legend(figure: Figure, axes: Axes, colours: dict[str, str], words: tuple[str, str]) -> None:
    marks = [
        axes.scatter([], [], s=34, color=colour, linewidths=0, label=short(who, 22))
        for who, colour in colours.items()
    ]
    whole, others = words
    if others:
        marks.append(axes.scatter([], [], s=9, color=MUTED, linewidths=0, label=others))
    if whole:
        line = axes.plot([], [], color=INK, linewidth=2, label=whole)[0]
        figure.legend(handles=[*marks, line], loc="outside lower center", ncols=4)
    elif marks:
        figure.legend(handles=marks, loc="outside lower center", ncols=5)


def stacked_bars(
    name: str, bars: Mapping[str, Mapping[str, float]], *, axis: str, hatched: str = ""
) -> str:
    """Draw one horizontal bar an arm, in pieces by part.

    Args:
        name: The figure's name.
        bars: By arm, the size of each part.
        axis: What the sizes are.
        hatched: The part that is drawn grey: it is of another kind than the others.
    """
    parts = list(dict.fromkeys(part for pieces in bars.values() for part in pieces))
    coloured = [part for part in parts if part != hatched]
    colours = {part: COLOURS[at % len(COLOURS)] for at, part in enumerate(coloured)}

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        starts = [0.0] * len(bars)
        for part in parts:
            sizes = [pieces.get(part, 0.0) for pieces in bars.values()]
            axes.barh(
                range(len(bars)), sizes, left=starts, height=0.62, label=short(part, 22),
                color=colours.get(part, MUTED), alpha=0.9 if part in colours else 0.45,
            )  # fmt: skip
            starts = [start + size for start, size in zip(starts, sizes, strict=True)]
        _name_rows(axes, list(bars))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        axes.set_xlabel(axis)
        figure.legend(loc="outside lower center", ncols=5)

    return canvas(name, 0.42 * len(bars) + 1.15, draw)


def grouped_bars(name: str, rows: Sequence[tuple[str, Mapping[str, float]]], *, axis: str) -> str:
    """Draw rows of horizontal bars, one bar an arm in each."""
    arms = list(dict.fromkeys(arm for _, sizes in rows for arm in sizes))
    thick = 0.8 / max(len(arms), 1)

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        for at, arm in enumerate(arms):
            places = [row - 0.4 + thick * (at + 0.5) for row in range(len(rows))]
            sizes = [found.get(arm, 0.0) for _, found in rows]
            colour = COLOURS[at % len(COLOURS)]
            axes.barh(places, sizes, height=thick * 0.9, color=colour, label=short(arm, 22))
        _name_rows(axes, [label for label, _ in rows])
        axes.set_xlabel(axis)
        figure.legend(loc="outside lower center", ncols=5)

    return canvas(name, (0.16 * len(arms) + 0.14) * len(rows) + 1.1, draw)


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [short(name, 34) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    plain(axes)
    quiet(axes)
