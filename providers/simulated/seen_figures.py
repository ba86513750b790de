"""Figures that tool results hold, each with what it is of and which rows it rests on."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace

from orglab.providers.base import JSON

__all__ = ["Figure", "equals", "figures_in", "quoted"]

_MEASURES: Mapping[str, str] = {
    name: measure
    for measure, names in {
        "pearson": ("pearson",),
        "spearman": ("spearman",),
        "mean": ("mean", "average", "avg"),
        "median": ("median", "p50", "50%"),
        "sum": ("sum", "total"),
        "count": ("count",),
        "min": ("min", "minimum"),
        "max": ("max", "maximum"),
        "std": ("std", "sd", "stddev"),
        "distinct": ("distinct", "unique", "nunique"),
    }.items()
    for name in names
}
_PAIRED = frozenset({"pearson", "spearman"})
_VALUES = frozenset({"value", "r", "correlation", "coefficient"})
_DEPTH = 8
_LONGEST = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """A figure that a tool gave.

    Attributes:
        measure: What was computed.
        columns: Of which columns; none for a count of rows.
        where: The condition that picked the rows, "" for all.
        value: The figure.
    """

    measure: str
    columns: tuple[str, ...]
    where: str
    value: float


def quoted(name: str) -> str:
    """A column's name as a condition or a query spells it."""
    return '"' + name.replace('"', '""') + '"'


def equals(name: str, value: JSON) -> str | None:
    """The condition that a column has a value; None where there is no short way to write it."""
    if isinstance(value, bool):
        return f"{quoted(name)} = {str(value).lower()}"
    if isinstance(value, int | float):
        return f"{quoted(name)} = {value}"
    if isinstance(value, str) and len(value) <= _LONGEST and "\n" not in value:
        return f"{quoted(name)} = '{value.replace(chr(39), chr(39) * 2)}'"
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Scope:
    """What is known of a figure by the place where it stands in a result."""

    columns: tuple[str, ...] = ()
    where: str = ""
    method: str = ""


def figures_in(
    arguments: Mapping[str, JSON], result: JSON, known: Container[str]
) -> Iterator[Figure]:
    """The figures of one tool result.

    Args:
        arguments: What the tool was called with.
        result: What it gave.
        known: The table's columns.
    """
    where = arguments.get("where")
    scope = _Scope(where=where if isinstance(where, str) else "")
    return _walk(result, scope, known, 0)


def _walk(value: JSON, scope: _Scope, known: Container[str], depth: int) -> Iterator[Figure]:
    if depth > _DEPTH or not isinstance(value, dict):
        return
    scope = _narrowed(value, scope, known)
    for key, inner in value.items():
        if isinstance(inner, list):
            for each in inner:
                if (part := _part(value, each, scope)) is not None:
                    yield from _walk(each, part, known, depth + 1)
        elif isinstance(inner, dict):
            yield from _walk(
                inner, replace(scope, columns=(key,)) if key in known else scope, known, depth + 1
            )
        elif (figure := _figure(key, inner, scope)) is not None:
            yield figure


def _narrowed(value: Mapping[str, JSON], scope: _Scope, known: Container[str]) -> _Scope:
    """The scope inside ``value``, which may name its columns and its measure."""
    pair = (value.get("x"), value.get("y"))
    named = pair if pair != (None, None) else (value.get("column", value.get("name")),)
    told = tuple(name for name in named if isinstance(name, str) and name in known)
    columns = told if len(told) == len(named) else scope.columns
    method = value.get("method", value.get("measure"))
    return replace(
        scope, columns=columns, method=method if isinstance(method, str) else scope.method
    )


def _part(value: Mapping[str, JSON], each: JSON, scope: _Scope) -> _Scope | None:
    """The scope of one entry of a list: of all rows, of a group, or of one value of a column."""
    if not isinstance(each, dict):
        return None
    if "group" in each:
        by = value.get("by")
        condition = equals(by, each["group"]) if isinstance(by, str) else None
        columns, method = scope.columns, scope.method
    elif "value" in each and "count" in each:
        condition = equals(scope.columns[0], each["value"]) if len(scope.columns) == 1 else None
        columns, method = (), ""
    else:
        return scope
    if condition is None:
        return None
    where = f"({scope.where}) and {condition}" if scope.where else condition
    return _Scope(columns=columns, where=where, method=method)


def _figure(key: str, value: JSON, scope: _Scope) -> Figure | None:
    measure = _MEASURES.get(scope.method.lower() if key in _VALUES else key)
    if measure is None or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    wanted = (0, 1) if measure == "count" else (2,) if measure in _PAIRED else (1,)
    if len(scope.columns) not in wanted:
        return None
    return Figure(measure=measure, columns=scope.columns, where=scope.where, value=value)
