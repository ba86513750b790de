"""Pictures of a team: SVG, Mermaid, Graphviz.

``diagram`` says what every drawing shows; ``layered_layout``, ``edge_routing`` and
``label_placement`` say where; one file a format. The graph as JSON is ``engine.graph.node_link``.
"""

__all__: list[str] = []
