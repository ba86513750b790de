"""Records, the store, tables, transcripts and exports."""

if __name__ == "results":  # a second copy of every class would follow
    raise ImportError("import orglab.results, not results")

__all__: list[str] = []
