"""A team as a Mermaid flowchart."""

from __future__ import annotations

from collections.abc import Iterator

from orglab.engine.graph.draw.diagram import Diagram, DiagramEdge, DiagramNode

PLAIN = frozenset(" _-.,:·…\N{MULTIPLICATION SIGN}")
MARKED = "stroke:#dc2626,stroke-width:3px"
HEAD = """flowchart LR
  classDef start stroke:#15803d,stroke-width:2px
  classDef answer fill:#dbeafe,stroke:#1d4ed8,stroke-width:2px
  classDef reviewer fill:#fef3c7,stroke:#b45309
  classDef role fill:#ffffff,stroke:#334155"""


def mermaid_text(diagram: Diagram, changed: frozenset[str] = frozenset()) -> str:
    """Return the flowchart's source.

    Nodes are called ``n0``, ``n1``, … in declared order, so that no role's name can be a word of
    the language.

    Args:
        diagram: The team.
        changed: Names of roles and ids of links to mark, as a comparison does.
    """
    ids = _ids(diagram, "n")
    lines = [HEAD, *_parts(diagram, ids)]
    lines += [
        f"  style {ids[node.name]} {MARKED}" for node in diagram.nodes if node.name in changed
    ]
    lines += [
        f"  linkStyle {index} {MARKED}"
        for index, edge in enumerate(diagram.edges)
        if edge.id in changed
    ]
    return "\n".join(lines) + "\n"


def _ids(diagram: Diagram, prefix: str) -> dict[str, str]:
    return {node.name: f"{prefix}{index}" for index, node in enumerate(diagram.nodes)}


def _parts(diagram: Diagram, ids: dict[str, str]) -> Iterator[str]:
    """Yield nodes, edges, and then each team within in a frame of its own."""
    for node in diagram.nodes:
        yield f"  {ids[node.name]}{_shape(node)}"
    for edge in diagram.edges:
        yield f"  {_edge(edge, ids)}"
    for node in diagram.nodes:
        if node.team is not None:
            own = ids[node.name]
            yield f'  subgraph {own}t["inside {_escape(node.name)}"]'
            yield from (f"  {line}" for line in _parts(node.team, _ids(node.team, f"{own}_")))
            yield "  end"
            yield f"  {own} -.- {own}t"


def _shape(node: DiagramNode) -> str:
    text = _escape(node.title)
    if node.remark:
        text += f"<br/><small>{_escape(node.remark)}</small>"
    opening, closing = "[]"
    if node.team is not None:
        opening, closing = "[[", "]]"
    elif node.reviewer:
        opening, closing = "{{", "}}"
    elif node.start:
        opening, closing = "([", "])"
    return f'{opening}"{text}"{closing}:::{_class(node)}'


def _class(node: DiagramNode) -> str:
    if node.output:
        return "answer"
    if node.reviewer:
        return "reviewer"
    return "start" if node.start else "role"


def _edge(edge: DiagramEdge, ids: dict[str, str]) -> str:
    arrow = {"forward": "-->", "closing": "==>", "authority": "-.->"}[edge.kind]
    label = f'|"{_escape(edge.label)}"|' if edge.label else ""
    return f"{ids[edge.source]} {arrow}{label} {ids[edge.target]}"


def _escape(text: str) -> str:
    """Return characters that could mean something to Mermaid or HTML as numbers."""
    return "".join(sign if sign.isalnum() or sign in PLAIN else f"#{ord(sign)};" for sign in text)
