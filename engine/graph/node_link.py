"""A team's graph as JSON of a form of our own, and back.

The form is fixed, unlike networkx's ``node_link_data``, whose key for edges changed::

    {"format": "orglab-graph", "version": 1, "name": …,
     "nodes": [{"name", "replicas", "start", "output", "reviewer", "superior", "vote"?, "team"?}],
     "edges": [{"id", "source", "target", "kind", "closing", "cap", "when", "label", "each"?}]}

A field with ? stands where it has a value: the field that a role votes on, the graph of its team
(``name``, ``nodes``, ``edges``), the list of which a link hands out the items.
"""

from __future__ import annotations

import json
import warnings

import networkx as nx

from orglab.engine.graph.draw.diagram import Diagram, DiagramEdge, DiagramNode
from orglab.engine.spec.model import ForwardLink
from orglab.providers.base import JSON

FORMAT = "orglab-graph"
VERSION = 1


def graph_json(diagram: Diagram) -> str:
    """Return the graph as strict JSON, parts in declared order."""
    whole = {"format": FORMAT, "version": VERSION, **_graph(diagram)}
    # printed on terminals too, which a stranger's control characters must not steer
    return json.dumps(whole, ensure_ascii=True, allow_nan=False, indent=2) + "\n"


def _graph(diagram: Diagram) -> dict[str, JSON]:
    return {
        "name": diagram.name,
        "nodes": [_node(node) for node in diagram.nodes],
        "edges": [_edge(edge) for edge in diagram.edges],
    }


def read_graph_json(text: str) -> nx.MultiDiGraph[str]:
    """Return the graph that ``graph_json`` wrote, every parallel edge kept.

    Nodes and edges carry the fields of the file as attributes; the key of an edge is its ``id``.

    Raises:
        ValueError: The text is not JSON of this format and version, or an edge has an end that
            is no node, or two edges of a pair of nodes have the same id.
    """
    whole = json.loads(text)
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise ValueError(f"no graph of ours: expected an object with `format: {FORMAT}`")
    if whole.get("version") != VERSION:
        raise ValueError(f"graph version {whole.get('version')!r}; this reads version {VERSION}")
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(name=whole.get("name", ""))
    for node in _list(whole, "nodes"):
        graph.add_node(node["name"], **{key: node[key] for key in node if key != "name"})
    for edge in _list(whole, "edges"):
        _add_edge(graph, edge)
    if len(graph) > 1 and not graph.number_of_edges():
        warnings.warn(f"a graph of {len(graph)} roles and no edge", stacklevel=2)
    return graph


def _list(whole: dict[str, JSON], key: str) -> list[dict[str, JSON]]:
    found = whole.get(key)
    if not isinstance(found, list) or not all(isinstance(part, dict) for part in found):
        raise ValueError(f"expected a list of objects under `{key}`")
    return found


def _add_edge(graph: nx.MultiDiGraph[str], edge: dict[str, JSON]) -> None:
    ends = edge.get("source"), edge.get("target")
    if not all(end in graph for end in ends):
        raise ValueError(f"edge {edge.get('id')!r} leads from {ends[0]!r} to {ends[1]!r}")
    source, target = edge["source"], edge["target"]
    if graph.has_edge(source, target, key=edge["id"]):
        raise ValueError(f"two edges {edge['id']!r} from {source!r} to {target!r}")
    fields = {key: edge[key] for key in edge if key not in ("id", "source", "target")}
    graph.add_edge(source, target, key=edge["id"], **fields)


def _node(node: DiagramNode) -> dict[str, JSON]:
    names = ("name", "replicas", "start", "output", "reviewer", "superior")
    known = {name: getattr(node, name) for name in names}
    known |= {"vote": node.vote} if node.vote else {}
    return known | ({"team": _graph(node.team)} if node.team is not None else {})


def _edge(edge: DiagramEdge) -> dict[str, JSON]:
    when = edge.link.when if isinstance(edge.link, ForwardLink) else None
    each = edge.link.each if isinstance(edge.link, ForwardLink) else None
    known = {
        "id": edge.id,
        "source": edge.source,
        "target": edge.target,
        "kind": "authority" if edge.kind == "authority" else "forward",
        "closing": edge.kind == "closing",
        "cap": edge.link.cap,
        "when": when if when is None or isinstance(when, str) else dict(when),
        "label": edge.label,
    }
    return known | ({"each": each} if each is not None else {})
