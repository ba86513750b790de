"""The words of a `where`: text cut into tokens, nothing let through that the language has not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from orglab.providers.base import ToolError

__all__ = ["LONGEST", "Token", "tokens"]

LONGEST = 1_000

_Sort: TypeAlias = Literal["number", "text", "name", "quoted", "mark", "end"]

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<number>(?:[0-9]+(?:[.][0-9]*)?|[.][0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.]))
    |(?P<text>'(?:[^']|'')*')
    |(?P<quoted>"(?:[^"]|"")*"|`(?:[^`]|``)*`)
    |(?P<name>[^\W\d]\w*)
    |(?P<mark><=|>=|<>|!=|==|\*\*|//|\|\||&&|[-=<>+*/%(),|&~\[\].])""",
    re.VERBOSE,
)
_HINTS = {
    "**": "powers are not allowed",
    "//": "write `/`",
    "||": "write `or`",
    "&&": "write `and`",
    ";": "one condition only, without `;`",
    "@": "`@` and variables are not allowed",
    "#": "comments are not allowed",
    "'": "the text in single quotes does not end",
    '"': "the quoted name does not end",
    "`": "the quoted name does not end",
    "{": "braces are not allowed",
    "?": "parameters are not allowed",
    "$": "parameters are not allowed",
}


class Token(NamedTuple):
    """One word: ``value`` without quotes; a bare name is as written."""

    sort: _Sort
    value: str


def tokens(where: str) -> list[Token]:
    """The tokens of ``where``, an ``end`` last.

    Raises:
        ToolError: It is empty, too long, or holds what no condition needs.
    """
    if not where.strip():
        raise ToolError("`where` is empty: leave it out to take all rows")
    if len(where) > LONGEST:
        raise ToolError(f"`where` is too long: {len(where):,} characters, at most {LONGEST:,}")
    return [*_cut(where), Token("end", "")]


def _cut(where: str) -> Iterator[Token]:
    place = 0
    while place < len(where):
        found = _TOKEN.match(where, place)
        if found is None or found.group() in _HINTS or "\0" in found.group():
            raise ToolError(_refusal(where, place, found.group() if found else where[place]))
        place = found.end()
        if found.lastgroup != "space":
            yield _token(found.lastgroup or "", found.group())


def _token(sort: str, text: str) -> Token:
    if sort in ("text", "quoted"):
        mark = text[0]
        return Token("text" if sort == "text" else "quoted", text[1:-1].replace(mark * 2, mark))
    return Token(sort, text)  # type: ignore[arg-type]  # the pattern has no other groups


def _refusal(where: str, place: int, text: str) -> str:
    hint = _HINTS.get(text)
    shown = where[place : place + 20]
    return f"`where` cannot be read at `{shown}`" + (f": {hint}" if hint else "")
