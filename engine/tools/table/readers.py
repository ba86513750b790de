"""Reading a file's bytes into rows of cells: every cell in its column, or a fault that names the line."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any

from orglab.engine.tools.bounded_json import to_strict_json
from orglab.engine.tools.file_cache import TableError
from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import spaced

LARGEST_CELL = 131_072  # the csv module's own limit, in characters; process-wide, so left alone
MOST_COLUMNS = 2_000

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SEPARATORS = {";": "`;`", "\t": "a tab", "|": "`|`"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """A table before its columns have types.

    Attributes:
        names: The columns' names, distinct whatever their case.
        cells: Row by row, each as long as ``names``; None where a row is too short or holds null.
        lines: The line of the file at which each row ends, from 1.
        notes: What was changed on the way, in words.
    """

    names: Sequence[str]
    cells: Sequence[Sequence[Any]]
    lines: Sequence[int]
    notes: tuple[str, ...] = ()


def decode(data: bytes, encoding: str | None) -> str:
    """Return the text of ``data``; without ``encoding`` it must be UTF-8, with or without a mark.

    Raises:
        TableError: The bytes are not in this encoding.
    """
    for mark, name in _MARKS if encoding is None else ():
        if data.startswith(mark):
            raise TableError(
                f"not UTF-8, line 1: it begins with the mark of {name}; set `encoding: {name}`"
            )
    try:
        return data.decode(encoding or "utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise TableError(_undecodable(data, encoding, error)) from None


def _undecodable(data: bytes, encoding: str | None, error: UnicodeDecodeError) -> str:
    breaks = len(re.findall(rb"\r\n|\r|\n", data[: error.start]))
    where = f"line {breaks + 1}"
    byte = f"(byte 0x{data[error.start]:02X})"
    if encoding is None:
        return f"not UTF-8, {where} {byte}: set `encoding:`, such as `encoding: latin-1`"
    return f"not {encoding}, {where} {byte}: set another `encoding:`"


def csv_rows(text: str, separator: str | None) -> Rows:
    """Return the rows of CSV ``text``.

    Args:
        text: The file's text.
        separator: The declared separator; None: a comma, unless the header looks otherwise.

    Raises:
        TableError: The text is empty, a row is longer than the header, a quote is left open, or
            the header looks as if another separator were meant.
    """
    lines = _records(text, separator or ",")
    _, header = next(lines, (0, []))
    if not header:
        raise TableError("the file is empty: its first line must name the columns")
    if separator is None:
        _refuse_other_separator(text, len(header))
    names, notes = distinct_names(header)
    return _table_rows(names, lines, notes)


def _records(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield non-empty records, each with the line at which it ends."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        for record in reader:
            if record:
                yield reader.line_num, record
    except csv.Error as error:
        raise TableError(_csv_error_text(str(error), reader.line_num)) from None


def _csv_error_text(said: str, line: int) -> str:
    if "field larger" in said:
        return f"line {line}: a cell longer than {LARGEST_CELL:,} characters; is a quote left open?"
    if "unexpected end" in said:
        return f"line {line}: the file ends inside a quoted cell; close the quote"
    if "expected after" in said:
        return f"line {line}: text after a closing quote; write a quote inside a quoted cell twice"
    return f"line {line}: {said}"


def _refuse_other_separator(text: str, columns: int) -> None:
    """Refuse a header that another separator cuts into more columns."""
    first = text.lstrip("\r\n").splitlines()[0]
    for other, words in _SEPARATORS.items():
        try:
            found = len(next(csv.reader([first], delimiter=other, strict=True)))
        except csv.Error:
            continue  # with this separator the line is no record at all
        if found > columns:
            declared = "\\t" if other == "\t" else other
            raise TableError(
                f'looks like {words} as separator: set `separator: "{declared}"` (and '
                f'`decimal: ","` if numbers have a decimal comma), or `separator: ","` if the '
                "commas are meant"
            )


def distinct_names(header: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return column names that differ whatever their case, and notes on every name that was changed.

    Raises:
        TableError: A name holds a NUL character, or there are too many columns.
    """
    if len(header) > MOST_COLUMNS:
        raise TableError(f"{len(header):,} columns; at most {MOST_COLUMNS:,} can be read")
    taken: set[str] = {name.strip().lower() for name in header}
    seen: set[str] = set()
    names: list[str] = []
    notes: list[str] = []
    for place, written in enumerate(header, 1):
        name, note = _column_name(written, place, seen, taken)
        seen.add(name.lower())
        taken.add(name.lower())
        names.append(name)
        notes += [note] if note else []
    return names, notes


def _column_name(written: str, place: int, seen: set[str], taken: set[str]) -> tuple[str, str]:
    if "\0" in written:
        raise TableError(f"line 1: the name of column {place} holds a NUL character; remove it")
    name = written.strip()
    if not name:
        name = _unused_name(f"column_{place}", "", taken)
        return name, f"column {place} has no name; it is called `{name}` here"
    if name.lower() in seen:
        free = _unused_name(f"{name}_", "2", taken)
        return free, f"column {place} is a second `{name}`; it is called `{free}` here"
    if name != written:
        return name, f"spaces around the name of column {place} (`{name}`) are left out"
    return name, ""


def _unused_name(stem: str, first: str, taken: set[str]) -> str:
    names = (f"{stem}{end}" for end in chain([first], count(2)))
    return next(name for name in names if name.lower() not in taken)


def _table_rows(
    names: list[str], records: Iterator[tuple[int, list[str]]], notes: list[str]
) -> Rows:
    width = len(names)
    cells: list[Sequence[str | None]] = []
    lines: list[int] = []
    short: list[int] = []
    for line, record in records:
        if len(record) > width:
            raise TableError(
                f"line {line}: {len(record)} cells, but the header names {width} columns; is a "
                "cell with the separator in it not quoted?"
            )
        if len(record) < width:
            short.append(line)
            cells.append([*record, *[None] * (width - len(record))])
        else:
            cells.append(record)
        lines.append(line)
    return Rows(names=names, cells=cells, lines=lines, notes=(*notes, *_short_note(short)))


def _short_note(short: Sequence[int]) -> list[str]:
    if not short:
        return []
    shown = ", ".join(str(line) for line in short[:5]) + (", …" if len(short) > 5 else "")
    said = f"{len(short)} rows are shorter than the header (lines {shown})"
    return [f"{said}: their last cells are missing"]


def jsonl_rows(text: str) -> Rows:
    """Return the rows of JSON lines: an object a line, keys become columns, nested values JSON text.

    Raises:
        TableError: A line is no strict JSON object, or repeats a key.
    """
    found = list(json_objects(text))
    if not found:
        raise TableError("the file is empty: each line must be a JSON object")
    keys = list(dict.fromkeys(key for _, one in found for key in one))
    names, notes = distinct_names(keys)
    return Rows(
        names=names,
        cells=[[_json_cell(one.get(key)) for key in keys] for _, one in found],
        lines=[line for line, _ in found],
        notes=tuple(notes),
    )


def json_objects(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the objects of JSON lines, each with its line.

    Raises:
        TableError: A line is no strict JSON object, or repeats a key.
    """
    for line, written in enumerate(text.split("\n"), 1):
        if not written.strip():
            continue
        try:
            value = json.loads(
                written, object_pairs_hook=_refuse_repeated_keys, parse_constant=_refuse_constant
            )
        except (ValueError, RecursionError) as error:
            raise TableError(f"line {line}: not strict JSON: {error}") from None
        if not isinstance(value, dict) or not value:
            raise TableError(f"line {line}: not a JSON object with keys")
        yield line, value


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice in one object")
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _json_cell(value: JSON) -> JSON:
    return spaced(to_strict_json(value)) if isinstance(value, list | dict) else value


def parquet_rows(path: Path) -> Rows:
    """Return the rows of a Parquet file.

    Raises:
        TableError: It is none, or its path reads as a pattern.
    """
    import duckdb  # slow to import: only who reads Parquet waits

    if set(str(path)) & set("*?[{"):
        raise TableError("its path holds one of * ? [ {, which the reader takes for a pattern")
    with duckdb.connect(":memory:") as connection:
        try:
            cursor = connection.execute("SELECT * FROM read_parquet(?)", [str(path)])
            cells = cursor.fetchall()
        except duckdb.Error:
            raise TableError("no Parquet file, or a damaged one") from None
        names, notes = distinct_names([str(one[0]) for one in cursor.description or ()])
    return Rows(
        names=names,
        cells=[[_parquet_cell(one) for one in row] for row in cells],
        lines=range(1, len(cells) + 1),
        notes=tuple(notes),
    )


def _parquet_cell(value: JSON) -> JSON:
    if isinstance(value, bytes):
        return value.hex()
    return _json_cell(value)
