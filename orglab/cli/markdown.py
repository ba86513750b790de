"""A comparison of two teams as Markdown."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from typing import Any, TypeAlias

from orglab.engine.study.comparison import Comparison
from orglab.engine.study.diff import ABSENT
from orglab.engine.study.word_diff import word_diff

__all__ = ["markdown_of"]

JSON: TypeAlias = Any


def markdown_of(found: Comparison) -> str:
    """The comparison: a table, the prompts that differ, both graphs."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Comparison) -> Iterator[str]:
    yield f"# {_text(found.left)} and {_text(found.right)}"
    yield ""
    if not found.differences:
        yield "No differences."
        return
    strange = {each.where for each in found.undeclared}
    yield f"| path | class | {_text(found.left)} | {_text(found.right)} |"
    yield "|---|---|---|---|"
    for each in found.differences:
        mark = " **undeclared**" if each.where in strange else ""
        cells = [f"`{each.where}`{mark}", each.kind, _cell(each.left), _cell(each.right)]
        yield f"| {' | '.join(cells)} |"
    for pair in found.prompts:
        yield f"\n## Prompt of {_text(pair.title)}\n"
        yield _words(pair.left, pair.right)
    for name, graph in zip((found.left, found.right), found.graphs, strict=True):
        yield f"\n## Graph of {_text(name)}\n\n```mermaid\n{graph.strip()}\n```"


def _cell(value: JSON) -> str:
    if value is ABSENT:
        return "—"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _text(text)


def _text(text: str) -> str:
    """Text that means nothing to Markdown or HTML."""
    plain = html.escape(text).replace("|", "&#124;").replace("`", "&#96;")
    return plain.replace("\n", "<br>").replace("*", "&#42;").replace("_", "&#95;")


def _words(left: str, right: str) -> str:
    tags = {"left": "del", "right": "ins"}
    parts = (
        f"<{tags[piece.kind]}>{_text(piece.text)}</{tags[piece.kind]}>"
        if piece.kind in tags
        else _text(piece.text)
        for piece in word_diff(left, right)
    )
    return "".join(parts)
