"""Parts of a condition: their SQL, their kinds, and which of them fit together."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import NamedTuple

from orglab.engine.tools.table.column_types import CellType
from orglab.providers.base import ToolError

__all__ = [
    "FUNCTIONS",
    "Function",
    "Term",
    "alike",
    "calculated",
    "called",
    "comparison",
    "constant_number",
    "constant_text",
    "need_number",
    "negated",
    "truth",
]

_NUMBERS: frozenset[CellType] = frozenset({"integer", "number"})
_MOMENTS: frozenset[CellType] = frozenset({"date", "timestamp"})
_TEXTS: frozenset[CellType] = frozenset({"text"})


class Function(NamedTuple):
    """A function of conditions: the kinds that each argument may have, and what it gives."""

    takes: tuple[frozenset[CellType], ...]
    gives: CellType


FUNCTIONS: dict[str, Function] = {
    **dict.fromkeys(("abs", "ceil", "floor", "round"), Function((_NUMBERS,), "number")),
    **dict.fromkeys(("lower", "upper", "trim"), Function((_TEXTS,), "text")),
    **dict.fromkeys(
        ("contains", "starts_with", "ends_with"), Function((_TEXTS, _TEXTS), "boolean")
    ),
    **dict.fromkeys(
        ("year", "quarter", "month", "week", "day", "dayofweek", "isodow"),
        Function((_MOMENTS,), "integer"),
    ),
    **dict.fromkeys(("hour", "minute", "second"), Function((frozenset({"timestamp"}),), "integer")),
    **dict.fromkeys(("dayname", "monthname"), Function((_MOMENTS,), "text")),
    "length": Function((_TEXTS,), "integer"),
}


class Term(NamedTuple):
    """A part of a condition: its SQL, its kind; ``text``: what a constant text says.

    ``column``: it is a bare column, which may be missing.
    """

    sql: str
    kind: CellType
    name: str
    constant: bool = False
    text: str | None = None
    column: bool = False


def truth(term: Term, what: str) -> Term:
    """``term`` as something true or false; a missing boolean is false.

    Raises:
        ToolError: It is something else; ``what`` tells where it stands.
    """
    if term.kind != "boolean":
        raise ToolError(f"`where`: {what} is not true or false: {term.name} is {term.kind}")
    return comparison(term.sql, term.name) if term.column else term


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def comparison(sql: str, name: str) -> Term:
    """A comparison with a missing value is false."""
    return Term(f"coalesce({sql}, FALSE)", "boolean", name)


def negated(term: Term) -> Term:
    """The plain opposite."""
    return Term(f"(NOT {term.sql})", "boolean", "a condition")


def called(name: str, function: Function, arguments: Sequence[Term]) -> Term:
    """A function's result.

    Raises:
        ToolError: It takes other arguments.
    """
    if len(arguments) != len(function.takes):
        raise ToolError(f"`where`: `{name}` takes {len(function.takes)} argument(s)")
    for one, kinds in zip(arguments, function.takes, strict=True):
        if one.kind not in kinds:
            wanted = " or ".join(sorted(kinds))
            raise ToolError(f"`where`: `{name}` takes a {wanted}; {one.name} is {one.kind}")
    sql = f"{name}({', '.join(one.sql for one in arguments)})"
    if function.gives == "boolean":
        return comparison(sql, f"`{name}(…)`")
    kind = arguments[0].kind if function.takes[0] is _NUMBERS else function.gives
    return Term(sql, kind, f"`{name}(…)`", all(one.constant for one in arguments))


def constant_number(text: str) -> Term:
    """A number as it is written."""
    if text.isdigit() and len(text) <= 38:
        return Term(text, "integer", f"`{text}`", constant=True)
    return Term(f"CAST('{text}' AS DOUBLE)", "number", f"`{text}`", constant=True)


def constant_text(text: str) -> Term:
    """A text."""
    return Term(_literal(text), "text", f"'{text}'", constant=True, text=text)


def need_number(term: Term, sign: str) -> Term:
    """``term``, a number.

    Raises:
        ToolError: It is none; ``sign`` is what needs it.
    """
    if term.kind not in _NUMBERS:
        raise ToolError(f"`where`: `{sign}` needs numbers; {term.name} is {term.kind}")
    return term


def calculated(left: Term, sign: str, right: Term) -> Term:
    """Arithmetic that gives missing, never "not a number", where it has no result.

    Raises:
        ToolError: One side is no number.
    """
    left, right = need_number(left, sign), need_number(right, sign)
    whole = left.kind == right.kind == "integer" and sign != "/"
    divisor = f"nullif({right.sql}, 0)" if sign in "/%" else right.sql
    sql = f"({left.sql} {sign} {divisor})"
    return Term(
        sql if whole else f"nullif(CAST({sql} AS DOUBLE), CAST('nan' AS DOUBLE))",
        "integer" if whole else "number",
        f"`{sign}`",
        left.constant and right.constant,
    )


def alike(left: Term, right: Term) -> tuple[Term, Term]:
    """Both sides of a comparison, a constant text read as a date beside a date.

    Raises:
        ToolError: They cannot be compared.
    """
    left, right = _dated(left, right), _dated(right, left)
    same = left.kind == right.kind or any(
        {left.kind, right.kind} <= family for family in (_NUMBERS, _MOMENTS)
    )
    if not same:
        raise ToolError(
            f"`where`: {_spoken(left)} compared with {_spoken(right)}: {left.name} is "
            f"{left.kind}, {right.name} is {right.kind}"
        )
    return left, right


def _spoken(term: Term) -> str:
    return "number" if term.kind in _NUMBERS else term.kind


def _dated(term: Term, beside: Term) -> Term:
    if term.text is None or beside.kind not in _MOMENTS:
        return term
    try:
        moment = datetime.fromisoformat(term.text)
    except ValueError:
        raise ToolError(
            f"`where`: {beside.name} is a {beside.kind}, but {term.name} is not; write "
            "'2024-01-31' or '2024-01-31 12:00:00'"
        ) from None
    if moment.tzinfo is not None:
        raise ToolError(f"`where`: write {term.name} in UTC, without an offset")
    if len(term.text) == len("2024-01-31"):
        day = date.fromisoformat(term.text)
        return term._replace(sql=f"DATE '{day.isoformat()}'", kind="date")
    return term._replace(sql=f"TIMESTAMP '{moment.isoformat(sep=' ')}'", kind="timestamp")
