"""A study's tables as files: one file a table, rows streamed."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from glob import escape
from pathlib import Path
from typing import Literal, TypeAlias

from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import dumps, escape_surrogates
from orglab.results.store.reader import Reader
from orglab.results.tables.sweep_table import sweep_rows
from orglab.results.tables.tables import TABLES, ExportColumn, rows

Format: TypeAlias = Literal["parquet", "csv", "jsonl"]

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\Z", re.ASCII)
# A spreadsheet runs what begins so; the wide signs count as their narrow ones in some of them.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")  # noqa: RUF001
_LARGEST_ROW = 128 * 1024 * 1024
_TYPES = {
    "text": "VARCHAR",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "boolean": "BOOLEAN",
    "json": "VARCHAR",
}


def export(place: Path, to: Format, out: Path) -> list[Path]:
    """Write every table of a study to files.

    In CSV a text that a spreadsheet would take for a formula gets a leading ``'``; numbers stay as
    they are, and JSONL and Parquet are never changed. In CSV and Parquet, columns of plain data
    hold JSON text.

    Args:
        place: The study's file or folder.
        to: The kind of file.
        out: The folder to write to; it is made. Existing files are replaced.

    Returns:
        The files, one for each of ``tables.TABLES``, and of a sweep ``sweep``: one row a run,
        factors and measures as columns.

    Raises:
        StoreError: There is no study.
        OSError: A file cannot be written.
    """
    write = {"csv": _write_csv, "jsonl": _write_jsonl, "parquet": _write_parquet}[to]
    written = []
    with Reader(place) as reader:
        out.mkdir(parents=True, exist_ok=True)
        for table, columns, found in _tables(reader):
            path = out / f"{table}.{to}"
            part = path.with_name(path.name + ".part")
            part.unlink(missing_ok=True)  # it may be a link, which writing would follow
            try:
                write(part, columns, found)
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)
            written.append(path)
    return written


def _tables(
    reader: Reader,
) -> Iterator[tuple[str, Sequence[ExportColumn], Iterable[Sequence[JSON]]]]:
    for table, columns in TABLES.items():
        yield table, columns, rows(reader, table)
    sweep = sweep_rows(reader)
    if sweep is not None:
        yield "sweep", sweep.columns, sweep.rows


def guarded(text: str) -> str:
    """Return ``text`` as a CSV cell that no spreadsheet runs: formulas get a leading ``'``."""
    if text.startswith(_FORMULA) and not _NUMBER.match(text):
        return "'" + text
    return text


def _write_csv(
    path: Path, columns: Sequence[ExportColumn], found: Iterable[Sequence[JSON]]
) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([column.name for column in columns])
        for row in found:
            cells = zip(row, columns, strict=True)
            writer.writerow([_csv_cell(value, column) for value, column in cells])


def _csv_cell(value: JSON, column: ExportColumn) -> str:
    if column.kind == "json":
        return guarded(dumps(value))
    if value is None:
        return ""
    return guarded(escape_surrogates(value)) if isinstance(value, str) else dumps(value)


def _write_jsonl(
    path: Path, columns: Sequence[ExportColumn], found: Iterable[Sequence[JSON]]
) -> None:
    names = [column.name for column in columns]
    _write_lines(path, (dict(zip(names, row, strict=True)) for row in found))


def _write_lines(path: Path, values: Iterable[JSON]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(dumps(value) + "\n" for value in values)


def _write_parquet(
    path: Path, columns: Sequence[ExportColumn], found: Iterable[Sequence[JSON]]
) -> None:
    import duckdb  # slow to import: only who writes Parquet waits

    lines = path.with_name(path.name + ".jsonl")
    lines.unlink(missing_ok=True)
    try:
        _write_lines(lines, _flat(columns, found))
        types = {column.name: _TYPES[column.kind] for column in columns}
        with duckdb.connect(config={"memory_limit": "1GB", "threads": 1}) as connection:
            source = f"{_quoted(escape(str(lines)))}, format='newline_delimited'"
            how = f"columns={dumps(types)}, maximum_object_size={_LARGEST_ROW}"
            view = f"CREATE VIEW t AS SELECT * FROM read_json({source}, {how})"  # noqa: S608 - quoted
            connection.execute(view)
            connection.execute(f"COPY t TO {_quoted(str(path))} (FORMAT parquet, COMPRESSION zstd)")
    finally:
        lines.unlink(missing_ok=True)


def _flat(columns: Sequence[ExportColumn], found: Iterable[Sequence[JSON]]) -> Iterator[JSON]:
    for row in found:
        cells = zip(row, columns, strict=True)
        yield {
            column.name: dumps(value) if column.kind == "json" else value for value, column in cells
        }


def _quoted(path: str) -> str:
    return "'" + path.replace("'", "''") + "'"
