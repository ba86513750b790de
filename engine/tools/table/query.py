"""The tool `query`: one read-only SELECT on the table, bounded in rows, time and memory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from orglab.engine.tools.bounded_json import finite_rows
from orglab.engine.tools.table.base import TableTool, arguments_schema, text
from orglab.engine.tools.table.sql_guard import guarded
from orglab.engine.tools.table.table import Table
from orglab.providers.base import JSON, ToolError

MOST_ROWS = 10_000
"""Most rows that a spec may let a query return: rows lie outside the database's limit of memory."""

_UNKNOWN_COLUMN = re.compile(
    r'Referenced column "(.+?)" not found|does not have a column named "(.+?)"'
)


@dataclass(frozen=True, kw_only=True)
class Query(TableTool):
    """Read-only SQL.

    Attributes:
        rows: Most rows of a result.
        seconds: Most seconds of a query; then it is interrupted.
    """

    description: ClassVar[str] = (
        "One SQL SELECT (DuckDB dialect) on the table `data`. Text in single quotes, odd column "
        "names in double quotes. Missing values are NULL."
    )
    parameters: ClassVar[Mapping[str, JSON]] = arguments_schema(
        ["sql"],
        sql={
            "type": "string",
            "description": "E.g. SELECT genre, avg(price) FROM data GROUP BY genre LIMIT 10",
        },
    )

    rows: int = 50
    seconds: float = 5.0

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            ValueError: A limit is not above 0.
        """
        TableTool.__post_init__(self)
        if self.rows < 1 or not 0 < self.seconds <= 3600:
            raise ValueError("`rows` must be at least 1, `seconds` above 0 and at most 3600")
        if self.rows > MOST_ROWS:
            raise ValueError(f"`rows` must be at most {MOST_ROWS:,}: they are held in memory")

    def slow(self, table: Table) -> bool:  # noqa: ARG002 - small tables make large joins
        """Return True: a join of a small table with itself can take all the time there is."""
        return True

    def compute(self, table: Table, arguments: Mapping[str, JSON]) -> dict[str, Any]:
        """Return columns and rows; ``truncated`` where there are more rows than shown."""
        database = table.database
        types = {name: column.type for name, column in table.columns.items()}
        sql = guarded(text(arguments, "sql"), database, types)
        try:
            answer = database.ask(sql, self.rows, self.seconds)
        except ToolError as error:
            raise ToolError(_explained(str(error), table)) from None
        rows, notes = finite_rows(answer.columns, answer.rows)
        found: dict[str, Any] = {"columns": answer.columns, "rows": rows, "row_count": len(rows)}
        found |= {"truncated": answer.more}
        return found | ({"notes": notes} if notes else {})


def _explained(said: str, table: Table) -> str:
    """Return the database's error; for an unknown column ours, which names the nearest ones."""
    unknown = _UNKNOWN_COLUMN.search(said)
    name = unknown and (unknown[1] or unknown[2])
    if not name:
        return " ".join(said.split())
    try:
        table.column(name)
    except ToolError as error:
        return f"{error}. Texts are written in single quotes"
    return f"column `{name}` exists in `data`, but not where the query uses it"
