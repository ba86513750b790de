"""The language of `where`: a typed condition on a row, compiled to SQL that only reads.

A missing value equals nothing and is neither greater nor smaller than anything; `not` is plain
negation. So `x > 1`, `x = 1` and `x in (1, 2)` do not hold where x is missing, and `not (x > 1)`,
`x != 1` and `x not in (1, 2)` do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import NamedTuple

from orglab.engine.tools.table.column_types import CellType, Column, columns_are, find_column
from orglab.engine.tools.table.database import quoted
from orglab.providers.base import ToolError
from orglab.results.tables.condition_parser import (
    ConditionError,
    Language,
    Node,
    Operand,
    parse_condition,
)

LONGEST = 1_000

_NUMBERS: frozenset[CellType] = frozenset({"integer", "number"})
_MOMENTS: frozenset[CellType] = frozenset({"date", "timestamp"})
_TEXTS: frozenset[CellType] = frozenset({"text"})
_COMPARISONS = {"=", "!=", "<", "<=", ">", ">="}


class Function(NamedTuple):
    """A function of conditions: the types that each argument may have, and its result's."""

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


class _Term(NamedTuple):
    """A typed part of a condition.

    ``text``: the value of a constant text; ``column``: a bare column, which may be missing.
    """

    sql: str
    kind: CellType
    name: str
    constant: bool = False
    text: str | None = None
    column: bool = False


def condition(where: str, columns: Mapping[str, Column]) -> str:
    """Return ``where`` as an SQL expression that is true or false for every row, never NULL.

    Args:
        where: The condition as a model or an author wrote it.
        columns: The table's columns by name.

    Raises:
        ToolError: It is not a condition on these columns; the text says how to write it.
    """
    if len(where) > LONGEST:
        raise ToolError(f"`where` is too long: {len(where):,} characters, at most {LONGEST:,}")

    def column(name: str, quote: str) -> Operand:
        if quote and name not in columns:
            # in Python and in many a model's SQL, double quotes hold a text
            return Operand("text", name)
        return Operand("column", find_column(columns, name).name)

    try:
        tree = parse_condition(where, Language("`where`", column, FUNCTIONS))
        return _as_truth(_Compiler(columns).term(tree), "the condition").sql
    except ConditionError as error:
        raise ToolError(str(error)) from None
    except RecursionError:
        raise ToolError("`where` is too deep: write it flatter") from None


class _Compiler:
    """Types each node of a condition and writes its SQL."""

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self._columns = columns

    def term(self, node: Node) -> _Term:
        if isinstance(node, Operand):
            return self._operand(node)
        operator, parts = node.operator, [self.term(part) for part in node.parts]
        if operator in ("and", "or"):
            return _conjunction(operator, parts)
        if operator in _COMPARISONS:
            return self._comparison(operator, *parts)
        if operator in FUNCTIONS:
            return _call(operator, FUNCTIONS[operator], parts)
        match operator:
            case "not":
                return _negated(_as_truth(parts[0], "what stands after `not`"))
            case "is null":
                return _Term(f"({parts[0].sql} IS NULL)", "boolean", "a condition")
            case "in":
                return _membership(*parts)
            case "between":
                value = parts[0]
                low, high = (_alike(value, bound)[1].sql for bound in parts[1:])
                return _null_is_false(f"({value.sql} BETWEEN {low} AND {high})")
            case "like" | "ilike":
                return _like(operator, *parts)
        return _arithmetic(operator, parts)

    def _operand(self, operand: Operand) -> _Term:
        value, name = operand.value, f"`{operand.value}`"
        match operand.kind:
            case "column":
                return _Term(quoted(value), self._columns[value].type, name, column=True)
            case "text":
                literal = "'" + value.replace("'", "''") + "'"
                return _Term(literal, "text", f"'{value}'", constant=True, text=value)
            case "boolean":
                return _Term(value, "boolean", name, constant=True)
            case "number" if value.isdigit() and len(value) <= 38:
                return _Term(value, "integer", name, constant=True)
            case "number":
                return _Term(f"CAST('{value}' AS DOUBLE)", "number", name, constant=True)
        raise ToolError("`where`: write `is null` or `is not null` to ask for missing values")

    def _comparison(self, sign: str, left: _Term, right: _Term) -> _Term:
        if left.constant and right.constant:
            raise ToolError(
                f"`where` compares {left.name} with {right.name}: neither is a column. "
                f"{columns_are(self._columns)}"
            )
        left, right = _alike(left, right)
        if left.kind == "boolean" and sign not in ("=", "!="):
            raise ToolError(f"`where`: true and false have no order, `{sign}` cannot be used")
        if sign == "!=":
            return _negated(_null_is_false(f"({left.sql} = {right.sql})"))
        return _null_is_false(f"({left.sql} {sign} {right.sql})")


def _as_truth(term: _Term, place: str) -> _Term:
    """Return ``term`` as a boolean, false where it is missing."""
    if term.kind != "boolean":
        raise ToolError(f"`where`: {place} is not true or false: {term.name} is {term.kind}")
    return _null_is_false(term.sql, term.name) if term.column else term


def _null_is_false(sql: str, name: str = "a condition") -> _Term:
    return _Term(f"coalesce({sql}, FALSE)", "boolean", name)


def _negated(term: _Term) -> _Term:
    return _Term(f"(NOT {term.sql})", "boolean", "a condition")


def _conjunction(word: str, parts: Sequence[_Term]) -> _Term:
    places = ["before", *["after"] * (len(parts) - 1)]
    truths = [
        _as_truth(part, f"what stands {place} `{word}`").sql
        for place, part in zip(places, parts, strict=True)
    ]
    return _Term(f"({f' {word.upper()} '.join(truths)})", "boolean", "a condition")


def _membership(value: _Term, *items: _Term) -> _Term:
    for item in items:
        if not item.constant:
            raise ToolError(f"`where`: a list after `in` holds constants only, not {item.name}")
    return _null_is_false(
        f"({value.sql} IN ({', '.join(_alike(value, item)[1].sql for item in items)}))"
    )


def _like(operator: str, value: _Term, pattern: _Term) -> _Term:
    if value.kind != "text" or pattern.text is None:
        raise ToolError(f"`where`: `{operator}` compares a text column with a text, such as 'A%'")
    return _null_is_false(f"({value.sql} {operator.upper()} {pattern.sql})")


def _call(name: str, function: Function, arguments: Sequence[_Term]) -> _Term:
    if len(arguments) != len(function.takes):
        raise ToolError(f"`where`: `{name}` takes {len(function.takes)} argument(s)")
    for one, kinds in zip(arguments, function.takes, strict=True):
        if one.kind not in kinds:
            wanted = " or ".join(sorted(kinds))
            raise ToolError(f"`where`: `{name}` takes a {wanted}; {one.name} is {one.kind}")
    sql = f"{name}({', '.join(one.sql for one in arguments)})"
    if function.gives == "boolean":
        return _null_is_false(sql, f"`{name}(…)`")
    kind = arguments[0].kind if function.takes[0] is _NUMBERS else function.gives
    return _Term(sql, kind, f"`{name}(…)`", all(one.constant for one in arguments))


def _arithmetic(sign: str, parts: Sequence[_Term]) -> _Term:
    """Return a calculation that is missing, never "not a number", where it has no result."""
    for part in parts:
        if part.kind not in _NUMBERS:
            raise ToolError(f"`where`: `{sign}` needs numbers; {part.name} is {part.kind}")
    if len(parts) == 1:
        return parts[0]._replace(sql=f"({sign}{parts[0].sql})", column=False)
    left, right = parts
    whole = left.kind == right.kind == "integer" and sign != "/"
    divisor = f"nullif({right.sql}, 0)" if sign in "/%" else right.sql
    sql = f"({left.sql} {sign} {divisor})"
    return _Term(
        sql if whole else f"nullif(CAST({sql} AS DOUBLE), CAST('nan' AS DOUBLE))",
        "integer" if whole else "number",
        f"`{sign}`",
        left.constant and right.constant,
    )


def _alike(left: _Term, right: _Term) -> tuple[_Term, _Term]:
    """Return both sides of a comparison, a constant text read as a date beside a date."""
    left, right = _dated(left, right), _dated(right, left)
    same = left.kind == right.kind or any(
        {left.kind, right.kind} <= family for family in (_NUMBERS, _MOMENTS)
    )
    if not same:
        first, second = ("number" if one.kind in _NUMBERS else one.kind for one in (left, right))
        raise ToolError(
            f"`where`: {first} compared with {second}: {left.name} is "
            f"{left.kind}, {right.name} is {right.kind}"
        )
    return left, right


def _dated(term: _Term, beside: _Term) -> _Term:
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
