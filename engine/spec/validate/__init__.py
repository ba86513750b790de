"""Checks of one document, before there is a graph.

JSON Schema with readable errors, references by name, confinement of paths, secrets, tool sources.
Checks that need links and roles as a graph belong to ``engine.graph.checks``.
"""

__all__: list[str] = []
