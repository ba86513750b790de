"""The ways of links through a drawing.

Forward links go from right edge to left edge through the gaps between columns. Closing links pass
below all columns, authority links above, each in a lane of its own where they would meet; none
passes through a role.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import dist
from typing import NamedTuple, TypeAlias

from orglab.engine.graph.draw.diagram import Diagram, DiagramEdge
from orglab.engine.graph.draw.layered_layout import Box, Layout

Point: TypeAlias = tuple[float, float]

LANE = 24.0
FIRST_LANE = 26.0
CORNER = 10.0
PORT = 16.0
REVIEWER_ROOM = 64.0
STEP = 32.0
"""How far the innermost bow leaves its column, and each further one beyond it, in pixels: the room
of a short label."""


class Arc(NamedTuple):
    """A bow: from where to where, and the x that it reaches."""

    start: tuple[float, float]
    end: tuple[float, float]
    reach: float


class Route(NamedTuple):
    """A link's way: SVG path data, points along it, and the share at which a label goes first."""

    path: str
    points: tuple[Point, ...]


class Routes(NamedTuple):
    """All ways, by the index of the edge, and the boxes with the reviewers in their places."""

    ways: dict[int, Route]
    boxes: dict[str, Box]


@dataclass(slots=True)
class _Pen:
    """Draws a path and remembers points along it."""

    path: list[str] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)

    def move(self, to: Point) -> None:
        self.path.append(f"M{_xy(to)}")
        self.points.append(to)

    def line(self, to: Point) -> None:
        self.path.append(f"L{_xy(to)}")
        self.points.append(to)

    def curve(self, one: Point, two: Point, to: Point) -> None:
        self.path.append(f"C{_xy(one)} {_xy(two)} {_xy(to)}")
        start = self.points[-1]
        self.points += [_bezier(start, one, two, to, step / 12) for step in range(1, 13)]

    def bent(self, way: list[Point]) -> None:
        """Straight parts through ``way`` with round corners, from where the pen is."""
        for at, after in pairwise(way):
            before = self.points[-1]
            size = min(CORNER, dist(before, at) / 2, dist(at, after) / 2)
            self.line(_towards(at, before, size))
            end = _towards(at, after, size)
            self.path.append(f"Q{_xy(at)} {_xy(end)}")
            self.points.append(end)
        self.line(way[-1])

    def route(self) -> Route:
        return Route(" ".join(self.path), tuple(self.points))


def routes_of(diagram: Diagram, layout: Layout) -> Routes:
    """Find a way for every link."""
    above = [i for i, edge in enumerate(diagram.edges) if edge.kind == "authority"]
    lanes_above = [i for i in above if layout.column[diagram.edges[i].source] >= 0]
    bows = beside(diagram, layout)
    below = [i for i, edge in enumerate(diagram.edges) if edge.kind == "closing" and i not in bows]
    over = _Side(diagram, layout, above, up=True)
    under = _Side(diagram, layout, below, up=False)
    ways = _forward(diagram, layout)
    ways |= {index: over.through_lane(index, lane) for index, lane in over.lanes(lanes_above)}
    ways |= {index: _bow(arc) for index, arc in arcs_of(diagram, layout, bows).items()}
    ways |= {index: under.through_lane(index, lane) for index, lane in under.lanes(below)}
    over.raise_reviewers()
    ways |= {index: over.from_reviewer(index) for index in above if index not in ways}
    return Routes(ways, over.boxes)


def _bow(arc: Arc) -> Route:
    """Out to the left, along the column, and back."""
    pen = _Pen()
    pen.move(arc.start)
    pen.bent([(arc.reach, arc.start[1]), (arc.reach, arc.end[1]), arc.end])
    return pen.route()


# --- closing links within a column ---------------------------------------------------------------


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
    heights = _meeting_heights(edges, layout)
    found: dict[int, Arc] = {}
    taken: dict[int, list[list[tuple[float, float]]]] = {}
    for index in sorted(edges, key=lambda i: (_height_span(heights, edges[i], i), i)):
        edge, column = edges[index], layout.column[edges[index].source]
        ends = heights[index, edge.source], heights[index, edge.target]
        lane = _free_lane(taken.setdefault(column, []), min(ends), max(ends))
        start, end = layout.boxes[edge.source], layout.boxes[edge.target]
        reach = min(start.x, end.x, layout.columns[column][0]) - STEP * (lane + 1)
        found[index] = Arc((start.x, ends[0]), (end.x, ends[1]), reach)
    return found


def _height_span(heights: dict[tuple[int, str], float], edge: DiagramEdge, index: int) -> float:
    return abs(heights[index, edge.source] - heights[index, edge.target])


def _meeting_heights(edges: dict[int, DiagramEdge], layout: Layout) -> dict[tuple[int, str], float]:
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


# --- forward links ------------------------------------------------------------------------------


def _forward(diagram: Diagram, layout: Layout) -> dict[int, Route]:
    forward = [(i, edge) for i, edge in enumerate(diagram.edges) if edge.kind == "forward"]
    heights = {index: _heights(layout, index, edge) for index, edge in forward}
    leaving = _ports(forward, layout, lambda edge: edge.source, lambda i: heights[i][1])
    entering = _ports(forward, layout, lambda edge: edge.target, lambda i: heights[i][-2])
    return {
        index: _across(layout, edge, heights[index], leaving[index], entering[index])
        for index, edge in forward
    }


def _heights(layout: Layout, index: int, edge: DiagramEdge) -> list[float]:
    first, last = layout.boxes[edge.source].middle[1], layout.boxes[edge.target].middle[1]
    return [first, *layout.tracks[index], last]


def _ports(
    edges: list[tuple[int, DiagramEdge]],
    layout: Layout,
    end: Callable[[DiagramEdge], str],
    height: Callable[[int], float],
) -> dict[int, float]:
    """Return how far from the middle of its role's side each edge is fixed."""
    at: dict[str, list[int]] = {}
    for index, edge in edges:
        at.setdefault(end(edge), []).append(index)
    found: dict[int, float] = {}
    for name, indices in at.items():
        indices.sort(key=height)
        step = min(PORT, (layout.boxes[name].height - 20) / max(len(indices) - 1, 1))
        first = -step * (len(indices) - 1) / 2
        found |= {index: first + step * place for place, index in enumerate(indices)}
    return found


def _across(
    layout: Layout, edge: DiagramEdge, heights: list[float], leaving: float, entering: float
) -> Route:
    source, target = layout.boxes[edge.source], layout.boxes[edge.target]
    pen = _Pen()
    pen.move((source.right, heights[0] + leaving))
    column = layout.column[edge.source]
    for number, y in enumerate(heights[1:-1], start=column + 1):
        left, right = layout.columns[number]
        _swing(pen, (left, y))
        pen.line((right, y))
    _swing(pen, (target.x, heights[-1] + entering))
    return pen.route()


def _swing(pen: _Pen, to: Point) -> None:
    """Return an S curve from the current point, level at both ends."""
    x, y = pen.points[-1]
    reach = (to[0] - x) / 2
    pen.curve((x + reach, y), (to[0] - reach, to[1]), to)


# --- links above and below ----------------------------------------------------------------------


class _Side:
    """The ways on one side of the columns."""

    def __init__(self, diagram: Diagram, layout: Layout, indices: list[int], *, up: bool) -> None:
        self.diagram, self.layout = diagram, layout
        self.sign = -1.0 if up else 1.0
        self.edge_of_columns = layout.top if up else layout.bottom
        self.boxes = dict(layout.boxes)
        self.deepest = 0
        self.outermost = _outermost(layout, up=up)
        self.offsets = self._spread(indices)
        self.beside: dict[int, int] = {}
        self.sideways: dict[tuple[int, str], int] = {}

    def lanes(self, indices: list[int]) -> list[tuple[int, int]]:
        """Return a lane for each edge, short edges inside, none shared by edges that would meet."""
        taken: list[list[tuple[float, float]]] = []
        found = []
        for index in sorted(indices, key=lambda i: (self._span(i)[1] - self._span(i)[0], i)):
            left, right = self._span(index)
            found.append((index, _free_lane(taken, left, right)))
        self.deepest = len(taken)
        return found

    def _span(self, index: int) -> tuple[float, float]:
        edge = self.diagram.edges[index]
        ends = sorted(self._end(index, name, end)[0][0] for name, end in _ends(edge))
        label = 3.4 * len(edge.label) + 6
        middle = sum(ends) / 2
        return min(ends[0], middle - label) - 8, max(ends[1], middle + label) + 8

    def through_lane(self, index: int, lane: int) -> Route:
        """Out of the source, along the lane, into the target."""
        y = self.edge_of_columns + self.sign * (FIRST_LANE + LANE * lane)
        edge = self.diagram.edges[index]
        out = self._end(index, edge.source, "source")
        back = self._end(index, edge.target, "target")
        pen = _Pen()
        pen.move(out[-1])
        way = [*reversed(out[:-1]), (out[0][0], y), (back[0][0], y), *back]
        pen.bent(way)
        return pen.route()

    def raise_reviewers(self) -> None:
        """Put reviewers above the last lane."""
        lanes = FIRST_LANE + LANE * (self.deepest - 1) if self.deepest else 0.0
        y = self.layout.top - lanes - REVIEWER_ROOM
        for name, box in self.boxes.items():
            if self.layout.column[name] < 0:
                self.boxes[name] = replace(box, y=y - box.height)

    def from_reviewer(self, index: int) -> Route:
        """Down from a reviewer into the subordinate."""
        edge = self.diagram.edges[index]
        box = self.boxes[edge.source]
        back = self._end(index, edge.target, "target")
        start = (box.middle[0] + self.offsets[index, "source"], box.bottom)
        turn = (back[0][0], self.layout.top - 14)
        half = (turn[1] - start[1]) / 2
        pen = _Pen()
        pen.move(start)
        pen.curve((start[0], start[1] + half), (turn[0], turn[1] - half), turn)
        pen.bent(back)
        return pen.route()

    def _end(self, index: int, name: str, end: str) -> list[Point]:
        """Return points from the lane side to the role: straight, or by the gap left of its column."""
        box = self.boxes[name]
        if name in self.outermost:
            x = box.middle[0] + self.offsets[index, end]
            return [(x, box.y if self.sign < 0 else box.bottom)]
        column = self.layout.column[name]
        if (index, end) not in self.sideways:
            self.beside[column] = self.beside.get(column, 0) + 1
            self.sideways[index, end] = self.beside[column] - 1
        x = self.layout.columns[column][0] - 18 - 6 * (self.sideways[index, end] % 5)
        y = box.middle[1] + self.sign * (box.height / 2 - 7)
        return [(x, y), (box.x, y)]

    def _spread(self, indices: Iterable[int]) -> dict[tuple[int, str], float]:
        at: dict[str, list[tuple[float, int, str]]] = {}
        for index in indices:
            edge = self.diagram.edges[index]
            for name, end in _ends(edge):
                other = edge.target if end == "source" else edge.source
                towards = self.layout.boxes[other].middle[0] - self.layout.boxes[name].middle[0]
                # Of a loop on one role, and of equal ways, the end that leaves stands right.
                at.setdefault(name, []).append((towards, index, end))
        found: dict[tuple[int, str], float] = {}
        for name, ends in at.items():
            ends.sort(key=lambda one: (one[0], one[2] == "source", one[1]))
            room = self.layout.boxes[name].width - 28
            step = min(26.0, room / max(len(ends) - 1, 1))
            for place, (_, index, end) in enumerate(ends):
                found[index, end] = step * (place - (len(ends) - 1) / 2)
        return found


def _free_lane(lanes: list[list[tuple[float, float]]], low: float, high: float) -> int:
    """Take room in the innermost lane in which nothing is met, and return its number."""
    for number, taken in enumerate(lanes):
        if not any(start < high and low < end for start, end in taken):
            taken.append((low, high))
            return number
    lanes.append([(low, high)])
    return len(lanes) - 1


def _ends(edge: DiagramEdge) -> tuple[tuple[str, str], tuple[str, str]]:
    return (edge.source, "source"), (edge.target, "target")


def _outermost(layout: Layout, *, up: bool) -> frozenset[str]:
    """Return the first role of each column on one side."""
    best: dict[int, str] = {}
    for name, column in layout.column.items():
        if column < 0:
            continue
        other = best.get(column)
        if other is None or (layout.boxes[name].y < layout.boxes[other].y) == up:
            best[column] = name
    return frozenset(best.values())


# --- geometry -----------------------------------------------------------------------------------


def _xy(point: Point) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"


def _bezier(start: Point, one: Point, two: Point, end: Point, t: float) -> Point:
    u = 1 - t
    weights = (u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t)
    corners = (start, one, two, end)
    return (
        sum(w * p[0] for w, p in zip(weights, corners, strict=True)),
        sum(w * p[1] for w, p in zip(weights, corners, strict=True)),
    )


def _towards(start: Point, end: Point, size: float) -> Point:
    length = dist(start, end) or 1.0
    return (
        start[0] + (end[0] - start[0]) * size / length,
        start[1] + (end[1] - start[1]) * size / length,
    )
