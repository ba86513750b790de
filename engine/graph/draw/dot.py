"""A team as Graphviz DOT."""

from __future__ import annotations

from collections.abc import Iterator

from orglab.engine.graph.draw.diagram import Diagram, DiagramEdge, DiagramNode
from orglab.providers.terminal_safety import visible

HEAD = """  rankdir=LR
  node [shape=box, style="rounded,filled", fillcolor=white, color="#334155", fontname="sans-serif"]
  edge [fontname="sans-serif", fontsize=11, color="#334155"]"""


def dot_text(diagram: Diagram) -> str:
    """Return the graph's source."""
    lines = [f"digraph {_quoted(diagram.name)} {{", HEAD, *_parts(diagram, "")]
    return "\n".join([*lines, "}"]) + "\n"


def _parts(diagram: Diagram, around: str) -> Iterator[str]:
    """Yield nodes and edges, then each team within as a cluster; ``around`` stands before all names."""
    for node in diagram.nodes:
        yield f"  {_quoted(around + node.name)} [{_looks(node)}]"
    for edge in diagram.edges:
        yield f"  {_edge(edge, around)}"
    for node in diagram.nodes:
        if node.team is not None:
            own = around + node.name
            yield f"  subgraph {_quoted(f'cluster {own}')} {{"
            yield f"    label={_quoted(f'inside {node.name}')}; style=dashed; fontsize=11"
            yield from (f"  {line}" for line in _parts(node.team, f"{own}/"))
            yield "  }"


def _looks(node: DiagramNode) -> str:
    text = f"{node.title}\n{node.remark}" if node.remark else node.title
    looks = [f"label={_quoted(text)}"]
    if node.reviewer:
        looks += ["shape=hexagon", "style=filled", 'fillcolor="#fef3c7"', 'color="#b45309"']
    if node.team is not None:
        looks += ["shape=box3d", "style=filled"]
    if node.start:
        looks += ['color="#15803d"', "penwidth=2"]
    if node.output:
        looks += ["peripheries=2", 'fillcolor="#dbeafe"']
    return ", ".join(looks)


def _edge(edge: DiagramEdge, around: str) -> str:
    looks = [f"label={_quoted(edge.label)}"] if edge.label else []
    if edge.kind == "authority":
        looks += ["style=dashed", 'color="#b45309"', 'fontcolor="#b45309"', "arrowhead=vee"]
    elif edge.kind == "closing":
        looks += ['color="#0f766e"', 'fontcolor="#0f766e"', "constraint=false"]
    suffix = f" [{', '.join(looks)}]" if looks else ""
    return f"{_quoted(around + edge.source)} -> {_quoted(around + edge.target)}{suffix}"


def _quoted(text: str) -> str:
    escaped = visible(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
