"""Where labels stand in a drawing: on their links, clear of roles, other labels and other links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil, dist
from typing import NamedTuple

from orglab.engine.graph.draw.diagram import Diagram, DiagramEdge
from orglab.engine.graph.draw.edge_routing import Point, Route
from orglab.engine.graph.draw.layered_layout import Box, text_width

SHARES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82, 0.1, 0.9)
"""Shares of a link's length at which its label may stand, best first."""
STEP = 6.0
MOST_LINKS = 40
"""With more links than this, labels may stand on other links: looking would take too long."""


class Rectangle(NamedTuple):
    """A place that a label or a role takes."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Rectangle) -> bool:
        """Return whether the two have a point in common."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def holds(self, point: Point) -> bool:
        """Return whether ``point`` lies inside."""
        return self.left < point[0] < self.right and self.top < point[1] < self.bottom


def label_places(
    diagram: Diagram, ways: dict[int, Route], boxes: dict[str, Box]
) -> dict[int, Rectangle]:
    """Return a place for the label of each link that has one, by the link's index.

    Where no place is clear of everything, one that is clear of roles and labels; else the middle.
    """
    taken = [Rectangle(b.x - 2, b.y - 2, b.right + 8, b.bottom + 2) for b in boxes.values()]
    few = len(diagram.edges) <= MOST_LINKS
    traces = {index: list(_trace(way.points)) for index, way in ways.items()} if few else {}
    found: dict[int, Rectangle] = {}
    for index, edge in enumerate(diagram.edges):
        if edge.label:
            others = [trace for other, trace in traces.items() if other != index]
            found[index] = _place(edge, ways[index].points, taken, others)
            taken.append(found[index])
    return found


def _place(
    edge: DiagramEdge,
    points: Sequence[Point],
    taken: list[Rectangle],
    others: list[list[Point]],
) -> Rectangle:
    if edge.source == edge.target:  # too small a loop to write on
        return _beside_loop(edge.label, points)
    places = [_around(edge.label, _along(points, share)) for share in SHARES]
    free = [place for place in places if not any(place.meets(other) for other in taken)]
    for place in free:
        if not any(place.holds(point) for other in others for point in other):
            return place
    return free[0] if free else places[0]


def _beside_loop(label: str, points: Sequence[Point]) -> Rectangle:
    x = (points[0][0] + points[-1][0]) / 2
    farthest = max(points, key=lambda point: abs(point[1] - points[0][1]))[1]
    return _around(label, (x, farthest + (12 if farthest > points[0][1] else -12)))


def _around(label: str, middle: Point) -> Rectangle:
    half = text_width(label, 11.0) / 2 + 4
    return Rectangle(middle[0] - half, middle[1] - 8, middle[0] + half, middle[1] + 8)


def _along(points: Sequence[Point], share: float) -> Point:
    """Return the point at ``share`` of the way's length."""
    left = share * sum(dist(one, other) for one, other in pairwise(points))
    for one, other in pairwise(points):
        length = dist(one, other)
        if length >= left and length:
            return _between(one, other, left / length)
        left -= length
    return points[-1]


def _trace(points: Sequence[Point]) -> Iterator[Point]:
    """Yield points along the way, none farther from the next than a step."""
    for one, other in pairwise(points):
        steps = ceil(dist(one, other) / STEP)
        yield from (_between(one, other, step / steps) for step in range(steps))


def _between(one: Point, other: Point, share: float) -> Point:
    return one[0] + (other[0] - one[0]) * share, one[1] + (other[1] - one[1]) * share
