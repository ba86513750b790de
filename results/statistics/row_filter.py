"""A condition on the columns of a row: ``loops == 0 and status == 'completed'``.

Comparisons ``== = != < <= > >=`` of a column with a number, a quoted text or ``true``/``false``, joined
by ``and``, ``or``, ``not`` and parentheses. It is read by this module alone: nothing of it is run.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from orglab.providers.base import JSON
from orglab.results.statistics.errors import PlanFault

__all__ = ["Condition", "condition"]

Row: TypeAlias = Mapping[str, JSON]
Condition: TypeAlias = Callable[[Row], bool | None]
"""Whether a row meets it; None where a missing value leaves it open."""

_TOKEN = re.compile(
    r"""\s*(?: (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?![\w.])
             | (?P<text>"[^"]*"|'[^']*')
             | (?P<sign>==|!=|<=|>=|<|>|=)
             | (?P<bracket>[()])
             | (?P<name>`[^`]+`|[^\W\d][\w.]*) )""",
    re.VERBOSE,
)
_SIGNS: Mapping[str, Callable[[JSON, JSON], bool]] = {
    "==": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_WORDS = {"and", "or", "not", "true", "false"}
_DEEPEST = 50

Token: TypeAlias = tuple[str, str]


def condition(text: str) -> Condition:
    """Reads a condition.

    Raises:
        PlanFault: It is none; the message shows where.
    """
    reader = _Reader(text)
    found = reader.either(0)
    reader.end()
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(_tokens(text))
        self.at = 0

    def peek(self) -> Token:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")

    def take(self) -> Token:
        token = self.peek()
        self.at += 1
        return token

    def is_word(self, word: str) -> bool:
        kind, text = self.peek()
        return kind == "name" and text.lower() == word

    def fault(self, wanted: str) -> PlanFault:
        found = self.peek()[1] or "the end"
        return PlanFault(f"condition {self.text!r}: expected {wanted}, found {found}")

    def end(self) -> None:
        if self.at < len(self.tokens):
            raise self.fault("the end, `and` or `or`")

    def either(self, depth: int) -> Condition:
        parts = [self.all(depth)]
        while self.is_word("or"):
            self.take()
            parts.append(self.all(depth))
        return parts[0] if len(parts) == 1 else lambda row: _any(part(row) for part in parts)

    def all(self, depth: int) -> Condition:
        parts = [self.one(depth)]
        while self.is_word("and"):
            self.take()
            parts.append(self.one(depth))
        return parts[0] if len(parts) == 1 else lambda row: _all(part(row) for part in parts)

    def one(self, depth: int) -> Condition:
        if depth > _DEEPEST:
            raise PlanFault("condition: nested too deeply")
        if self.is_word("not"):
            self.take()
            inner = self.one(depth + 1)
            return lambda row: _not(inner(row))
        if self.peek() == ("bracket", "("):
            self.take()
            found = self.either(depth + 1)
            if self.peek() != ("bracket", ")"):
                raise self.fault("a closing parenthesis")
            self.take()
            return found
        return self.comparison()

    def comparison(self) -> Condition:
        kind, name = self.peek()
        if kind != "name" or name.lower() in _WORDS:
            raise self.fault("a column")
        self.take()
        if self.peek()[0] != "sign":
            raise self.fault("one of == != < <= > >=")
        sign = self.take()[1]
        return _comparison(name.strip("`"), sign, self.value())

    def value(self) -> JSON:
        kind, text = self.peek()
        if kind == "number":
            self.take()
            return float(text)
        if kind == "text":
            self.take()
            return text[1:-1]
        if kind == "name" and text.lower() in ("true", "false"):
            self.take()
            return text.lower() == "true"
        raise self.fault("a number, a quoted text, true or false")


def _tokens(text: str) -> Iterator[Token]:
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise PlanFault(
                f"condition {text!r}: cannot be read from {text[at:end].strip()[:20]!r} on"
            )
        yield match.lastgroup, match[match.lastgroup]
        at = match.end()


def _comparison(name: str, sign: str, value: JSON) -> Condition:
    compare = _SIGNS[sign]

    def meets(row: Row) -> bool | None:
        if name not in row:
            known = ", ".join(sorted(row))
            raise PlanFault(f"condition: no column {name!r}; there are {known}")
        found = row[name]
        if found is None:
            return None
        if not isinstance(found, str if isinstance(value, str) else int | float):
            kind = type(found).__name__
            raise PlanFault(f"condition: column {name!r} holds {kind}, compared with {value!r}")
        return bool(compare(found, value))

    return meets


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _all(values: Iterator[bool | None]) -> bool | None:
    found = list(values)
    if False in found:
        return False
    return None if None in found else True


def _any(values: Iterator[bool | None]) -> bool | None:
    return _not(_all(_not(value) for value in values))
