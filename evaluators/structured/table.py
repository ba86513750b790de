"""What evaluators ask of a data table, through the installed table tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from orglab.evaluators.base import JSON, Context, EvaluationError, Output, Score
from orglab.evaluators.structured.field_path import ABSENT, look_up, nearest

_SHOWN = 20


async def table_columns(context: Context, table: Path) -> list[str]:
    """Return the names of the table's columns, in order, from the tool ``get_schema``.

    Raises:
        EvaluationError: The table cannot be read, or has more columns than the tool lists.
    """
    get_schema = context.tool("get_schema", {"file": str(table)})
    result = await get_schema()
    columns = result.get("columns") if isinstance(result, Mapping) else None
    if not isinstance(columns, Sequence) or isinstance(columns, str):
        raise EvaluationError("the tool get_schema gave no list of columns")
    return [str(each["name"]) if isinstance(each, Mapping) else str(each) for each in columns]


def foreign_columns(names: Sequence[str], known: Sequence[str], table: Path) -> str:
    """Return words for the author of an output that names columns which the table has not; "" for none."""
    parts, strange = [], False
    for name in names:
        close = nearest(name, known)
        strange = strange or close is None
        hint = f" (did you mean {close!r}?)" if close else ""
        parts.append(f"{name!r} is no column of {table.name}{hint}")
    if strange:
        more = ", …" if len(known) > _SHOWN else ""
        parts.append(f"its columns are: {', '.join(known[:_SHOWN])}{more}")
    return "; ".join(parts)


def structured(output: Output, field: str) -> JSON:
    """Return what stands in a field of a structured output, or ``ABSENT``.

    Raises:
        EvaluationError: The output is not structured.
    """
    if not isinstance(output.value, Mapping):
        raise EvaluationError(
            f"the output of {output.role!r} is not structured: "
            f"give the role an `output` schema with a field {field!r}"
        )
    return look_up(output.value, field)


def listed(value: JSON, what: str) -> Sequence[JSON]:
    """Return the value as a list.

    Raises:
        EvaluationError: It is absent or no list.
    """
    if value is ABSENT:
        raise EvaluationError(f"the output has no field {what!r}: ask for it in the role's schema")
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise EvaluationError(f"the field {what!r} must hold a list, not {type(value).__name__}")
    return value


def with_least(score: Score, given: int, at_least: int) -> Score:
    """Return a check's score; fewer items than ``at_least`` never pass, none pass with 0."""
    if given >= max(1, at_least):
        return score
    return replace(score, passed=given >= at_least)
