"""Input tables: columns, types, repeated rows."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from orglab.results.statistics.data.cells import Axes
from orglab.results.statistics.errors import DatasetError

__all__ = ["RUN_COLUMNS", "SCORE_COLUMNS", "codes", "read_runs", "read_scores"]

SCORE_COLUMNS = ("arm", "unit", "replicate", "outcome", "judge", "value", "scale", "reason")
"""Columns of the scores; ``replicate judge scale reason`` may be left out."""

RUN_COLUMNS = ("arm", "unit", "replicate", "status", "reason")
"""Columns that the runs need; ``replicate status reason`` may be left out, others may follow."""

_CELL = ["arm", "unit", "replicate", "outcome", "judge"]
_RUN = ["arm", "unit", "replicate"]

Codes: TypeAlias = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.intp]]


def read_scores(scores: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Return the scores with all columns of ``SCORE_COLUMNS``, and the number of repeated rows dropped.

    A value that is not finite is missing. A row written twice is dropped once its value agrees.

    Raises:
        DatasetError: A column is missing; a value is no number; a cell has two different values.
    """
    _check_columns(scores, ("arm", "unit", "outcome", "value"), "scores")
    table = pd.DataFrame(
        {
            name: _text_values(scores, name)
            for name in SCORE_COLUMNS
            if name not in ("replicate", "value")
        }
    )
    table["replicate"] = _replicate_numbers(scores)
    table["value"] = _number_values(scores["value"])
    kept = table.drop_duplicates([*_CELL, "value"])
    twice = kept[kept.duplicated(_CELL, keep=False)]
    if len(twice):
        raise DatasetError(f"written twice with different values: {_repeated_cell(twice)}")
    return kept[list(SCORE_COLUMNS)].reset_index(drop=True), len(table) - len(kept)


def _repeated_cell(rows: pd.DataFrame) -> str:
    first = rows.iloc[0]
    same = rows[(rows[_CELL] == first[_CELL]).all(axis=1)]
    place = ", ".join(f"{name} {first[name]}" for name in _CELL if first[name] != "")
    return f"{place}: {' and '.join(str(value) for value in same['value'])}"


def read_runs(runs: pd.DataFrame | None, scores: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with all columns of ``RUN_COLUMNS``, made from the scores if there are none.

    Raises:
        DatasetError: A column is missing, or a run has two rows.
    """
    if runs is None:
        made = scores[_RUN].drop_duplicates().reset_index(drop=True)
        return made.assign(status="completed", reason="")
    _check_columns(runs, ("arm", "unit"), "runs")
    table = runs.reset_index(drop=True).copy()
    for name in ("arm", "unit", "reason"):
        table[name] = _text_values(table, name)
    table["replicate"] = _replicate_numbers(table)
    table["status"] = _text_values(table, "status") if "status" in table.columns else "completed"
    table = table.drop_duplicates() if _is_hashable(table) else table
    twice = table[table.duplicated(_RUN, keep=False)]
    if len(twice):
        row = twice.iloc[0]
        raise DatasetError(
            f"two rows for one run: arm {row['arm']}, unit {row['unit']}, replicate {row['replicate']}"
        )
    return table


def _is_hashable(table: pd.DataFrame) -> bool:
    """Check that no column holds lists or mappings, which cannot be compared by hash."""
    return not any(
        isinstance(value, list | dict)
        for name in table.columns
        if table[name].dtype == object
        for value in table[name]
    )


def codes(table: pd.DataFrame, axes: Axes) -> Codes:
    """Return the position of each row on the axes."""
    found = []
    for name, axis in zip(_RUN, (axes.arms, axes.units, axes.replicates), strict=True):
        where = {value: at for at, value in enumerate(axis)}
        found.append(np.array([where[value] for value in table[name].tolist()], dtype=np.intp))
    return found[0], found[1], found[2]


def _check_columns(table: pd.DataFrame, names: tuple[str, ...], what: str) -> None:
    absent = [name for name in names if name not in table.columns]
    if absent:
        raise DatasetError(f"the {what} have no column {', '.join(absent)}")


def _text_values(table: pd.DataFrame, name: str) -> list[str]:
    if name not in table.columns:
        return [""] * len(table)
    column = table[name]
    return ["" if gap else str(value) for value, gap in zip(column, column.isna(), strict=True)]


def _replicate_numbers(table: pd.DataFrame) -> list[int]:
    if "replicate" not in table.columns:
        return [0] * len(table)
    if table["replicate"].isna().any():
        raise DatasetError("a row has no replicate")
    return [int(value) for value in table["replicate"]]


def _number_values(column: pd.Series) -> npt.NDArray[np.float64]:
    try:
        values = pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise DatasetError(f"a value is no number: {error}") from None
    return np.where(np.isfinite(values), values, np.nan)
