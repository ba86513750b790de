"""The report as one self-contained HTML page; no text of a model is evaluated."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from orglab.providers.base import JSON
from orglab.providers.terminal_safety import visible
from orglab.results import number_format
from orglab.results.report.page import Report, StudyFindings
from orglab.results.report.render.blocks import Drawing, FigureBlock
from orglab.results.usage.spending import interrupted_text, uncounted_text
from orglab.results.word_diff import Piece


def paragraphs(template: str, **values: JSON) -> list[str]:
    """Render a template and return its paragraphs; values are texts, never templates."""
    text = text_environment().get_template(template).render(**values)
    joined = (" ".join(part.split("\n")).strip() for part in text.split("\n\n"))
    return [paragraph for paragraph in joined if paragraph]


def sentences(template: str, **values: JSON) -> list[str]:
    """Render a template and return its lines."""
    text = text_environment().get_template(template).render(**values)
    return [line for line in text.split("\n") if line]


def _templates(*, autoescape: bool) -> Environment:
    return Environment(
        loader=PackageLoader("orglab.results.report.render"),
        autoescape=autoescape,  # noqa: S701 - off for plain text alone
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def text_environment() -> Environment:
    """Return the environment of text templates."""
    environment = _templates(autoescape=False)  # HTML and Markdown escape where they show it
    environment.globals |= {
        name: value for name, value in vars(number_format).items() if not name.startswith("_")
    } | {
        "interrupted_text": interrupted_text,
        "uncounted_text": uncounted_text,
    }
    environment.filters["label"] = number_format.label
    return environment


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
    # Texts of models are values, never templates: nothing of them is evaluated.
    environment = _templates(autoescape=True).overlay(finalize=_visible_text)
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


_MARKS = re.compile(r"([\\`*_{}\[\]#|~$])")
_LINE_START = re.compile(r"^(\s*)([-+=]|\d+[.)])(?=\s|$)", re.MULTILINE)


def escaped(text: str) -> str:
    """Escape a text: no markup, no HTML, no automatic link."""
    safe = visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    safe = _MARKS.sub(r"\\\1", safe).replace("://", ":&#47;/").replace("www.", "www&#46;")
    safe = safe.replace("@", "&#64;")
    return _LINE_START.sub(lambda match: f"{match[1]}{_number_or_sign(match[2])}", safe)


def _number_or_sign(mark: str) -> str:
    return f"\\{mark}" if not mark[0].isdigit() else f"{mark[:-1]}\\{mark[-1]}"


def markdown_page(report: Report[StudyFindings], transcripts: Sequence[tuple[str, str]]) -> str:
    """Render a report as Markdown.

    Args:
        report: The report.
        transcripts: Name and relative address of the transcripts' pages.
    """
    environment = text_environment().overlay()
    environment.filters |= {"line": _one_line, "md": escaped}
    environment.tests["kind"] = lambda block, name: type(block).__name__ == name
    template = environment.get_template("report.md.j2", globals={"comparison": _comparison})
    return template.render(report=report, transcripts=transcripts).rstrip() + "\n"


def _one_line(text: str) -> str:
    return escaped(text).replace("\n", " ")


def _comparison(pieces: Sequence[Piece]) -> str:
    """Render a comparison as a quote; long common stretches are shortened."""
    texts = [_piece(piece) for piece in pieces]
    return "> " + escaped("".join(texts)).replace("\n", "\n> ")


def _piece(piece: Piece) -> str:
    if piece.kind == "same":
        words = piece.text.split()
        return (
            piece.text if len(words) <= 16 else f" {' '.join(words[:8])} … {' '.join(words[-8:])}"
        )
    sign = "−" if piece.kind == "left" else "+"  # noqa: RUF001
    return f" [{sign}{piece.text.strip()}{sign}]"
