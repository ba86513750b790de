"""The canvas of every figure: one look, and SVG that is the same each time it is drawn.

Colours that follow the page (text, lines, paper) are drawn in stand-ins and written as CSS
variables, so that a figure reads in the dark too.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from io import StringIO
from typing import Any, TypeVar

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from orglab.providers.terminal_safety import visible

T = TypeVar("T")

INK, MUTED, FAINT, PAPER = "#0a0b0c", "#0a0b0d", "#0a0b0e", "#0a0b0f"
"""Stand-ins for the colours of the page: text, lesser text, lines, ground."""

COLOURS = ("#3f7fd0", "#d97f26", "#2f9c74", "#9a66c8", "#c8545a", "#7d8a2e", "#2e97ab", "#b0679b")
"""Colours of arms, roles, judges: they read on light and on dark ground."""

WIDTH = 7.2
"""Inches."""

_VARIABLES = {INK: "--ink", MUTED: "--muted", FAINT: "--faint", PAPER: "--paper"}
_LIGHT = {"--ink": "#1c2126", "--muted": "#5b6570", "--faint": "#d4d9de", "--paper": "#ffffff"}

_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "axes.unicode_minus": True,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Segoe UI", "Helvetica Neue", "Arial", "sans-serif"],
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.linewidth": 0.8,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "grid.color": FAINT,
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.solid_capstyle": "round",
}


def canvas(
    name: str, height: float, draw: Callable[[Figure], None], *, width: float = WIDTH
) -> str:
    """Draw a figure and return its SVG.

    Args:
        name: The figure's name; ids inside the SVG depend on it, so that figures do not collide.
        height: Inches.
        draw: Draws on an empty figure.
        width: Inches.
    """
    look: Any = _STYLE | {"svg.hashsalt": name}  # rc_context lists every key it knows
    with mpl.rc_context(look), warnings.catch_warnings():
        # Texts stay texts in the SVG: the reader's fonts draw them, whatever is installed here.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure)
        file = StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(file, format="svg", metadata=nothing)
    return _page_svg(file.getvalue(), name)


def _page_svg(svg: str, name: str) -> str:
    """Remove prolog, metadata and page-wide style; write the page's colours as variables."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>", "", body, count=1, flags=re.DOTALL)
    body = re.sub(r'<g id="[a-zA-Z0-9_.]+">', "<g>", body)
    for colour, variable in _VARIABLES.items():
        body = body.replace(colour, f"var({variable})")
    body = re.sub(r"\n\s*\n+", "\n", body)
    return body.replace("<svg ", f'<svg role="img" aria-labelledby="{name}-caption" ', 1)


def standalone(svg: str) -> str:
    """Return the SVG as a file of its own, on white."""
    for variable, colour in _LIGHT.items():
        svg = svg.replace(f"var({variable})", colour)
    start = svg.index(">", svg.index("<svg")) + 1
    look = "<style>*{stroke-linejoin:round;stroke-linecap:butt}</style>"
    ground = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return f'<?xml version="1.0" encoding="utf-8"?>\n{svg[:start]}{look}{ground}{svg[start:]}'


def text(words: str) -> str:
    """Return a text of the study for a figure: nothing hidden, one line."""
    return " ".join(visible(words).split()) or "(no name)"


def short(words: str, most: int = 28) -> str:
    """Return a label, cut if it is long."""
    shown = text(words)
    return shown if len(shown) <= most else shown[: most - 1].rstrip() + "…"


def plain(axes: Axes, *, grid: str = "x") -> None:
    """Draw a grid behind the marks, in one direction."""
    axes.set_axisbelow(True)
    axes.grid(visible=True, axis=grid)  # type: ignore[arg-type]  # "x", "y" or "both"


def quiet(axes: Axes) -> None:
    """Hide the ticks and the line on the left: rows have names."""
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)


def panels_in_rows(
    name: str,
    panels: Sequence[T],
    draw_panel: Callable[[Axes, T], None],
    *,
    across: int,
    size: tuple[float, float],
    more: float = 0.0,
) -> str:
    """Draw a figure of panels, row by row.

    Args:
        name: The figure's name.
        panels: What each panel shows.
        draw_panel: Draws one.
        across: Most panels in a row.
        size: Width and height of a panel, inches; the figure is never wider than ``WIDTH``.
        more: Inches of width beside the panels.
    """
    across = min(across, len(panels))
    down = -(-len(panels) // across)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(down, across, squeeze=False)
        for axes, panel in zip(grid.flat, panels, strict=False):
            draw_panel(axes, panel)
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()

    return canvas(name, size[1] * down, draw, width=min(WIDTH, size[0] * across + more))
