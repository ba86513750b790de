"""A team in Graphviz's language."""

from __future__ import annotations

from orglab.engine.graph.diagram import Diagram, DiagramEdge, DiagramNode
from orglab.results.plain import visible

__all__ = ["dot_text"]

HEAD = """  rankdir=LR
  node [shape=box, style="rounded,filled", fillcolor=white, color="#334155", fontname="sans-serif"]
  edge [fontname="sans-serif", fontsize=11, color="#334155"]"""


def dot_text(diagram: Diagram) -> str:
    """The graph's source."""
    lines = [f"digraph {_quoted(diagram.name)} {{", HEAD]
    lines += [f"  {_quoted(node.name)} [{_looks(node)}]" for node in diagram.nodes]
    lines += [f"  {_edge(edge)}" for edge in diagram.edges]
    return "\n".join([*lines, "}"]) + "\n"


def _looks(node: DiagramNode) -> str:
    text = f"{node.title}\n{node.remark}" if node.remark else node.title
    looks = [f"label={_quoted(text)}"]
    if node.reviewer:
        looks += ["shape=hexagon", "style=filled", 'fillcolor="#fef3c7"', 'color="#b45309"']
    if node.start:
        looks += ['color="#15803d"', "penwidth=2"]
    if node.output:
        looks += ["peripheries=2", 'fillcolor="#dbeafe"']
    return ", ".join(looks)


def _edge(edge: DiagramEdge) -> str:
    looks = [f"label={_quoted(edge.label)}"] if edge.label else []
    if edge.kind == "authority":
        looks += ["style=dashed", 'color="#b45309"', 'fontcolor="#b45309"', "arrowhead=vee"]
    elif edge.kind == "closing":
        looks += ['color="#0f766e"', 'fontcolor="#0f766e"', "constraint=false"]
    suffix = f" [{', '.join(looks)}]" if looks else ""
    return f"{_quoted(edge.source)} -> {_quoted(edge.target)}{suffix}"


def _quoted(text: str) -> str:
    escaped = visible(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
