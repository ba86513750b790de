"""A table, loaded once and shared by all runs: typed columns, and a database for conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any

from orglab.engine.tools.file_cache import FileCache, Memo, TableError
from orglab.engine.tools.table.column_types import (
    CellParser,
    CellType,
    Column,
    Value,
    find_column,
    make_column,
    read_text,
    read_value,
)
from orglab.engine.tools.table.database import Database
from orglab.engine.tools.table.readers import (
    Rows,
    csv_rows,
    decode,
    jsonl_rows,
    parquet_rows,
)
from orglab.engine.tools.table.where_filter import condition


@dataclass(frozen=True, kw_only=True, slots=True)
class TableFormat:
    """How a file is written: what its author declares of it.

    Attributes:
        encoding: The text's encoding; None: UTF-8.
        separator: Between cells; None: a comma (a tab in ``.tsv``), refused if it looks otherwise.
        decimal: The decimal mark.
        missing: Texts that mean missing, beside the empty cell.
        columns: Declared types by column name, as sorted pairs.
    """

    encoding: str | None = None
    separator: str | None = None
    decimal: str = "."
    missing: tuple[str, ...] = ()
    columns: tuple[tuple[str, CellType], ...] = ()


class Table(Memo):
    """A table, immutable. ``columns`` are in the file's order, by name."""

    def __init__(self, columns: Sequence[Column], rows: int, notes: Sequence[str]) -> None:
        self.columns: Mapping[str, Column] = {one.name: one for one in columns}
        self.rows = rows
        self.notes = (*notes, *(note for one in columns for note in one.notes))
        super().__init__()

    @property
    def cells(self) -> int:
        """Rows times columns: how large it is."""
        return self.rows * len(self.columns)

    @property
    def filled(self) -> bool:
        """Its database is there already: the first to ask waits until it is filled."""
        return "database" in self._computed

    @property
    def database(self) -> Database:
        """Its database, filled when it is first asked."""
        return self.once("database", lambda: Database(tuple(self.columns.values())))

    def column(self, name: str) -> Column:
        """Return the column called ``name``.

        Raises:
            ToolError: There is none.
        """
        return find_column(self.columns, name)

    def where(self, text: str | None) -> Sequence[bool] | None:
        """Return which rows the condition ``text`` holds for; None: all.

        Raises:
            ToolError: It is no condition on this table.
        """
        if text is None:
            return None
        sql = f"SELECT {condition(text, self.columns)} FROM data"  # noqa: S608 - our own SQL
        return [one[0] for one in self.database.ask(sql).rows]

    def values(self, column: Column, chosen: Iterable[bool] | None) -> Sequence[Value]:
        """Return the cells of ``column`` in the rows that were chosen."""
        return column.values if chosen is None else tuple(compress(column.values, chosen))


_TABLES = FileCache[Table]()


def loaded(path: Path, form: TableFormat) -> Table | None:
    """Return the table if it is in memory and its file has not changed since; else None.

    Raises:
        TableError: The file is not there.
    """
    return _TABLES.loaded(path, form)


def load_table(path: Path, form: TableFormat) -> Table:
    """Return the table in ``path``, an absolute path; read once, however many threads ask.

    Raises:
        TableError: It cannot be read rightly.
    """
    return _TABLES.load(path, lambda: _read_table(path, form), form)


def _read_table(path: Path, form: TableFormat) -> Table:
    return _typed_table(*_file_rows(path, form), form)


def _file_rows(path: Path, form: TableFormat) -> tuple[Rows, CellParser]:
    ending = path.suffix.lower()
    if ending in (".csv", ".tsv"):
        separator = form.separator or ("\t" if ending == ".tsv" else None)
        text = decode(path.read_bytes(), form.encoding)
        return csv_rows(text, separator), read_text(form.decimal, form.missing)
    if ending in (".jsonl", ".ndjson"):
        return jsonl_rows(decode(path.read_bytes(), form.encoding)), read_value
    if ending == ".parquet":
        return parquet_rows(path), read_value
    raise TableError(f"a table is a .csv, .tsv, .jsonl or .parquet file, not `{ending}`")


def _typed_table(rows: Rows, read: CellParser, form: TableFormat) -> Table:
    declared: dict[str, CellType] = dict(form.columns)
    if strange := declared.keys() - set(rows.names):
        raise TableError(
            f"`columns:` declares {', '.join(f'`{one}`' for one in sorted(strange))}, which the "
            f"file has not; it has {', '.join(f'`{one}`' for one in rows.names[:40])}"
        )
    cells: Sequence[Sequence[Any]] = list(zip(*rows.cells, strict=True)) or [() for _ in rows.names]
    columns = [
        make_column(name, column, read, declared=declared.get(name), lines=rows.lines)
        for name, column in zip(rows.names, cells, strict=True)
    ]
    return Table(columns, len(rows.cells), rows.notes)
