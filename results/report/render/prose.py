"""Prose of a report from a text template: one sentence a line, blank lines between paragraphs."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from orglab.providers.base import JSON
from orglab.results import number_format
from orglab.results.usage.cost_text import interrupted_text, uncounted_text

__all__ = ["paragraphs", "sentences", "text_environment"]


def paragraphs(template: str, **values: JSON) -> list[str]:
    """Render a template and return its paragraphs; values are texts, never templates."""
    text = text_environment().get_template(template).render(**values)
    joined = (" ".join(part.split("\n")).strip() for part in text.split("\n\n"))
    return [paragraph for paragraph in joined if paragraph]


def sentences(template: str, **values: JSON) -> list[str]:
    """Render a template and return its lines."""
    text = text_environment().get_template(template).render(**values)
    return [line for line in text.split("\n") if line]


@cache
def text_environment() -> Environment:
    """Return the environment of text templates."""
    environment = Environment(
        loader=PackageLoader("orglab.results.report.render"),
        autoescape=False,  # noqa: S701 - plain text; HTML and Markdown escape it where they show it
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        name: getattr(number_format, name) for name in number_format.__all__
    } | {
        "interrupted_text": interrupted_text,
        "uncounted_text": uncounted_text,
    }
    environment.filters["label"] = number_format.label
    return environment
