"""A sweep as one tidy table: one row a run, factors and measures as columns."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from orglab.providers.base import JSON
from orglab.results.report.experiment.plan_history import (
    FrozenFactor,
    SweepPlan,
    current_numbers,
    sweep_plan,
)
from orglab.results.store.group_commit import StoreError
from orglab.results.store.reader import Reader, RunRow
from orglab.results.tables.tables import TABLES, ExportColumn, frame_of

if TYPE_CHECKING:
    import pandas as pd

Key: TypeAlias = tuple[str, str, str]
"""Evaluator, its arguments, the score's name."""

_HEAD = {"run": "text", "variant": "text", "also": "text", "arm": "text"}
_PLACE = {"unit": "text", "replicate": "integer"}
_FIGURE_NAMES = [
    "status",
    "reason",
    "turns",
    "loops",
    "forced",
    "calls",
    "tool_calls",
    "tokens_input",
    "tokens_output",
    "cost_usd",
    "seconds",
    "simulated",
]
_FIGURES = {name: kind for name, kind in TABLES["runs"] if name in _FIGURE_NAMES}


class SweepTable(NamedTuple):
    """A table, its rows made one after another.

    Attributes:
        columns: Names and kinds.
        rows: Cells in the order of the columns; None is missing.
    """

    columns: Sequence[ExportColumn]
    rows: Iterator[Sequence[JSON]]


def sweep_rows(reader: Reader) -> SweepTable | None:
    """Read the table of the last frozen plan's variants; None for a study that is no sweep.

    A factor is empty in a run that is the same for several levels: the teams are the same, and
    ``also`` names the other variants that the run stands for.
    """
    plan = sweep_plan(reader)
    if plan is None:
        return None
    scores = _score_columns(reader)
    fixed = {*_HEAD, *_PLACE, *_FIGURES}
    factors = [
        ExportColumn(_free_name(factor.name, fixed, "factor"), _kind(factor))
        for factor in plan.factors
    ]
    fixed |= {column.name for column in factors}
    measures = [
        ExportColumn(_free_name(name, fixed, key[0]), "text" if is_text else "number")
        for key, (name, is_text) in scores.items()
    ]
    head = [
        ExportColumn(*item) for item in _HEAD.items() if item[0] != "arm" or plan.over_experiment
    ]
    rest = [ExportColumn(*item) for item in [*_PLACE.items(), *_FIGURES.items()]]
    columns = [*head, *factors, *rest, *measures]
    return SweepTable(columns, _rows(reader, plan, list(scores)))


def sweep_frame(place: Path) -> pd.DataFrame:
    """Read the table as a pandas frame; missing is ``NA``.

    Raises:
        StoreError: There is no study, or it is no sweep.
    """
    with Reader(place) as reader:
        found = sweep_rows(reader)
        if found is None:
            raise StoreError(f"{reader.path} is no sweep")
        return frame_of(found.columns, found.rows)


# --- columns -------------------------------------------------------------------------------------


def _free_name(name: str, taken: set[str], prefix: str) -> str:
    """Return ``name``, or ``prefix.name`` if a column has that name."""
    return f"{prefix}.{name}" if name in taken else name


def _kind(factor: FrozenFactor) -> str:
    if all(isinstance(value, bool) for value in factor.values):
        return "boolean"
    if not factor.numeric:
        return "text"
    whole = all(isinstance(value, int) for value in factor.values)
    return "integer" if whole else "number"


def _score_columns(reader: Reader) -> dict[Key, tuple[str, bool]]:
    """Map scores to their column, with arguments where several share a name, and whether it is text."""
    sql = """SELECT evaluator, arguments, name, MAX(label IS NOT NULL) AS text FROM scores
             GROUP BY evaluator, arguments, name ORDER BY evaluator, arguments, name"""
    rows = [row for row in reader.rows(sql) if not _is_counted_by_store(row)]
    often = Counter(row["name"] for row in rows)
    return {
        (row["evaluator"], row["arguments"], row["name"]): (
            row["name"]
            if often[row["name"]] == 1
            else f"{row['name']} ({row['evaluator']} {row['arguments']})",
            bool(row["text"]),
        )
        for row in rows
    }


def _is_counted_by_store(row: sqlite3.Row) -> bool:
    """Check whether the score repeats a count of the store."""
    return row["evaluator"] == "usage" and row["name"] in _FIGURES


# --- rows ----------------------------------------------------------------------------------------


def _rows(reader: Reader, plan: SweepPlan, keys: Sequence[Key]) -> Iterator[Sequence[JSON]]:
    heads = {name: _head(plan, cell) for name, cell in plan.by_name.items()}
    current = current_numbers(reader, plan.as_experiment)
    scores = _scores(reader)
    waiting = next(scores, None)
    for row in reader.runs():
        while waiting is not None and waiting[0] < row.run:
            waiting = next(scores, None)
        if row.run not in current:
            continue
        own = waiting[1] if waiting is not None and waiting[0] == row.run else {}
        yield [
            row.id,
            *heads[row.arm],
            row.unit,
            row.replicate,
            *_figures(row),
            *[own.get(key) for key in keys],
        ]


def _figures(row: RunRow) -> list[JSON]:
    """Return the figures of a run; None for one that has not ended."""
    if row.status == "running":
        return [row.status, "", *[None] * (len(_FIGURES) - 2)]
    return [getattr(row, name) for name in _FIGURES]


def _head(plan: SweepPlan, cell: Mapping[str, JSON]) -> list[JSON]:
    """Return variant, the other names of it, arm, and the levels of all factors."""
    points = [plan.points[number] for number in cell["points"]]
    also = [point["name"] for point in points if point["name"] != cell["name"]]
    if plan.over_experiment:
        also = also if len(points) > 1 else []
    head = [cell["name"], "; ".join(also) or None]
    head += [cell["arm"]] if plan.over_experiment else []
    return head + [_level(factor, at, points) for at, factor in enumerate(plan.factors)]


def _level(factor: FrozenFactor, at: int, points: Sequence[Mapping[str, JSON]]) -> JSON:
    """Return the level that all the points share; None where they differ."""
    labels = {point["levels"][at] for point in points}
    if len(labels) > 1:
        return None
    label = labels.pop()
    return label if _kind(factor) == "text" else factor.value(label)


def _scores(reader: Reader) -> Iterator[tuple[int, Mapping[Key, JSON]]]:
    """Yield the scores of each run that has any, in the order of the runs."""
    sql = "SELECT run, evaluator, arguments, name, value, label FROM scores ORDER BY run"
    for run, rows in groupby(reader.rows(sql), key=itemgetter("run")):
        yield (
            run,
            {
                (row["evaluator"], row["arguments"], row["name"]): row["label"]
                if row["label"] is not None
                else row["value"]
                for row in rows
            },
        )
