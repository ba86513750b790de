"""Jinja templates and style of report pages (data only).

Rendered by ``results.report.render.html``.
"""

__all__: list[str] = []
