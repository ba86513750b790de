"""Closing links between roles of one column: bows beside it, long ones around short ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from orglab.engine.graph.draw.diagram import Diagram, DiagramEdge
from orglab.engine.graph.draw.layered_layout import Layout

__all__ = ["Arc", "arcs_of", "beside"]

STEP = 32.0
"""How far the innermost bow leaves its column, and each further one beyond it, in pixels: the room
of a short label."""


class Arc(NamedTuple):
    """A bow: from where to where, and the x that it reaches."""

    start: tuple[float, float]
    end: tuple[float, float]
    reach: float


def beside(diagram: Diagram, layout: Layout) -> list[int]:
    """Indexes of the closing links that stay within a column and lead to another role."""
    column = layout.column
    return [
        index
        for index, edge in enumerate(diagram.edges)
        if edge.kind == "closing"
        and edge.source != edge.target
        and column[edge.source] == column[edge.target] >= 0
    ]


def arcs_of(diagram: Diagram, layout: Layout, indexes: Iterable[int]) -> dict[int, Arc]:
    """Return a bow for each of these links, by its index; none crosses another at its ends."""
    edges = {index: diagram.edges[index] for index in indexes}
    heights = _heights(edges, layout)
    found: dict[int, Arc] = {}
    taken: dict[int, list[list[tuple[float, float]]]] = {}
    for index in sorted(edges, key=lambda i: _span(heights, edges[i], i)):
        edge, column = edges[index], layout.column[edges[index].source]
        ends = heights[index, edge.source], heights[index, edge.target]
        lane = _lane(taken.setdefault(column, []), min(ends), max(ends))
        start, end = layout.boxes[edge.source], layout.boxes[edge.target]
        reach = min(start.x, end.x, layout.columns[column][0]) - STEP * (lane + 1)
        found[index] = Arc((start.x, ends[0]), (end.x, ends[1]), reach)
    return found


def _span(
    heights: dict[tuple[int, str], float], edge: DiagramEdge, index: int
) -> tuple[float, int]:
    return abs(heights[index, edge.source] - heights[index, edge.target]), index


def _lane(lanes: list[list[tuple[float, float]]], top: float, bottom: float) -> int:
    """Return the innermost lane in which nothing is met."""
    for number, lane in enumerate(lanes):
        if all(bottom < low or high < top for low, high in lane):
            lane.append((top, bottom))
            return number
    lanes.append([(top, bottom)])
    return len(lanes) - 1


def _heights(edges: dict[int, DiagramEdge], layout: Layout) -> dict[tuple[int, str], float]:
    """Return the height at which each end of each bow meets its role."""
    at: dict[str, list[tuple[int, str]]] = {}
    for index, edge in edges.items():
        at.setdefault(edge.source, []).append((index, edge.target))
        at.setdefault(edge.target, []).append((index, edge.source))
    found: dict[tuple[int, str], float] = {}
    for name, ends in at.items():
        box = layout.boxes[name]
        ends.sort(key=_from_top(box.middle[1], layout))
        step = min(12.0, (box.height - 12) / max(len(ends) - 1, 1))
        for place, (index, _) in enumerate(ends):
            found[index, name] = box.middle[1] + step * (place - (len(ends) - 1) / 2)
    return found


def _from_top(y: float, layout: Layout) -> Callable[[tuple[int, str]], tuple[bool, float, int]]:
    """Return the order of ends from top to bottom.

    Those to roles above come first, the nearest at the top; then those to roles below, the
    farthest first. Two links between the same roles lie within each other.
    """

    def key(end: tuple[int, str]) -> tuple[bool, float, int]:
        other = layout.boxes[end[1]].middle[1]
        below = other > y
        return below, y - other, end[0] if below else -end[0]

    return key
