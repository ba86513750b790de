"""What the parser of YAML stumbled over, in words that report how to mend it.

PyYAML says what it looked for; what an author did is a tab, an indentation that fits nothing, a
quote or a bracket left open, a colon too many or one too few. The text around the place reports which.
"""

from __future__ import annotations

from typing import NamedTuple

import yaml

_QUOTE = 'put the text in quotes: "…"'
_SHOWN = 40


class SyntaxIssue(NamedTuple):
    """An error of syntax.

    Attributes:
        line: From 1.
        column: From 1.
        wrong: What is wrong.
        hint: How to mend it, or "".
    """

    line: int
    column: int
    wrong: str
    hint: str


def syntax_issue(text: str, error: yaml.MarkedYAMLError, depth: int) -> SyntaxIssue:
    """Return the error in ``text`` at which the parser stopped.

    Args:
        text: The document.
        error: What the parser said.
        depth: How deep lists and maps may be nested.
    """
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line, mark.column) if mark else (0, 0)
    words = ", ".join(" ".join(part.split()) for part in (error.problem, error.context) if part)
    lines = text.split("\n")
    shown = lines[line] if line < len(lines) else ""
    issue = _known_mistake(lines, line, column, shown, words, error)
    if issue is None:
        hint = f"nest less than {depth} levels" if "nesting depth" in words else ""
        issue = SyntaxIssue(line, column, words, hint)
    return issue._replace(line=issue.line + 1, column=issue.column + 1)


def _known_mistake(
    lines: list[str], line: int, column: int, shown: str, words: str, error: yaml.MarkedYAMLError
) -> SyntaxIssue | None:
    """Return the error in plain words, its place from 0; None where it is another."""
    if "tab character" in words:
        return _no_beginning(line, max(shown.find("\t"), 0), shown)
    if "cannot start any token" in words:
        return _no_beginning(line, column, shown)
    if "quoted scalar" in words and "end of stream" in words:
        return _open_quote(error)
    if "escape" in words:
        return SyntaxIssue(
            line, column, "a `\\` in double quotes begins a sign that YAML does not know",
            "write `\\\\` for a backslash, or put the text in single quotes",
        )  # fmt: skip
    if "',' or" in words:
        return _open_bracket(line, column, shown, error)
    if "mapping values are not allowed" in words:
        return _colon_too_many(lines, line, column, shown)
    if "could not find expected ':'" in words:
        return _no_colon(lines, line, column, error)
    if "expected key" in words or "expected <block end>" in words or "block collection" in words:
        return _misplaced(lines, line, column, shown)
    return None


def _no_beginning(line: int, column: int, shown: str) -> SyntaxIssue:
    sign = shown[column : column + 1]
    if sign == "\t":
        return SyntaxIssue(
            line, column, "a tab stands where YAML wants spaces", "indent with spaces, not tabs"
        )
    return SyntaxIssue(line, column, f"a text without quotes cannot begin with `{sign}`", _QUOTE)


def _open_quote(error: yaml.MarkedYAMLError) -> SyntaxIssue:
    mark = error.context_mark or error.problem_mark
    line, column = (mark.line, mark.column) if mark else (0, 0)
    return SyntaxIssue(
        line, column, "the quote that opens here is not closed",
        "close it; a quote inside double quotes is written `\\\"`, inside single ones `''`",
    )  # fmt: skip


def _open_bracket(line: int, column: int, shown: str, error: yaml.MarkedYAMLError) -> SyntaxIssue:
    opened = error.context_mark
    sign = "[" if "sequence" in (error.context or "") else "{"
    closing = "]" if sign == "[" else "}"
    where = f" that opens in line {opened.line + 1}, column {opened.column + 1}" if opened else ""
    here = _cut(shown[column:].strip())
    stands = f"`{here}` stands after a whole entry in" if here else "nothing closes"
    return SyntaxIssue(
        line, column, f"{stands} the `{sign}`{where}",
        f"put `,` between entries, close it with `{closing}`, or put a text that holds `: `, `,` or a "
        "bracket in quotes",
    )  # fmt: skip


def _colon_too_many(lines: list[str], line: int, column: int, shown: str) -> SyntaxIssue:
    before = shown[:column]
    if ": " in before.strip():
        return SyntaxIssue(
            line, column, "a second `: ` stands in one line", "put text that holds `: ` in quotes"
        )
    above = _above(lines, line)
    if above is not None and ":" not in lines[above]:
        return _lacks_colon(lines, above)
    return SyntaxIssue(
        line, _indent(shown), "the line is indented more than the one above, which has its value already",
        _indentation(lines, line),
    )  # fmt: skip


def _no_colon(lines: list[str], line: int, column: int, error: yaml.MarkedYAMLError) -> SyntaxIssue:
    mark = error.context_mark
    at = mark.line if mark else line
    return (
        _lacks_colon(lines, at)
        if at < len(lines)
        else SyntaxIssue(line, column, "a key has no colon", "")
    )


def _lacks_colon(lines: list[str], line: int) -> SyntaxIssue:
    key = lines[line].strip()
    name = _cut(key.split(" ")[0])
    return SyntaxIssue(
        line, _indent(lines[line]), f"`{_cut(key)}` has no colon, so it is no key",
        f"write `{name}:` and its value after it",
    )  # fmt: skip


def _misplaced(lines: list[str], line: int, column: int, shown: str) -> SyntaxIssue:
    if column > _indent(shown):
        here = _cut(shown[column:].strip())
        return SyntaxIssue(
            line, column, f"`{here}` stands after a whole value",
            "put the whole text in quotes, or begin a new line",
        )  # fmt: skip
    spaces = _indent(shown)
    fits = _open_indents(lines, line)
    if shown.lstrip().startswith("- ") and spaces in fits:
        return SyntaxIssue(
            line, column, "a list item (`- `) stands between the keys of a map",
            "indent it under the key that it belongs to, or write it as a key",
        )  # fmt: skip
    return SyntaxIssue(
        line, column, f"the line begins after {_spaces(spaces)}, and no line above it that is still "
        "open begins there",
        _indentation(lines, line),
    )  # fmt: skip


def _indentation(lines: list[str], line: int) -> str:
    fits = _open_indents(lines, line)
    if not fits:
        return "mend the indentation"
    places = " or ".join(str(each) for each in fits)
    return f"give it the indentation of the lines it belongs beside: {places} spaces"


def _open_indents(lines: list[str], line: int) -> list[int]:
    """Return the indentations of the lines above that are still open, the deepest first."""
    found: list[int] = []
    for text in reversed(lines[:line]):
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        spaces = _indent(text)
        if not found or spaces < found[-1]:
            found.append(spaces)
        if spaces == 0:
            break
    return found


def _above(lines: list[str], line: int) -> int | None:
    """Return the last line above that holds something."""
    full = (at for at in range(line - 1, -1, -1) if lines[at].strip())
    return next((at for at in full if not lines[at].lstrip().startswith("#")), None)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


def _spaces(count: int) -> str:
    return {0: "no space", 1: "1 space"}.get(count, f"{count} spaces")


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
