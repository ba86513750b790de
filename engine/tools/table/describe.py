"""Tools that show what a table holds: `get_schema`, `describe`, `head`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from orglab.engine.tools.bounded_json import finite_rows
from orglab.engine.tools.table.aggregates import Number, finite, mean, quantile, std
from orglab.engine.tools.table.base import TableTool, arguments_schema, integer, optional_text
from orglab.engine.tools.table.column_types import Column, Value
from orglab.engine.tools.table.table import Table
from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import spaced

_COLUMN: JSON = {"type": "string", "description": "Name of a column. Default: all columns."}


@dataclass(frozen=True, kw_only=True)
class GetSchema(TableTool):
    """Names and types of all columns; names are never cut."""

    description: ClassVar[str] = (
        "The table's number of rows and its columns: name, type, missing values, distinct values, "
        "an example. Only these columns exist."
    )
    parameters: ClassVar[Mapping[str, JSON]] = arguments_schema()

    def compute(self, table: Table, arguments: Mapping[str, JSON]) -> dict[str, Any]:  # noqa: ARG002 - it takes none
        """Return rows, columns, notes."""
        columns = [
            {
                "name": one.name,
                "type": one.type,
                "missing": one.missing,
                "distinct": one.distinct,
                "example": _example(one),
            }
            for one in table.columns.values()
        ]
        return {"rows": table.rows, "columns": columns, "notes": list(table.notes)}

    def fit(self, result: dict[str, JSON]) -> dict[str, JSON]:
        """Keep the name and type of every column where the table is too wide to show in full."""
        if len(spaced(result)) <= self.characters:
            return result
        columns = [{"name": one["name"], "type": one["type"]} for one in result["columns"]]
        left_out = ["details are left out, the table is wide: call `describe` for one column"]
        return {"rows": result["rows"], "columns": columns, "notes": left_out}


def _example(column: Column) -> Value:
    value = next((one for one in column.values if one is not None), None)
    return f"{value[:40]}…" if isinstance(value, str) and len(value) > 40 else value


@dataclass(frozen=True, kw_only=True)
class Describe(TableTool):
    """What the values of columns are like."""

    description: ClassVar[str] = (
        "Summary of one column or of all: n, missing, and by type mean, std (sample), quartiles, "
        "min, max; or the commonest value; or counts of true and false."
    )
    parameters: ClassVar[Mapping[str, JSON]] = arguments_schema(column=_COLUMN)

    def compute(self, table: Table, arguments: Mapping[str, JSON]) -> dict[str, Any]:
        """Return one column's summary, or the list of all."""
        name = optional_text(arguments, "column")
        if name is not None:
            return _kept_summary(table, table.column(name))
        return {"columns": [_kept_summary(table, one) for one in table.columns.values()]}


def _kept_summary(table: Table, column: Column) -> dict[str, Any]:
    return table.once(f"summary of {column.name}", lambda: _summary(column))


def _summary(column: Column) -> dict[str, Any]:
    found = {
        "column": column.name,
        "type": column.type,
        "n": len(column.values) - column.missing,
        "missing": column.missing,
    }
    if column.numeric:
        return found | _of_numbers(column)
    if column.type == "boolean":
        counts = Counter(column.values)
        return found | {"true": counts[True], "false": counts[False]}
    if column.type == "text":
        return found | _of_texts(column)
    present = [one for one in column.values if one is not None]
    earliest, latest = (min(present), max(present)) if present else (None, None)
    return found | {"distinct": column.distinct, "min": earliest, "max": latest}


def _of_numbers(column: Column) -> dict[str, Any]:
    values, _, infinite = finite(cast("tuple[Number | None, ...]", column.values))
    shown: dict[str, Any] = {"n": len(values)} | ({"infinite": infinite} if infinite else {})
    if not values:
        return shown | {"mean": None, "reason": "no finite values"}
    ordered = sorted(values)
    spread = std(values)
    shown |= {"distinct": column.distinct, "mean": mean(values).value, "std": spread.value}
    shown |= {"reason": f"no std: {spread.reason}"} if spread.reason else {}
    quartiles = {"q25": 0.25, "median": 0.5, "q75": 0.75}
    return (
        shown
        | {"min": ordered[0]}
        | {name: quantile(ordered, share) for name, share in quartiles.items()}
        | {"max": ordered[-1]}
    )


def _of_texts(column: Column) -> dict[str, Any]:
    counts = Counter(one for one in column.values if one is not None)
    if not counts:
        return {"distinct": 0}
    top, times = counts.most_common(1)[0]
    return {"distinct": column.distinct, "top": top, "freq": times}


@dataclass(frozen=True, kw_only=True)
class Head(TableTool):
    """The first rows."""

    description: ClassVar[str] = "The first rows of the table, in the order of `columns`."
    parameters: ClassVar[Mapping[str, JSON]] = arguments_schema(
        n={"type": "integer", "minimum": 1, "maximum": 20, "description": "Rows. Default: 5."}
    )

    def compute(self, table: Table, arguments: Mapping[str, JSON]) -> dict[str, Any]:
        """Return columns and the first rows."""
        n = integer(arguments, "n", 5, 20)
        columns = [one.values[:n] for one in table.columns.values()]
        rows, notes = finite_rows(list(table.columns), list(zip(*columns, strict=True)))
        found: dict[str, Any] = {"columns": list(table.columns), "rows": rows, "of": table.rows}
        return found | ({"notes": notes} if notes else {})
