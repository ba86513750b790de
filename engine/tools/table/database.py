"""One table in DuckDB: in memory, shut off from files, network and settings, bounded in time.

Every database has one thread, so that sums come out the same each time, and its own memory limit.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from orglab.engine.tools.table.column_types import CellType, Column
from orglab.providers.base import ToolError

if TYPE_CHECKING:
    import duckdb

SECONDS = 5.0
MEMORY = "256MB"

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",  # else SQL could read our variables by their names
    "temp_directory": "",  # else a full memory would spill into the working directory
    "memory_limit": MEMORY,
    "threads": "1",
    "lock_configuration": "true",
}
_TYPES: dict[CellType, str] = {
    "boolean": "BOOLEAN",
    "date": "DATE",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "text": "VARCHAR",
    "timestamp": "TIMESTAMP",
}
_LARGEST_BIGINT = 2**63 - 1
_CHUNK = 20_000  # rows inserted by one statement


class Answer(NamedTuple):
    """What a statement gave.

    Attributes:
        columns: Names of the result's columns.
        rows: Its rows, as many as were asked for.
        more: There are more rows than that.
    """

    columns: list[str]
    rows: list[tuple[Any, ...]]
    more: bool


def quoted(name: str) -> str:
    """Return ``name`` as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


class Database:
    """The table ``data``, in a database of its own that nothing can change after it is filled."""

    def __init__(self, columns: Sequence[Column]) -> None:
        import duckdb  # slow to import: only a table that is asked needs it

        self._connection = duckdb.connect(":memory:", config=_SETTINGS)
        self._fill(columns)

    def _fill(self, columns: Sequence[Column]) -> None:
        declared = ", ".join(f"{quoted(one.name)} {_sql_type(one)}" for one in columns)
        self._connection.execute(f"CREATE TABLE data ({declared})")
        cells = ", ".join(f"CAST(unnest(?) AS {_sql_type(one)})" for one in columns)
        rows = len(columns[0].values)
        for start in range(0, rows, _CHUNK):
            chunk = [_cell_texts(one, start) for one in columns]
            self._connection.execute(f"INSERT INTO data SELECT {cells}", chunk)

    def statements(self, sql: str) -> list[tuple[str, str]]:
        """Return kind and tree (JSON text, "" where it is no SELECT) of each statement in ``sql``.

        Raises:
            ToolError: It cannot be parsed.
        """
        import duckdb

        cursor = self._connection.cursor()
        try:
            found = cursor.extract_statements(sql)
            return [(one.type.name, self._serialized(cursor, one)) for one in found]
        except duckdb.Error as error:
            raise ToolError(_error_text(error)) from None
        finally:
            cursor.close()

    def _serialized(self, cursor: duckdb.DuckDBPyConnection, statement: duckdb.Statement) -> str:
        if statement.type.name != "SELECT":
            return ""
        row = cursor.execute("SELECT json_serialize_sql(?)", [statement.query]).fetchone()
        return str(row[0]) if row else ""

    def ask(self, sql: str, rows: int | None = None, seconds: float = SECONDS) -> Answer:
        """Return the answer to ``sql``, which the caller has checked to be read-only.

        Args:
            sql: One SELECT.
            rows: The most rows wanted; None: all.
            seconds: After so many seconds it is interrupted.

        Raises:
            ToolError: It was interrupted, or the database refuses it; in its words.
        """
        import duckdb

        cursor = self._connection.cursor()
        timer = threading.Timer(seconds, cursor.interrupt)
        timer.daemon = True
        timer.start()
        try:
            cursor.execute(sql)
            found = cursor.fetchall() if rows is None else cursor.fetchmany(rows + 1)
            names = [str(one[0]) for one in cursor.description or ()]
        except duckdb.InterruptException:
            raise ToolError(f"stopped after {seconds:g} seconds: ask for less") from None
        except duckdb.OutOfMemoryException:
            raise ToolError(f"it needs more than {MEMORY} of memory: ask for less") from None
        except duckdb.Error as error:
            raise ToolError(_error_text(error)) from None
        finally:
            timer.cancel()
            cursor.close()
        return Answer(names, found[:rows], rows is not None and len(found) > rows)


def _sql_type(column: Column) -> str:
    if column.type == "integer" and any(
        isinstance(value, int) and abs(value) > _LARGEST_BIGINT for value in column.values
    ):
        return "HUGEINT"
    return _TYPES[column.type]


def _cell_texts(column: Column, start: int) -> list[str | None]:
    """Return cells as texts that the database casts: each type in one way, every digit kept."""
    return [None if one is None else str(one) for one in column.values[start : start + _CHUNK]]


def _error_text(error: duckdb.Error) -> str:
    """Return the database's message without its drawing of the statement."""
    text = str(error).split("\n\n")[0].strip()
    return text.partition("Error: ")[2] or text
