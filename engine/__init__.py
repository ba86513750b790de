"""Specs, graphs, runs, studies: text -> validated spec -> graph -> run."""

if __name__ == "engine":  # a second copy of every class would follow
    raise ImportError("import orglab.engine, not engine")

__all__: list[str] = []
