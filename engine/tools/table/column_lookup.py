"""Finding a column by the name that a model wrote."""

from __future__ import annotations

from collections.abc import Mapping

from orglab.engine.spec.messages import nearest
from orglab.engine.tools.table.column_types import Column
from orglab.providers.base import ToolError

__all__ = ["columns_are", "find_column"]

_SHOWN = 40


def columns_are(columns: Mapping[str, Column]) -> str:
    """Return the columns' names in words."""
    shown = ", ".join(f"`{name}`" for name in list(columns)[:_SHOWN])
    more = len(columns) - _SHOWN
    return f"Columns: {shown}" + (f" and {more} more" if more > 0 else "")


def find_column(columns: Mapping[str, Column], name: str) -> Column:
    """Return the column called ``name``, whatever the case of its letters.

    Raises:
        ToolError: There is none; the text names the nearest and all others.
    """
    if name in columns:
        return columns[name]
    for one in columns.values():  # names differ whatever their case
        if one.name.lower() == name.strip().lower():
            return one
    like = nearest(name, columns)
    hint = f", did you mean `{like}`?" if like else "."
    raise ToolError(f"no column `{name[:80]}`{hint} {columns_are(columns)}")
