"""The tool `correlate`: Pearson's r or Spearman's rho of two columns, by group if wanted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from orglab.engine.tools.table.aggregates import Number, Statistic, grouped, pearson, spearman
from orglab.engine.tools.table.base import (
    WHERE,
    TableTool,
    arguments_schema,
    numeric,
    optional_text,
    text,
)
from orglab.engine.tools.table.column_types import Column, Value
from orglab.engine.tools.table.table import Table
from orglab.providers.base import JSON, ToolError

METHODS: Mapping[
    str, Callable[[Sequence[Number], Sequence[Number], tuple[str, str]], Statistic]
] = {
    "pearson": pearson,
    "spearman": spearman,
}
_MOST_GROUPS = 30


def two_columns(table: Table, x: str, y: str) -> tuple[Column, Column]:
    """Return two different numeric columns.

    Raises:
        ToolError: One is missing or not numeric, or both are the same.
    """
    found = numeric(table, x), numeric(table, y)
    if found[0] is found[1]:
        raise ToolError(f"`{found[0].name}` with itself: name two different columns")
    return found


def correlation(
    method: str, columns: tuple[Column, Column], xs: Sequence[Value], ys: Sequence[Value]
) -> tuple[Statistic, int]:
    """Return the correlation of two columns' cells, and how many pairs infinity left out.

    Raises:
        ToolError: There is no such method.
    """
    if method not in METHODS:
        raise ToolError(f"no method `{method}`; methods: {', '.join(METHODS)}")
    names = (columns[0].name, columns[1].name)
    cells = cast("Iterable[tuple[Number | None, Number | None]]", zip(xs, ys, strict=True))
    complete = [(x, y) for x, y in cells if x is not None and y is not None]
    kept = [pair for pair in complete if all(map(math.isfinite, pair))]
    figure = METHODS[method]([x for x, _ in kept], [y for _, y in kept], names)
    return figure, len(complete) - len(kept)


def _correlation_result(figure: Statistic, infinite: int) -> dict[str, Any]:
    return figure.shown("r") | ({"infinite": infinite} if infinite else {})


@dataclass(frozen=True, kw_only=True)
class Correlate(TableTool):
    """The correlation of two numeric columns."""

    description: ClassVar[str] = (
        "Correlation r of two numeric columns over the n rows that have both; null with a reason "
        "where a column is constant or n is below 3. With `by`, also for each group."
    )
    parameters: ClassVar[Mapping[str, JSON]] = arguments_schema(
        ["x", "y"],
        x={"type": "string", "description": "Name of a numeric column."},
        y={"type": "string", "description": "Name of another numeric column."},
        method={"enum": list(METHODS), "description": "Default: pearson."},
        by={"type": "string", "description": "Column whose values are groups."},
        where=WHERE,
    )

    def compute(self, table: Table, arguments: Mapping[str, JSON]) -> dict[str, Any]:
        """Return the correlation and n, of all rows and of each group."""
        columns = two_columns(table, text(arguments, "x"), text(arguments, "y"))
        method = optional_text(arguments, "method") or "pearson"
        chosen = table.where(optional_text(arguments, "where"))
        xs, ys = (table.values(one, chosen) for one in columns)
        found: dict[str, Any] = {"x": columns[0].name, "y": columns[1].name, "method": method}
        found |= _correlation_result(*correlation(method, columns, xs, ys))
        by = optional_text(arguments, "by")
        if by is None:
            return found
        keys = table.values(table.column(by), chosen)
        return found | {"by": table.column(by).name} | _by_group(method, columns, keys, xs, ys)


def _by_group(
    method: str,
    columns: tuple[Column, Column],
    keys: Sequence[Value],
    xs: Sequence[Value],
    ys: Sequence[Value],
) -> dict[str, Any]:
    """Return groups with the most pairs first."""
    cells = grouped(keys, zip(xs, ys, strict=True))
    groups = [
        {
            "group": key,
            **_correlation_result(*correlation(method, columns, *zip(*rows, strict=True))),
        }
        for key, rows in cells.items()
    ]
    groups.sort(key=lambda one: -one["n"])
    others = len(groups) - _MOST_GROUPS
    return {"groups": groups[:_MOST_GROUPS]} | ({"others": others} if others > 0 else {})
