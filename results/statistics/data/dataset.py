"""A study's tables, read once: cells by outcome, runs, and why values are missing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from orglab.providers.base import JSON
from orglab.results.statistics.data.cells import Axes, Cells, Flags, composite
from orglab.results.statistics.errors import DatasetError, PlanError

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


Texts: TypeAlias = npt.NDArray[np.object_]
Key: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """What the analysis reads.

    Attributes:
        axes: Arms, units and replicates of both tables.
        outcomes: Cells by outcome, composites among them; values of runs that did not complete
            are not in them.
        runs: One row a run: ``arm unit replicate status reason`` and every other column.
        state: Why a run counts for nothing, by arm, unit and replicate; "" where it completed.
        reasons: Why a value is missing, by outcome, arm and unit, where the evaluator said it.
        duplicates: Rows of scores that were written twice with the same value, and dropped.
    """

    axes: Axes
    outcomes: Mapping[str, Cells]
    runs: pd.DataFrame
    state: Texts
    reasons: Mapping[Key, str]
    duplicates: int = 0
    _columns: dict[str, Cells] = field(default_factory=dict)

    @property
    def completed(self) -> Flags:
        """Which runs completed, by arm, unit and replicate."""
        return np.asarray(self.state == "", dtype=np.bool_)

    def cells(self, name: str) -> Cells:
        """Return the cells of an outcome, or of a numeric column of the runs (``loops``, ``words``).

        Raises:
            PlanError: There is neither.
        """
        if name in self.outcomes:
            return self.outcomes[name]
        if name not in self._columns:
            self._columns[name] = self._column_cells(name)
        return self._columns[name]

    def has(self, name: str) -> bool:
        """Check whether an outcome or a column of the runs has this name."""
        return name in self.outcomes or name in self.runs.columns

    def _column_cells(self, name: str) -> Cells:
        if name not in self.runs.columns:
            known = ", ".join([*self.outcomes, *self.runs.columns])
            raise PlanError(
                f"no outcome and no column of the runs is named {name!r}; there are {known}"
            )
        numbers = pd.to_numeric(self.runs[name], errors="coerce")
        values = np.full((*self.axes.shape, 1), np.nan)
        where = codes(self.runs, self.axes)
        values[(*where, 0)] = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
        values[~self.completed] = np.nan
        return Cells(outcome=name, axes=self.axes, judges=("",), values=values)

    def rows(self, arm: str) -> list[dict[str, Any]]:
        """Return the completed runs of an arm as mappings, unit means of the outcomes among the columns."""
        own = self.runs[(self.runs["arm"] == arm) & (self.runs["status"] == "completed")]
        found = own.to_dict("records")
        units = {unit: at for at, unit in enumerate(self.axes.units)}
        replicates = {number: at for at, number in enumerate(self.axes.replicates)}
        means = {name: c.judges_averaged().of(arm)[..., 0] for name, c in self.outcomes.items()}
        return [
            _with_scores(row, means, (units[row["unit"]], replicates[row["replicate"]]))
            for row in found
        ]


def _with_scores(
    row: dict[Any, Any], means: Mapping[str, npt.NDArray[np.float64]], at: tuple[int, int]
) -> dict[str, Any]:
    scores = {name: _known(values[at]) for name, values in means.items()}
    return scores | {str(name): _known(value) for name, value in row.items()}


def _known(value: JSON) -> JSON:
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return None
    return value.item() if isinstance(value, np.generic) else value


def dataset_of(
    scores: pd.DataFrame,
    runs: pd.DataFrame | None = None,
    composites: Mapping[str, Sequence[str]] | None = None,
) -> Dataset:
    """Build a dataset from the tables of a study.

    Args:
        scores: One row a value: ``arm unit outcome value`` and, where there are any, ``replicate
            judge scale reason``. See ``docs/reference/statistics.md``.
        runs: One row a planned run: ``arm unit replicate status reason`` and any columns of the run
            or unit. Without it every run that has a score counts as completed.
        composites: Means of other outcomes, by name.

    Raises:
        DatasetError: A column is missing, or a value was written twice and differs.
        PlanError: A composite has an unknown part, contains itself, or takes an outcome's name.
    """
    table, duplicates = read_scores(scores)
    made = read_runs(runs, table)
    axes = _axes(table, made)
    state = _states(made, axes)
    outcomes = {
        str(name): _outcome_cells(str(name), rows, axes, state)
        for name, rows in table.groupby("outcome")
    }
    return Dataset(
        axes=axes,
        outcomes=_with_composites(outcomes, composites or {}),
        runs=made,
        state=state,
        reasons=_missing_reasons(table),
        duplicates=duplicates,
    )


def _axes(table: pd.DataFrame, runs: pd.DataFrame) -> Axes:
    def both(column: str) -> list[Any]:
        return sorted({*table[column].tolist(), *runs[column].tolist()})

    return Axes(
        arms=tuple(both("arm")), units=tuple(both("unit")), replicates=tuple(both("replicate"))
    )


def _states(runs: pd.DataFrame, axes: Axes) -> Texts:
    state = np.full(axes.shape, "not run", dtype=object)
    texts = [
        "" if status == "completed" else f"{status}: {reason}" if reason else status
        for status, reason in zip(runs["status"], runs["reason"], strict=True)
    ]
    state[codes(runs, axes)] = texts
    return state


def _outcome_cells(name: str, rows: pd.DataFrame, axes: Axes, state: Texts) -> Cells:
    if (rows["judge"] != "").any():  # a panel that failed whole leaves a row without a judge
        rows = rows[(rows["judge"] != "") | rows["value"].notna()]
    judges = sorted(set(rows["judge"].tolist()))
    if "" in judges and len(judges) > 1:
        raise DatasetError(f"outcome {name!r} has values of judges and values without a judge")
    values = np.full((*axes.shape, len(judges)), np.nan)
    where = {judge: at for at, judge in enumerate(judges)}
    last = np.array([where[judge] for judge in rows["judge"]], dtype=np.intp)
    values[(*codes(rows, axes), last)] = rows["value"].to_numpy(dtype=np.float64)
    values[np.asarray(state != "", dtype=np.bool_)] = np.nan
    scales = sorted({scale for scale in rows["scale"] if scale})
    if len(scales) > 1:
        raise DatasetError(f"outcome {name!r} has more than one scale: {', '.join(scales)}")
    scale = scales[0] if scales else ""
    return Cells(outcome=name, axes=axes, judges=tuple(judges), values=values, scale=scale)


def _missing_reasons(table: pd.DataFrame) -> dict[Key, str]:
    missing = table[table["value"].isna() & (table["reason"] != "")]
    keys = zip(missing["outcome"], missing["arm"], missing["unit"], strict=True)
    return dict(zip(list(keys)[::-1], missing["reason"].tolist()[::-1], strict=True))


def _with_composites(
    outcomes: dict[str, Cells], composites: Mapping[str, Sequence[str]]
) -> dict[str, Cells]:
    made = dict(outcomes)
    for name in composites:
        if name in outcomes:
            raise PlanError(f"composite {name!r} has the name of an outcome")
        _compose(name, made, composites, ())
    return made


def _compose(
    name: str,
    made: dict[str, Cells],
    composites: Mapping[str, Sequence[str]],
    above: tuple[str, ...],
) -> Cells:
    if name in made:
        return made[name]
    if name in above:
        raise PlanError(f"composite {name!r} contains itself: {' > '.join([*above, name])}")
    if not composites.get(name):
        whole = f"composite {above[-1]!r}" if above else f"composite {name!r}"
        raise PlanError(f"{whole} has no such part: {name!r}; there are {', '.join(sorted(made))}")
    parts = [_compose(part, made, composites, (*above, name)) for part in composites[name]]
    made[name] = composite(name, parts)
    return made[name]
