"""The report as one self-contained HTML page; no text of a model is evaluated."""

from __future__ import annotations

import base64
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from orglab.providers.base import JSON
from orglab.providers.terminal_safety import visible
from orglab.results.report.findings import StudyFindings
from orglab.results.report.page import Report
from orglab.results.report.render.blocks import Drawing, FigureBlock

__all__ = ["html_page", "page", "style"]


_TEMPLATES = "orglab.results.report.render.templates"


def html_page(report: Report[StudyFindings], transcripts: list[tuple[str, str]]) -> str:
    """Render a report as one HTML page.

    Args:
        report: The report.
        transcripts: Name and relative address of the transcripts' pages.
    """
    return page("report.html.j2", report=report, transcripts=transcripts)


def page(template: str, **values: JSON) -> str:
    """Render a template; every text is escaped, and hidden characters are shown."""
    ours = Markup(style())  # noqa: S704 - our own style sheet
    return _environment().get_template(template).render(style=ours, **values)


@cache
def style() -> str:
    """Return the style sheet."""
    return resources.files(_TEMPLATES).joinpath("report.css").read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("orglab.results.report.render"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Texts of models are values, never templates: nothing of them is evaluated.
        finalize=_visible_text,
    )
    environment.tests["kind"] = lambda block, name: type(block).__name__ == name
    environment.globals |= {"picture": _picture, "drawing": _drawing}
    return environment


def _visible_text(value: JSON) -> JSON:
    return visible(value) if type(value) is str else value


def _picture(figure: FigureBlock) -> Markup:
    """Return a figure inline, so that it follows the page's colours."""
    return Markup(figure.svg)  # noqa: S704 - drawn by us; its texts were escaped as they were drawn


def _drawing(drawing: Drawing) -> str:
    """Return a drawing from the store as an image's address: an image runs and loads nothing."""
    coded = base64.b64encode(drawing.svg.encode()).decode("ascii")
    return f"data:image/svg+xml;base64,{coded}"
