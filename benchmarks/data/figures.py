"""Figures of a table, computed with the standard library: what the answer key holds.

A table is read into SQLite, so a ``where`` is the same SQL condition that the study's tools and
checks read; ``hour`` and ``dayofweek`` (Sunday is 0) are added, as DuckDB has them.
"""

from __future__ import annotations

import csv
import math
import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

Cell = str | float | None


def number(text: str) -> float | None:
    """The number that a cell holds, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def column_cells(texts: Sequence[str]) -> list[Cell]:
    """A column's cells: numbers where every cell that isn't blank is one; blank ones are None."""
    filled = [text for text in texts if text]
    if filled and all(number(text) is not None for text in filled):
        return [number(text) if text else None for text in texts]
    return [text or None for text in texts]


def quoted(name: str) -> str:
    """A column's name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def open_table(path: Path) -> sqlite3.Connection:
    """The CSV file as the table ``data`` of a database in memory."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file))
    columns = [column_cells(column) for column in zip(*rows, strict=True)]
    database = sqlite3.connect(":memory:")
    database.create_function("hour", 1, lambda t: datetime.fromisoformat(t).hour)
    database.create_function("dayofweek", 1, lambda t: datetime.fromisoformat(t).isoweekday() % 7)
    database.execute(f"CREATE TABLE data ({', '.join(map(quoted, header))})")
    marks = ", ".join("?" * len(header))
    database.executemany(f"INSERT INTO data VALUES ({marks})", zip(*columns, strict=True))
    return database


def pearson(x: Sequence[float], y: Sequence[float]) -> float:
    """The product-moment correlation."""
    mx, my = math.fsum(x) / len(x), math.fsum(y) / len(y)
    dx, dy = [a - mx for a in x], [b - my for b in y]
    top = math.fsum(a * b for a, b in zip(dx, dy, strict=True))
    return top / math.sqrt(math.fsum(a * a for a in dx) * math.fsum(b * b for b in dy))


def ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    result = [0.0] * len(values)
    start = 0
    while start < len(order):
        stop = start
        while stop < len(order) and values[order[stop]] == values[order[start]]:
            stop += 1
        for place in order[start:stop]:
            result[place] = (start + stop + 1) / 2
        start = stop
    return result


def spearman(x: Sequence[float], y: Sequence[float]) -> float:
    """Spearman's rank correlation."""
    return pearson(ranks(x), ranks(y))


def mean(values: Sequence[float]) -> float:
    """The mean."""
    return math.fsum(values) / len(values)


def median(values: Sequence[float]) -> float:
    """The median."""
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def std(values: Sequence[float]) -> float:
    """The standard deviation of a sample (divided by n - 1)."""
    middle = mean(values)
    return math.sqrt(math.fsum((v - middle) ** 2 for v in values) / (len(values) - 1))


ONE: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": mean,
    "median": median,
    "sum": math.fsum,
    "min": min,
    "max": max,
    "std": std,
    "distinct": lambda values: len(set(values)),
}
TWO = {"pearson": pearson, "spearman": spearman}


def figure(database: sqlite3.Connection, measure: str, columns: Sequence[str], where: str) -> float:
    """One figure. Rows with a blank cell in one of ``columns`` are left out."""
    names = ", ".join(map(quoted, columns)) or "1"
    rows = database.execute(f"SELECT {names} FROM data WHERE {where or 'true'}").fetchall()
    kept = [row for row in rows if None not in row]
    if measure == "count":
        return len(kept)
    if measure == "share":
        return len(rows) / database.execute("SELECT count(*) FROM data").fetchone()[0]
    if measure in TWO:
        x, y = zip(*kept, strict=True)
        return TWO[measure](x, y)
    return ONE[measure]([row[0] for row in kept])
