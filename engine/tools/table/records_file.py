"""Reading tables whose cells have types of their own: JSON lines and Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb

from orglab.engine.tools.bounded_json import strict
from orglab.engine.tools.table.readers import Rows, TableError, distinct_names
from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import spaced

__all__ = ["json_objects", "jsonl_rows", "parquet_rows"]


def jsonl_rows(text: str) -> Rows:
    """The rows of JSON lines: an object a line, keys become columns, nested values JSON text.

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
        cells=[[_cell(one.get(key)) for key in keys] for _, one in found],
        lines=[line for line, _ in found],
        notes=tuple(notes),
    )


def json_objects(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The objects of JSON lines, each with its line.

    Raises:
        TableError: A line is no strict JSON object, or repeats a key.
    """
    for line, written in enumerate(text.split("\n"), 1):
        if not written.strip():
            continue
        try:
            value = json.loads(written, object_pairs_hook=_no_twins, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise TableError(f"line {line}: not strict JSON: {error}") from None
        if not isinstance(value, dict) or not value:
            raise TableError(f"line {line}: not a JSON object with keys")
        yield line, value


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice in one object")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _cell(value: JSON) -> JSON:
    return spaced(strict(value)) if isinstance(value, list | dict) else value


def parquet_rows(path: Path) -> Rows:
    """The rows of a Parquet file.

    Raises:
        TableError: It is none, or its path reads as a pattern.
    """
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
    return _cell(value)
