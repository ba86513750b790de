"""From files to a validated topology.

Loading, the model (frozen dataclasses), the canonical form and its hash, errors and their messages.
Strict YAML is in ``yaml``, putting documents together in ``compose``, checks of one document in
``validate``. Checks that need the graph belong to ``engine.graph.checks``.
"""

__all__: list[str] = []
