"""A team as SVG: one file, no script, no font or image from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape

from orglab.engine.graph.draw.diagram import Diagram, DiagramEdge, DiagramNode, EdgeKind
from orglab.engine.graph.draw.edge_routing import Route, routes_of
from orglab.engine.graph.draw.label_placement import Rectangle, label_places
from orglab.engine.graph.draw.layered_layout import Box, layout_of, text_width

MARGIN = 28.0
LEGEND = 30.0
PANEL = 18.0
PANEL_GAP = 34.0
CAPTION = 16.0
COLOURS: dict[EdgeKind, str] = {"forward": "#334155", "closing": "#0f766e", "authority": "#b45309"}
MEANINGS: dict[EdgeKind, str] = {
    "forward": "output goes on",
    "closing": "back, as often as its cap",
    "authority": "reviews; may oblige as often as its cap",
}
STYLE = """text{font-family:system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;fill:#0f172a}
.name{font-size:13px;font-weight:600;text-anchor:middle}
.remark{font-size:11px;fill:#475569;text-anchor:middle}
.label{font-size:11px;text-anchor:middle}
.legend{font-size:11px;fill:#475569}
.edge{fill:none;stroke-width:1.6}"""


def svg_text(diagram: Diagram) -> str:
    """Return the picture's source: the team, and below it each team within."""
    drawing, frame = _drawing(diagram)
    found = _kinds(diagram)
    kinds = [kind for kind in COLOURS if kind in found]
    right = max(frame.right, frame.left + _legend_width(kinds))
    width = right - frame.left + 2 * MARGIN
    height = frame.bottom - frame.top + 2 * MARGIN + (LEGEND if kinds else 0)
    left, top = frame.left - MARGIN, frame.top - MARGIN
    parts = [
        _opening(left, top, width, height),
        f"<title>{_xml(diagram.name)}</title>",
        f"<style>{STYLE}</style>",
        f"<defs>{''.join(_marker(kind) for kind in kinds)}</defs>",
        _paper(left, top, width, height),
        *drawing,
        *_legend(kinds, frame.left, frame.bottom + MARGIN + LEGEND / 2),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _drawing(diagram: Diagram) -> tuple[list[str], Rectangle]:
    """Return the parts of a team's drawing, and the room they take."""
    layout = layout_of(diagram)
    ways, boxes = routes_of(diagram, layout)
    labels = label_places(diagram, ways, boxes)
    frame = _frame(boxes, ways, labels.values())
    parts = [
        *(_edge(edge, ways[index]) for index, edge in enumerate(diagram.edges)),
        *(_node(node, boxes[node.name]) for node in diagram.nodes),
        *(_label(diagram.edges[index], place) for index, place in labels.items()),
    ]
    for node in diagram.nodes:
        if node.team is not None:
            panel, frame = _panel(node, node.team, frame)
            parts += panel
    return parts, frame


def _panel(node: DiagramNode, team: Diagram, above: Rectangle) -> tuple[list[str], Rectangle]:
    """Return a sub-team, drawn below what stands there already; and the room of both."""
    drawing, frame = _drawing(team)
    left, top = above.left, above.bottom + PANEL_GAP
    caption = f"inside {node.name}"
    width = max(frame.right - frame.left, text_width(caption, 11.0)) + 2 * PANEL
    height = frame.bottom - frame.top + 2 * PANEL + CAPTION
    place = f'x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}"'
    shift = f"{left + PANEL - frame.left:.1f},{top + PANEL + CAPTION - frame.top:.1f}"
    parts = [
        f'<rect {place} rx="9" fill="#f8fafc" stroke="#94a3b8" stroke-dasharray="2 3"/>',
        f'<text class="legend" x="{left + 12:.1f}" y="{top + 18:.1f}">{_xml(caption)}</text>',
        f'<g transform="translate({shift})">',
        *drawing,
        "</g>",
    ]
    right, bottom = max(above.right, left + width), top + height
    return parts, Rectangle(above.left, above.top, right, bottom)


def _kinds(diagram: Diagram) -> set[EdgeKind]:
    """Return the kinds of links in a team and the sub-teams it."""
    within = [_kinds(node.team) for node in diagram.nodes if node.team is not None]
    return {edge.kind for edge in diagram.edges}.union(*within)


def _opening(left: float, top: float, width: float, height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left:.1f} {top:.1f} {width:.1f} '
        f'{height:.1f}" width="{width:.0f}" height="{height:.0f}" role="img">'
    )


def _paper(left: float, top: float, width: float, height: float) -> str:
    """Return a light ground, so that the picture can be read on dark pages too."""
    size = f'width="{width:.1f}" height="{height:.1f}"'
    return f'<rect x="{left:.1f}" y="{top:.1f}" {size} fill="#ffffff"/>'


# --- nodes and edges ----------------------------------------------------------------------------


def _node(node: DiagramNode, box: Box) -> str:
    fill = "#fef3c7" if node.reviewer else "#dbeafe" if node.output else "#f8fafc"
    colour = "#b45309" if node.reviewer else "#1d4ed8" if node.output else "#334155"
    colour = "#15803d" if node.start and not node.output else colour
    thick = 2.2 if node.start or node.output else 1.4
    looks = f'fill="{fill}" stroke="{colour}" stroke-width="{thick}"'
    shapes = [_rounded(box, 3.0 * copy, looks) for copy in range(min(node.replicas, 3) - 1, -1, -1)]
    if node.team is not None:
        shapes.append(_rounded(_inset(box), 0.0, f'fill="none" stroke="{colour}"'))
    x, y = box.middle
    title = y + 4.5 if not node.remark else y - 2.5
    x += 5 if node.start else 0
    texts = [f'<text class="name" x="{x:.1f}" y="{title:.1f}">{_xml(_fit(node.title))}</text>']
    if node.remark:
        texts.append(
            f'<text class="remark" x="{x:.1f}" y="{y + 14:.1f}">{_xml(node.remark)}</text>'
        )
    if node.start:
        texts.append(_triangle(box, colour))
    says = f"{node.title} votes on {node.vote}" if node.vote else node.title
    return f"<g><title>{_xml(says)}</title>{''.join(shapes + texts)}</g>"


def _rounded(box: Box, shift: float, looks: str) -> str:
    return (
        f'<rect x="{box.x + shift:.1f}" y="{box.y - shift:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="9" {looks}/>'
    )


def _inset(box: Box) -> Box:
    """Return the second frame of a role that is a team."""
    return Box(box.x + 4, box.y + 4, box.width - 8, box.height - 8)


def _triangle(box: Box, colour: str) -> str:
    x, y = box.x + 7, box.middle[1]
    return f'<path d="M{x:.1f},{y - 5:.1f} l7,5 l-7,5 z" fill="{colour}"/>'


def _fit(text: str) -> str:
    while text_width(text) > 250 and len(text) > 1:
        text = text[:-2] + "…"
    return text


def _edge(edge: DiagramEdge, way: Route) -> str:
    dashes = ' stroke-dasharray="6 4"' if edge.kind == "authority" else ""
    says = f"{edge.id}: {edge.label}" if edge.label else edge.id
    return (
        f'<path class="edge" d="{way.path}" stroke="{COLOURS[edge.kind]}"{dashes} '
        f'marker-end="url(#{edge.kind})"><title>{_xml(says)}</title></path>'
    )


def _marker(kind: EdgeKind) -> str:
    return (
        f'<marker id="{kind}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0,1 L10,5 L0,9 z" fill="{COLOURS[kind]}"/>'
        "</marker>"
    )


# --- labels --------------------------------------------------------------------------------------


def _label(edge: DiagramEdge, place: Rectangle) -> str:
    x, y = (place.left + place.right) / 2, (place.top + place.bottom) / 2 + 4
    colour = COLOURS[edge.kind]
    return (
        f'<rect x="{place.left + 1:.1f}" y="{place.top:.1f}" width="{place.right - place.left - 2:.1f}" '
        f'height="16" rx="3" fill="#ffffff" fill-opacity="0.92"/>'
        f'<text class="label" x="{x:.1f}" y="{y:.1f}" style="fill:{colour}">'
        f"{_xml(edge.label)}</text>"
    )


# --- frame and legend ---------------------------------------------------------------------------


def _frame(boxes: dict[str, Box], ways: dict[int, Route], labels: Iterable[Rectangle]) -> Rectangle:
    corners = [(box.x, box.y - 6) for box in boxes.values()]
    corners += [(box.right + 6, box.bottom) for box in boxes.values()]
    corners += [point for way in ways.values() for point in way.points]
    for label in labels:
        corners += [(label.left, label.top), (label.right, label.bottom)]
    xs, ys = zip(*(corners or [(0.0, 0.0)]), strict=True)
    return Rectangle(min(xs), min(ys), max(xs), max(ys))


def _legend_width(kinds: Iterable[EdgeKind]) -> float:
    return sum(text_width(MEANINGS[kind], 11.0) + 58 for kind in kinds)


def _legend(kinds: Iterable[EdgeKind], x: float, y: float) -> Iterable[str]:
    for kind in kinds:
        dashes = ' stroke-dasharray="6 4"' if kind == "authority" else ""
        yield (
            f'<path class="edge" d="M{x:.1f},{y:.1f} h26" stroke="{COLOURS[kind]}"{dashes} '
            f'marker-end="url(#{kind})"/>'
        )
        yield f'<text class="legend" x="{x + 33:.1f}" y="{y + 4:.1f}">{MEANINGS[kind]}</text>'
        x += text_width(MEANINGS[kind], 11.0) + 58


def _xml(text: str) -> str:
    """Return ``text`` for XML: escaped, and without the control characters that XML cannot hold."""
    kept = "".join(sign for sign in text if sign >= " " and sign not in "\ufffe\uffff\x7f")
    return escape(kept, {'"': "&quot;"})
