"""Prose of a report from a text template: one sentence a line, blank lines between paragraphs."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from orglab.providers.base import JSON
from orglab.results.number_format import MINUS, amount, label, name_list, number, percent
from orglab.results.usage.cost_text import interrupted_text, uncounted_text

__all__ = ["paragraphs", "sentences"]


def paragraphs(template: str, **values: JSON) -> list[str]:
    """Render a template and return its paragraphs; values are texts, never templates."""
    text = _environment().get_template(template).render(**values)
    joined = (" ".join(part.split("\n")).strip() for part in text.split("\n\n"))
    return [paragraph for paragraph in joined if paragraph]


def sentences(template: str, **values: JSON) -> list[str]:
    """Render a template and return its lines."""
    text = _environment().get_template(template).render(**values)
    return [line for line in text.split("\n") if line]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("orglab.results.report.render"),
        autoescape=False,  # noqa: S701 - plain text; HTML and Markdown escape it where they show it
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "MINUS": MINUS, "amount": amount, "interrupted_text": interrupted_text,
        "name_list": name_list, "number": number, "percent": percent,
        "uncounted_text": uncounted_text,
    }  # fmt: skip
    environment.filters["label"] = label
    return environment
