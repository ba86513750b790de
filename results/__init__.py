"""What runs leave behind, and what is made of it.

``records`` are the types; ``store`` is the study's file; ``tables``, ``usage`` and ``display`` read
it; ``statistics`` are pure functions over tables; ``report`` writes pages. Nothing here runs or
calls anything.
"""

if __name__ == "results":  # a second copy of every class would follow
    raise ImportError("import orglab.results, not results")

__all__: list[str] = []
