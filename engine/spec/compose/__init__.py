"""One document out of several.

``extends``, overrides by path (``--set``), text files, sub-teams, model entries. What a document
may hold is checked in ``engine.spec.validate``.
"""

__all__: list[str] = []
