"""A comparison of two teams as Markdown."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator

from orglab.engine.study.experiment.comparison import Comparison
from orglab.engine.study.experiment.diff import ABSENT
from orglab.providers.base import JSON
from orglab.providers.terminal_safety import visible
from orglab.results.word_diff import word_diff

__all__ = ["markdown_of"]


_SIGNS = "\\|`*_[]!~$@"
"""What could mean something to Markdown within a line, beside HTML; ``&#;`` are our own."""


def markdown_of(found: Comparison) -> str:
    """Return the comparison: a table, the prompts that differ, both graphs."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Comparison) -> Iterator[str]:
    yield f"# {_escaped(found.left)} and {_escaped(found.right)}"
    yield ""
    for each in found.measured:
        sides = f"{_cell(each.left)} → {_cell(each.right)}"
        yield f"Also measured differently: {_escaped(each.where)}: {sides}\n"
    if not found.differences:
        yield "No differences."
        return
    strange = {each.where for each in found.undeclared}
    yield f"| path | class | {_escaped(found.left)} | {_escaped(found.right)} |"
    yield "|---|---|---|---|"
    for each in found.differences:
        mark = " **undeclared**" if each.where in strange else ""
        cells = [f"{_escaped(each.where)}{mark}", each.kind, _cell(each.left), _cell(each.right)]
        yield f"| {' | '.join(cells)} |"
    for pair in found.prompts:
        yield f"\n## Prompt of {_escaped(pair.title)}\n\n<pre>{_marked_changes(pair.left, pair.right)}</pre>"
    for issue in found.errors:
        yield f"\nNot all prompts could be rendered: {_escaped(issue)}"
    for name, graph in zip((found.left, found.right), found.graphs, strict=True):
        yield f"\n## Graph of {_escaped(name)}\n\n```mermaid\n{graph.strip()}\n```"


def _cell(value: JSON) -> str:
    if value is ABSENT:
        return "—"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _escaped(text)


def _escaped(text: str) -> str:
    """Text on one line that means nothing to Markdown, HTML or a terminal."""
    plain = html.escape(visible(text))
    for sign in _SIGNS:
        plain = plain.replace(sign, f"&#{ord(sign)};")
    return plain.replace("\n", "<br>")


def _marked_changes(left: str, right: str) -> str:
    """Both texts word by word, for a ``<pre>``, in which Markdown means nothing."""
    tags = {"left": "del", "right": "ins"}
    parts = []
    for piece in word_diff(left, right):
        text = html.escape(visible(piece.text))
        tag = tags.get(piece.kind)
        parts.append(f"<{tag}>{text}</{tag}>" if tag else text)
    return "".join(parts)
