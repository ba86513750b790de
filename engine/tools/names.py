"""Finding a column by the name that a model wrote."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from orglab.engine.tools.cells import Column
from orglab.providers.base import ToolError

__all__ = ["columns_are", "find_column", "nearest"]

_SHOWN = 40


def nearest(name: str, known: Mapping[str, object] | list[str]) -> str:
    """The known name most like ``name``, or ""."""
    lowered = {one.lower(): one for one in known}
    close = get_close_matches(name.lower(), lowered, n=1)
    return lowered[close[0]] if close else ""


def columns_are(columns: Mapping[str, Column]) -> str:
    """The columns' names in words."""
    shown = ", ".join(f"`{name}`" for name in list(columns)[:_SHOWN])
    more = len(columns) - _SHOWN
    return f"Columns: {shown}" + (f" and {more} more" if more > 0 else "")


def find_column(columns: Mapping[str, Column], name: str) -> Column:
    """The column called ``name``, whatever the case of its letters.

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
