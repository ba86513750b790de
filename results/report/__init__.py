"""Reports from a study's store: HTML, Markdown, JSON.

What every report shares is here; ``experiment`` and ``sweep`` gather findings and write sections,
``render`` turns blocks into pages and numbers into figures. Statistics belong to
``results.statistics``.
"""

__all__: list[str] = []
