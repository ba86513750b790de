"""From a topology to a compiled team.

The graph, its order, upper bounds of turns and calls. Semantic checks are in ``checks``, the
authors' Jinja templates in ``templates``, pictures in ``draw``. Nothing here runs a team.
"""

__all__: list[str] = []
