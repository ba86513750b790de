"""Semantic checks of specs, one file each.

A check takes a topology or a compiled graph and reports errors or warnings with their path and a
hint. To add a check, add a file here; checks of a single document without its graph belong to
``engine.spec.validate``.
"""

__all__: list[str] = []
