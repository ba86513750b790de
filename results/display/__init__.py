"""Runs as text for a terminal.

Lists, summaries, transcripts, layout of values. HTML and figures belong to ``results.report``.
"""

__all__: list[str] = []
