"""Bar charts by arm: stacked, or side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from orglab.results.report.render.canvas import COLOURS, MUTED, canvas, plain, quiet, short

__all__ = ["grouped_bars", "stacked_bars"]


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
