"""Dot plots: several marks a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
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

__all__ = ["DotRow", "dots"]

_ROW = 0.4


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

    return canvas(name, _ROW * len(rows) + 1.1, draw)


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
