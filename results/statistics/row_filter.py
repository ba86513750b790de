"""A condition on the columns of a row: ``loops == 0 and status == 'completed'``.

Comparisons of a column with a number, a quoted text or ``true``/``false``, joined by ``and``, ``or``,
``not`` and parentheses.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from orglab.providers.base import JSON
from orglab.results.statistics.errors import PlanError
from orglab.results.tables.condition_parser import (
    ConditionError,
    Language,
    Node,
    Operand,
    parse_condition,
)

Row: TypeAlias = Mapping[str, JSON]
Condition: TypeAlias = Callable[[Row], bool | None]
"""Whether a row meets it; None where a missing value leaves it open."""

_COMPARISONS: Mapping[str, Callable[[JSON, JSON], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def condition(text: str) -> Condition:
    """Return the test of rows that ``text`` describes.

    Raises:
        PlanError: It is not a condition; the message says where.
    """
    return _row_test(_parsed(text), f"condition {text!r}")


def condition_columns(text: str) -> list[str]:
    """Return the columns that a condition compares.

    Raises:
        PlanError: It is not a condition.
    """
    condition(text)
    return list(dict.fromkeys(_columns(_parsed(text))))


def _columns(node: Node) -> Iterator[str]:
    if isinstance(node, Operand):
        if node.kind == "column":
            yield node.value
        return
    for part in node.parts:
        yield from _columns(part)


def _parsed(text: str) -> Node:
    subject = f"condition {text!r}"
    language = Language(
        subject,
        # double quotes hold a text, as in Python
        lambda name, quote: Operand("text" if quote == '"' else "column", name),
        dotted=True,
    )
    try:
        return parse_condition(text, language)
    except ConditionError as error:
        raise PlanError(str(error)) from None


def _row_test(node: Node, subject: str) -> Condition:
    if isinstance(node, Operand):
        raise PlanError(
            f"{subject}: `{node.value}` is not a comparison; expected one of == != < <= > >="
        )
    if node.operator in _COMPARISONS:
        return _comparison(node.operator, node.parts, subject)
    if node.operator not in ("and", "or", "not"):
        raise PlanError(
            f"{subject}: `{node.operator}` is not allowed; expected one of == != < <= > >="
        )
    tests = [_row_test(part, subject) for part in node.parts]
    if node.operator == "not":
        return lambda row: _negated(tests[0](row))
    if node.operator == "and":
        return lambda row: _all([test(row) for test in tests])
    return lambda row: _negated(_all([_negated(test(row)) for test in tests]))


def _comparison(sign: str, parts: tuple[Node, ...], subject: str) -> Condition:
    column, other = parts
    if not isinstance(column, Operand) or column.kind != "column":
        raise PlanError(f"{subject}: expected a column before `{sign}`")
    value = _constant(other, subject)
    compare = _COMPARISONS[sign]
    name = column.value

    def meets(row: Row) -> bool | None:
        if name not in row:
            known = ", ".join(sorted(row))
            raise PlanError(f"condition: no column {name!r}; there are {known}")
        found = row[name]
        if found is None:
            return None
        if not isinstance(found, str if isinstance(value, str) else int | float):
            kind = type(found).__name__
            raise PlanError(f"condition: column {name!r} holds {kind}, compared with {value!r}")
        return bool(compare(found, value))

    return meets


def _constant(node: Node, subject: str) -> JSON:
    if isinstance(node, Operand) and node.kind == "number":
        return float(node.value)
    if isinstance(node, Operand) and node.kind in ("text", "boolean"):
        return node.value if node.kind == "text" else node.value == "true"
    if isinstance(node, Operand):
        shown = node.value
    elif node.operator in "+-" and len(node.parts) == 1:
        value = _constant(node.parts[0], subject)
        if isinstance(value, float):
            return -value if node.operator == "-" else value
        shown = node.operator
    else:
        shown = node.operator
    raise PlanError(f"{subject}: expected a number, a quoted text, true or false, found {shown}")


def _negated(value: bool | None) -> bool | None:
    return None if value is None else not value


def _all(values: list[bool | None]) -> bool | None:
    if False in values:
        return False
    return None if None in values else True
