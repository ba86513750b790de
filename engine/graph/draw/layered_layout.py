"""Where the parts of a drawing stand: columns from left to right, rows within, reviewers on top.

The layered drawing of Sugiyama, Tagawa and Toda (1981): roles stand in columns by their longest
way from a start; links that span several columns get a place in each; each column is sorted by the
mean place of its neighbours; then rows move as near to their neighbours as order allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from unicodedata import east_asian_width

import networkx as nx

from orglab.engine.graph.draw.diagram import Diagram, DiagramEdge, DiagramNode

HEIGHT = 48.0
ROW_GAP = 34.0
TRACK_HEIGHT = 10.0
COLUMN_GAP = 72.0
WIDEST_GAP = 260.0
REVIEWER_GAP = 40.0
SWEEPS = 8
MOST_TRACKS = 20_000
"""With more places than this for long links, long links go straight."""


@dataclass(frozen=True, slots=True)
class Box:
    """A role's place: left upper corner and size, in pixels."""

    x: float
    y: float
    width: float
    height: float = HEIGHT

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.y + self.height

    @property
    def middle(self) -> tuple[float, float]:
        """Its centre."""
        return self.x + self.width / 2, self.y + self.height / 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """Places of all roles, before links are routed.

    Attributes:
        boxes: By role; reviewers stand at y = 0 and are moved up by the router.
        column: By role; -1 for reviewers.
        columns: Left and right edge of each column.
        tracks: For each forward edge that spans columns, by its index: its height in each column
            between.
        top: Upper edge of the highest role or long link in a column.
        bottom: Lower edge of the lowest.
    """

    boxes: dict[str, Box]
    column: dict[str, int]
    columns: tuple[tuple[float, float], ...]
    tracks: dict[int, tuple[float, ...]]
    top: float
    bottom: float


@dataclass(eq=False, slots=True)
class _Cell:
    """A role, or the place of a long link, in a column."""

    name: str
    edge: int
    height: float
    before: list[_Cell] = field(default_factory=list)
    after: list[_Cell] = field(default_factory=list)
    place: float = 0.0
    y: float = 0.0


def text_width(text: str, size: float = 13.0) -> float:
    """About how wide ``text`` is, in pixels, in a sans-serif font."""
    return sum(size if east_asian_width(sign) in "WF" else size * 0.58 for sign in text)


def layout_of(diagram: Diagram) -> Layout:
    """Find a place for every role."""
    rank = _ranks(diagram)
    columns, tracks = _cells(diagram, rank)
    _order(columns)
    _settle(columns)
    width = {node.name: _width(node) for node in diagram.nodes}
    widths = [max((width.get(cell.name, 0.0) for cell in column), default=0) for column in columns]
    spans = _spans(widths, _gaps(diagram, rank, len(columns)))
    boxes = {
        cell.name: _box(cell, spans[number], width[cell.name])
        for number, column in enumerate(columns)
        for cell in column
        if cell.name
    }
    boxes |= _reviewer_boxes(diagram, boxes)
    cells = [cell for column in columns for cell in column]
    return Layout(
        boxes=boxes,
        column={node.name: rank.get(node.name, -1) for node in diagram.nodes},
        columns=tuple(spans),
        tracks={edge: tuple(cell.y for cell in cells) for edge, cells in tracks.items()},
        top=min((cell.y - cell.height / 2 for cell in cells), default=0.0),
        bottom=max((cell.y + cell.height / 2 for cell in cells), default=0.0),
    )


# --- columns ------------------------------------------------------------------------------------


def _ranks(diagram: Diagram) -> dict[str, int]:
    """Return the column of each role but reviewers: its longest way from a start."""
    rank = {node.name: 0 for node in diagram.nodes if not node.reviewer}
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(rank)
    graph.add_edges_from((e.source, e.target) for e in diagram.edges if e.kind == "forward")
    for number, names in enumerate(nx.topological_generations(graph)):
        rank.update(dict.fromkeys(names, number))
    for name in rank:
        if graph.out_degree(name) and not graph.in_degree(name):
            # a late start stands beside what it feeds
            rank[name] = min(rank[target] for target in graph.successors(name)) - 1
    return rank


def _cells(
    diagram: Diagram, rank: dict[str, int]
) -> tuple[list[list[_Cell]], dict[int, list[_Cell]]]:
    columns: list[list[_Cell]] = [[] for _ in range(max(rank.values(), default=0) + 1)]
    cells: dict[str, _Cell] = {}
    for name, number in rank.items():
        cells[name] = _Cell(name, -1, HEIGHT)
        columns[number].append(cells[name])
    forward = [(i, edge) for i, edge in enumerate(diagram.edges) if edge.kind == "forward"]
    needed = sum(rank[edge.target] - rank[edge.source] - 1 for _, edge in forward)
    tracks: dict[int, list[_Cell]] = {}
    for index, edge in forward:
        way = [cells[edge.source]]
        if needed <= MOST_TRACKS:
            for number in range(rank[edge.source] + 1, rank[edge.target]):
                way.append(_Cell("", index, TRACK_HEIGHT))
                columns[number].append(way[-1])
        tracks[index] = way[1:]
        for one, other in pairwise([*way, cells[edge.target]]):
            one.after.append(other)
            other.before.append(one)
    return columns, tracks


def _order(columns: list[list[_Cell]]) -> None:
    """Sort each column by the mean place of its neighbours, from both sides in turn."""
    for column in columns:
        _number(column)
    for sweep in range(SWEEPS):
        backwards = sweep % 2 == 1
        for column in reversed(columns) if backwards else columns:
            keys = {id(cell): _mean_place(cell, backwards) for cell in column}
            column.sort(key=lambda cell, keys=keys: keys[id(cell)])  # type: ignore[misc]
            _number(column)


def _number(column: list[_Cell]) -> None:
    for place, cell in enumerate(column):
        cell.place = (place + 0.5) / len(column)


def _mean_place(cell: _Cell, backwards: bool) -> float:
    near = cell.after if backwards else cell.before
    return sum(other.place for other in near) / len(near) if near else cell.place


# --- rows ---------------------------------------------------------------------------------------


def _settle(columns: list[list[_Cell]]) -> None:
    for column in columns:
        _place(column, [0.0] * len(column))
    for sweep in range(SWEEPS):
        for column in reversed(columns) if sweep % 2 else columns:
            _place(column, [_wish(cell, sweep) for cell in column])


def _wish(cell: _Cell, sweep: int) -> float:
    near = (cell.before, cell.after, cell.before + cell.after)[min(sweep % 2 + sweep // 6 * 2, 2)]
    near = near or cell.before + cell.after
    return sum(other.y for other in near) / len(near) if near else cell.y


def _place(column: list[_Cell], wishes: Sequence[float]) -> None:
    for cell, y in zip(
        column, _apart(wishes, [cell.height for cell in column], ROW_GAP), strict=True
    ):
        cell.y = y


def _apart(wishes: Sequence[float], sizes: Sequence[float], gap: float) -> list[float]:
    """Middles nearest to ``wishes`` (least squares) that keep order and ``gap``.

    Isotonic regression by pooling adjacent violators.
    """
    steps = [0.0, *((one + other) / 2 + gap for one, other in pairwise(sizes))]
    offsets = list(accumulate(steps[: len(sizes)]))
    pools: list[tuple[float, int]] = []
    for wish, offset in zip(wishes, offsets, strict=True):
        mean, count = wish - offset, 1
        while pools and pools[-1][0] > mean:
            other, more = pools.pop()
            mean, count = (mean * count + other * more) / (count + more), count + more
        pools.append((mean, count))
    flat = [mean for mean, count in pools for _ in range(count)]
    return [mean + offset for mean, offset in zip(flat, offsets, strict=True)]


# --- widths -------------------------------------------------------------------------------------


def _width(node: DiagramNode) -> float:
    wide = max(text_width(node.title), text_width(node.remark, 11.0))
    return min(max(wide + (48.0 if node.start else 34.0), 104.0), 290.0)


def _gaps(diagram: Diagram, rank: dict[str, int], columns: int) -> list[float]:
    """Return the room after each column: enough for the labels of the links that leave it."""
    gaps = [COLUMN_GAP] * columns
    for edge in diagram.edges:
        if edge.kind == "forward":
            number = rank[edge.source]
            gaps[number] = max(gaps[number], _room(edge))
    return gaps


def _room(edge: DiagramEdge) -> float:
    return min(text_width(edge.label, 11.0) + 56.0, WIDEST_GAP) if edge.label else COLUMN_GAP


def _spans(widths: list[float], gaps: list[float]) -> list[tuple[float, float]]:
    spans: list[tuple[float, float]] = []
    left = 0.0
    for width, gap in zip(widths, gaps, strict=True):
        spans.append((left, left + width))
        left += width + gap
    return spans


def _box(cell: _Cell, span: tuple[float, float], width: float) -> Box:
    return Box((span[0] + span[1] - width) / 2, cell.y - HEIGHT / 2, width)


def _reviewer_boxes(diagram: Diagram, boxes: dict[str, Box]) -> dict[str, Box]:
    """Reviewers stand above the middle of those they review."""
    found: list[tuple[float, DiagramNode]] = []
    for node in diagram.nodes:
        if node.reviewer:
            below = {edge.target for edge in diagram.edges if edge.source == node.name}
            middles = [boxes[name].middle[0] for name in below if name in boxes]
            found.append((sum(middles) / max(len(middles), 1), node))
    found.sort(key=lambda pair: pair[0])
    widths = [_width(node) for _, node in found]
    middles = _apart([x for x, _ in found], widths, REVIEWER_GAP)
    return {
        node.name: Box(x - width / 2, 0.0, width)
        for (_, node), x, width in zip(found, middles, widths, strict=True)
    }
