"""Tools that count and group: `value_counts`, `group_by`, `histogram`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from orglab.engine.tools.table.aggregates import Number, bins, finite, grouped
from orglab.engine.tools.table.base import (
    WHERE,
    TableTool,
    arguments_schema,
    integer,
    numeric,
    optional_text,
    text,
)
from orglab.engine.tools.table.measure import GROUPED, measured
from orglab.engine.tools.table.table import Table
from orglab.providers.base import JSON, ToolError


def _limit_schema(default: int) -> JSON:
    return {
        "type": "integer",
        "minimum": 1,
        "maximum": 100,
        "description": f"Most rows of the result. Default: {default}.",
    }


@dataclass(frozen=True, kw_only=True)
class ValueCounts(TableTool):
    """How often each value of a column occurs."""

    description: ClassVar[str] = (
        "How often each value of a column occurs, commonest first; missing values apart."
    )
    parameters: ClassVar[Mapping[str, JSON]] = arguments_schema(
        ["column"],
        column={"type": "string", "description": "Name of a column."},
        limit=_limit_schema(20),
        where=WHERE,
    )

    def compute(self, table: Table, arguments: Mapping[str, JSON]) -> dict[str, Any]:
        """Return values with their counts, and what the limit leaves out."""
        column = table.column(text(arguments, "column"))
        limit = integer(arguments, "limit", 20, 100)
        cells = table.values(column, table.where(optional_text(arguments, "where")))
        counts = Counter(one for one in cells if one is not None)
        n = sum(counts.values())
        shown = [
            {"value": value, "count": count, "percent": round(100 * count / n, 2)}
            for value, count in counts.most_common(limit)
        ]
        found = {"column": column.name, "n": n, "missing": len(cells) - n}
        found |= {"distinct": len(counts), "values": shown}
        if len(counts) > limit:
            rest = n - sum(count for _, count in counts.most_common(limit))
            found["others"] = {"distinct": len(counts) - limit, "count": rest}
        return found


@dataclass(frozen=True, kw_only=True)
class GroupBy(TableTool):
    """One figure for each group of rows."""

    description: ClassVar[str] = (
        "One figure for each value of a column, largest figure first; rows without a group value "
        "are the group null."
    )
    parameters: ClassVar[Mapping[str, JSON]] = arguments_schema(
        ["by", "measure"],
        by={"type": "string", "description": "Column whose values are the groups."},
        measure={"enum": list(GROUPED), "description": "Figure; `count` needs no column."},
        column={"type": "string", "description": "Column that the figure is of."},
        where=WHERE,
        limit=_limit_schema(20),
    )

    def compute(self, table: Table, arguments: Mapping[str, JSON]) -> dict[str, Any]:
        """Return groups with their figures, and how many the limit leaves out."""
        by = table.column(text(arguments, "by"))
        measure, name = text(arguments, "measure"), optional_text(arguments, "column")
        if measure not in GROUPED:
            raise ToolError(f"no measure `{measure}`; measures: {', '.join(GROUPED)}")
        if name is None and measure != "count":
            raise ToolError(f"`{measure}` needs a `column`, the one that the figure is of")
        limit = integer(arguments, "limit", 20, 100)
        chosen = table.where(optional_text(arguments, "where"))
        keys = table.values(by, chosen)
        column = None if name is None else table.column(name)
        cells = keys if column is None else table.values(column, chosen)
        groups: list[dict[str, Any]] = []
        for key, values in grouped(keys, cells).items():
            groups.append({"group": key} | measured(measure, column, values).shown())
        found: dict[str, Any] = {
            "by": by.name,
            "measure": measure,
            "column": column.name if column else None,
        }
        found |= {"groups": _largest_first(groups)[:limit]}
        return found | ({"others": len(groups) - limit} if len(groups) > limit else {})


def _largest_first(groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort groups: largest value first, equal ones in order of appearance, those without a value last."""
    valued = [one for one in groups if one["value"] is not None]
    valued.sort(key=lambda one: one["value"], reverse=True)
    return valued + [one for one in groups if one["value"] is None]


@dataclass(frozen=True, kw_only=True)
class Histogram(TableTool):
    """Counts of a numeric column in bins of equal width."""

    description: ClassVar[str] = (
        "Counts of a numeric column in bins of equal width; the last bin includes its upper edge."
    )
    parameters: ClassVar[Mapping[str, JSON]] = arguments_schema(
        ["column"],
        column={"type": "string", "description": "Name of a numeric column."},
        bins={"type": "integer", "minimum": 1, "maximum": 50, "description": "Default: 10."},
        where=WHERE,
    )

    def compute(self, table: Table, arguments: Mapping[str, JSON]) -> dict[str, Any]:
        """Return edges (one more than counts) and counts."""
        column = numeric(table, text(arguments, "column"))
        number = integer(arguments, "bins", 10, 50)
        cells = table.values(column, table.where(optional_text(arguments, "where")))
        values, missing, infinite = finite(cast("tuple[Number | None, ...]", cells))
        found = bins(values, number)
        shown = {"column": column.name, "n": len(values), "missing": missing}
        shown |= {"infinite": infinite} if infinite else {}
        return shown | {"edges": found.edges, "counts": found.counts}
