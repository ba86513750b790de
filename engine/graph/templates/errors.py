"""Errors of templates in words that report how to mend them."""

from __future__ import annotations

import re
from typing import NamedTuple

from jinja2 import Environment, TemplateSyntaxError

from orglab.engine.spec.messages import nearest

LITERAL = "write literal braces as {{ '{{' }}, or put the part between {% raw %} and {% endraw %}"
_BLOCKS = frozenset({"call", "filter", "for", "if", "macro", "set", "with"})
_UNCLOSED = (("{{", "}}", "end of print statement"), ("{%", "%}", "end of statement block"))
_TAGS = ("elif", "else", "endfor", "endif", "for", "if", "set", "with", "endwith")


class TemplateIssue(NamedTuple):
    """Why a text is no template.

    Attributes:
        message: What is wrong.
        line: The line within the text, from 1.
        hint: How to mend it.
    """

    message: str
    line: int
    hint: str = LITERAL


def template_issue(
    text: str, error: TemplateSyntaxError, environment: Environment
) -> TemplateIssue:
    """Return what Jinja stumbled over in ``text``."""
    said = (error.message or "no template").rstrip(".")
    for begin, end, expected in _UNCLOSED:
        if expected in said and "end of template" in said:
            hint = f"write `{end}` at its end; or {LITERAL}"
            return TemplateIssue(f"`{begin}` is not closed", error.lineno, hint)
    if "Missing end of comment" in said:
        return TemplateIssue(
            "`{#` is not closed", error.lineno, "write `#}` at the end of the remark"
        )
    if unknown := re.match(r"Encountered unknown tag '(\w+)'", said):
        return _unknown_tag(unknown[1], said, error.lineno)
    if "needs to be closed" in said or said.startswith("Unexpected end of template"):
        return _open_block(text, said, error.lineno, environment)
    return TemplateIssue(said, error.lineno)


def _open_block(text: str, said: str, line: int, environment: Environment) -> TemplateIssue:
    """Return a block without its end, reported where it begins."""
    opened = _open(text, environment)
    if not opened:
        return TemplateIssue(said, line)
    name, where = opened[-1]
    return TemplateIssue(
        f"`{{% {name} … %}}` is not closed", where, f"write `{{% end{name} %}}` where it ends"
    )


def _open(text: str, environment: Environment) -> list[tuple[str, int]]:
    """Block that are begun and not ended, with their lines."""
    found: list[tuple[str, int]] = []
    fresh = False
    try:
        for line, sort, value in environment.lex(text):
            if sort == "block_begin":
                fresh = True
            elif sort == "name" and fresh:
                fresh = False
                if value in _BLOCKS:
                    found.append((value, line))
                elif value.startswith("end") and found:
                    found.pop()
    except TemplateSyntaxError:
        return found
    return found


def _unknown_tag(name: str, said: str, line: int) -> TemplateIssue:
    if inner := re.search(r"innermost block that needs to be closed is '(\w+)'", said):
        opener = inner[1]
        return TemplateIssue(
            f"`{{% {name} %}}` stands where `{{% {opener} … %}}` is open",
            line,
            f"write `{{% end{opener} %}}` before it",
        )
    if name.startswith("end") and name[3:] in _BLOCKS:
        return TemplateIssue(
            f"`{{% {name} %}}` ends nothing",
            line,
            f"remove it, or begin with `{{% {name[3:]} … %}}`",
        )
    if name in ("else", "elif"):
        return TemplateIssue(
            f"`{{% {name} %}}` stands in no `{{% if … %}}`",
            line,
            "remove it, or begin with `{% if … %}`",
        )
    near = nearest(name, _TAGS)
    hint = f"did you mean `{{% {near} … %}}`? Else " if near else ""
    return TemplateIssue(f"there is no tag `{{% {name} %}}`", line, f"{hint}{LITERAL}")
