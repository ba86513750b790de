"""The report of an experiment, from its store alone: HTML, Markdown, JSON."""

__all__: list[str] = []
