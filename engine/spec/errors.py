"""Errors of a spec: what is wrong, where, what was expected, how to mend it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

SpecPath: TypeAlias = tuple[str | int, ...]
"""A place in a document: ``("links", 2, "to", 0)``."""


def path_text(path: SpecPath) -> str:
    """Return ``links[2].to[0]``; "" for the whole document."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """An error whose place is not yet looked up in a file.

    Attributes:
        path: Where in the document.
        wrong: What is wrong, with the bad value.
        expected: What was expected, or "".
        hint: How to mend it, or "".
        at_key: The mark of the key is meant, not that of its value.
    """

    path: SpecPath
    wrong: str
    expected: str = ""
    hint: str = ""
    at_key: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class SpecIssue:
    """One error, located. ``str`` gives ``file:line:column path: wrong, expected, hint``.

    Attributes:
        file: The file as the user named it.
        line: From 1; 0 where the error has no line.
        column: From 1.
        problem: What is wrong.
    """

    file: str
    line: int
    column: int
    problem: Problem

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        problem = self.problem
        where = f" {path_text(problem.path)}" if problem.path else ""
        text = "; ".join(part for part in (problem.wrong, problem.expected, problem.hint) if part)
        return f"{place}{where}: {text}"


class SpecError(Exception):
    """Raised when a spec has errors.

    Attributes:
        issues: All of them, in order of place.
    """

    def __init__(self, issues: Sequence[SpecIssue]) -> None:
        super().__init__("\n".join(str(issue) for issue in issues))
        self.issues = tuple(issues)

    @property
    def faults(self) -> tuple[SpecIssue, ...]:
        """``issues`` by the name of earlier versions."""
        return self.issues
