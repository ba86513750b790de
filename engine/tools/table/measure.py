"""The tool `measure`: one figure of the table, which is how evidence is computed again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from orglab.engine.tools.bounded_json import tidy
from orglab.engine.tools.table.aggregates import Number, Statistic, finite, mean, median, std, total
from orglab.engine.tools.table.base import WHERE, TableTool, arguments_schema, optional_text, text
from orglab.engine.tools.table.column_types import Column, Value
from orglab.engine.tools.table.correlate import METHODS, correlation, two_columns
from orglab.engine.tools.table.table import Table
from orglab.providers.base import JSON, ToolError

_OF_NUMBERS: Mapping[str, Callable[[Sequence[Number]], Statistic]] = {
    "mean": mean,
    "median": median,
    "std": std,
    "sum": total,
}
_EXTREMES: Mapping[str, Callable[[Sequence[Any]], Any]] = {"max": max, "min": min}

GROUPED = ("count", "max", "mean", "median", "min", "std", "sum")
"""Measures of one column that make sense for each group."""

MEASURES = tuple(sorted((*GROUPED, *METHODS, "distinct", "share")))
"""All measures."""


def measured(measure: str, column: Column | None, cells: Sequence[Value]) -> Statistic:
    """Return one figure of one column's cells, infinite numbers left out; without a column, of rows.

    Args:
        measure: One of ``GROUPED``, or ``distinct``.
        column: The column; None only for ``count``.
        cells: Its cells in the rows that were chosen; without a column, anything as long.

    Raises:
        ToolError: The measure does not suit the column's type.
    """
    if column is None:
        return Statistic(len(cells), len(cells))
    present = [one for one in cells if one is not None]
    if measure == "count":
        return Statistic(len(present), len(present))
    if measure == "distinct":
        return Statistic(len(set(present)), len(present))
    if measure in _EXTREMES and column.type in ("date", "timestamp"):
        return _extreme(measure, present)
    if not column.numeric:
        raise ToolError(f"column `{column.name}` is not numeric, it is {column.type}")
    values, _, infinite = finite(cast("Sequence[Number]", present))
    if infinite and not values:
        return Statistic(None, 0, f"no finite values: {infinite} infinite ones are left out")
    return _extreme(measure, values) if measure in _EXTREMES else _OF_NUMBERS[measure](values)


def _extreme(measure: str, values: Sequence[Any]) -> Statistic:
    if not values:
        return Statistic(None, 0, "no values")
    return Statistic(_EXTREMES[measure](values), len(values))


@dataclass(frozen=True, kw_only=True)
class Measure(TableTool):
    """One figure."""

    description: ClassVar[str] = (
        "One figure: a correlation of two columns; mean, median, sum, std, min, max, count or "
        "distinct of one; count of rows; share = part of rows (0 to 1) for which `where` holds."
    )
    parameters: ClassVar[Mapping[str, JSON]] = arguments_schema(
        ["measure"],
        measure={"enum": list(MEASURES), "description": "Which figure."},
        columns={
            "type": "array",
            "items": {"type": "string"},
            "maxItems": 2,
            "description": "Two for pearson and spearman, none or one for count and share, else one.",
        },
        where=WHERE,
    )

    def compute(self, table: Table, arguments: Mapping[str, JSON]) -> dict[str, Any]:
        """Return the figure, what it rests on, and why there is none."""
        measure = text(arguments, "measure")
        if measure not in MEASURES:
            raise ToolError(f"no measure `{measure}`; measures: {', '.join(MEASURES)}")
        names = _column_names(measure, arguments.get("columns") or [])
        where = optional_text(arguments, "where")
        figure = _measure_value(table, measure, names, where)
        return {"measure": measure, "columns": names} | figure.shown()


def _column_names(measure: str, names: JSON) -> list[str]:
    least, most = (2, 2) if measure in METHODS else (0, 1) if measure in _OF_ROWS else (1, 1)
    if not isinstance(names, list | tuple) or not all(isinstance(one, str) for one in names):
        raise ToolError("`columns` must be a list of column names")
    if not least <= len(names) <= most:
        wanted = {(2, 2): "two columns", (1, 1): "one column"}.get((least, most), "at most one")
        raise ToolError(f"`{measure}` takes {wanted} in `columns`, not {len(names)}")
    return list(names)


_OF_ROWS = frozenset({"count", "share"})


def _measure_value(
    table: Table, measure: str, names: Sequence[str], where: str | None
) -> Statistic:
    if measure == "share":
        return _share_of_rows(table, names, where)
    chosen = table.where(where)
    if measure in METHODS:
        columns = two_columns(table, names[0], names[1])
        xs, ys = (table.values(one, chosen) for one in columns)
        return correlation(measure, columns, xs, ys)[0]
    if not names:
        rows = table.rows if chosen is None else sum(chosen)
        return Statistic(rows, rows)
    column = table.column(names[0])
    return measured(measure, column, table.values(column, chosen))


def _share_of_rows(table: Table, names: Sequence[str], where: str | None) -> Statistic:
    """Return the share of rows, 0 to 1 (with a column: of those that have a value there), where it holds."""
    chosen = table.where(where)
    if chosen is None:
        raise ToolError("`share` needs `where`: the condition whose share of rows is asked")
    if names:
        cells = table.column(names[0]).values
        chosen = [one for one, cell in zip(chosen, cells, strict=True) if cell is not None]
    if not chosen:
        return Statistic(None, 0, "no rows")
    return Statistic(tidy(sum(chosen) / len(chosen)), len(chosen))
