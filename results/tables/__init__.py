"""Studies as tidy tables.

Tables of runs, calls, scores and sweeps, and their export to files.
"""

__all__: list[str] = []
