"""The report of a sweep.

Analysis, findings, curves and sections.
"""

__all__: list[str] = []
