"""Specs, graphs and runs of teams, and the studies made of them.

Rooms, each importing only from those before it: ``schemas`` and ``spec`` (files to validated
specs), ``tools``, ``graph`` (compile, check, draw), ``prompts`` (data), ``run`` (one run of a
team), ``study`` (many runs). Model calls belong to ``providers``, what a run leaves behind to
``results``.
"""

if __name__ == "engine":  # a second copy of every class would follow
    raise ImportError("import orglab.engine, not engine")

__all__: list[str] = []
