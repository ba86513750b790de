"""Effects in parts of the units: chosen subsets, and values of a column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import stats

from orglab.providers.base import JSON
from orglab.results.statistics.data.cells import Flags, Floats, largest
from orglab.results.statistics.data.dataset import Dataset
from orglab.results.statistics.data.pairing import pair
from orglab.results.statistics.effects import Effect, effect
from orglab.results.statistics.errors import PlanError
from orglab.results.statistics.plan import AnalysisPlan, Contrast, SubsetPlan
from orglab.results.statistics.row_filter import condition
from orglab.results.statistics.tests.paired import differences

Named: TypeAlias = tuple[float, str]
"""A value as text, after the number that orders it."""
#: A numeric column with more different values than this is cut at its median.
_MOST_LEVELS = 8


@dataclass(frozen=True, kw_only=True)
class Subset:
    """The primary outcomes in the units whose runs meet a condition.

    Attributes:
        name: Its name.
        arm: Whose runs the condition looked at.
        where: The condition.
        label: How to read it: the units were chosen after treatment.
        units: Units with a run that meets it.
        open: Runs for which a missing value leaves it open; they are not in the subset.
        effects: One row an outcome and contrast, not corrected.
    """

    name: str
    arm: str
    where: str
    label: str
    units: int
    open: int
    effects: tuple[Effect, ...]


@dataclass(frozen=True, kw_only=True)
class SubgroupLevel:
    """The effect in the units with one value of a column."""

    value: str
    units: int
    effect: Effect


@dataclass(frozen=True, kw_only=True)
class Split:
    """One effect by the values of a column.

    Attributes:
        column: The column.
        outcome: The outcome.
        arm: The arm.
        reference: The arm it is compared with.
        levels: One row a value; not corrected, exploratory.
        left_out: Pairs whose value is missing or differs between their runs.
        f: F of a one-way comparison of the differences between the values.
        p: Its p: whether the effect differs by the value. None where it cannot be tested.
    """

    column: str
    outcome: str
    arm: str
    reference: str
    levels: tuple[SubgroupLevel, ...]
    left_out: int
    f: float | None
    p: float | None


def subset(dataset: Dataset, plan: AnalysisPlan, name: str, asked: SubsetPlan) -> Subset:
    """Compute the primary outcomes over the pairs whose run under ``asked.arm`` meets the condition.

    Raises:
        PlanError: The condition cannot be read, or a column or the arm does not exist.
    """
    if asked.arm not in dataset.axes.arms:
        raise PlanError(f"subset {name!r}: no arm {asked.arm!r}")
    meets = condition(asked.where)
    found = {(r["unit"], r["replicate"]): meets(r) for r in dataset.rows(asked.arm)}
    keep = _runs_with(dataset, found, value=True)
    return Subset(
        name=name,
        arm=asked.arm,
        where=asked.where,
        label="chosen after treatment: not randomised, exploratory",
        units=int(keep.any(axis=1).sum()),
        open=sum(value is None for value in found.values()),
        effects=tuple(
            effect(dataset, plan, outcome, contrast, family=f"subset {name}", keep=keep)
            for outcome in plan.primary
            for contrast in plan.contrasts
        ),
    )


def split(
    dataset: Dataset, plan: AnalysisPlan, column: str, outcome: str, contrast: Contrast
) -> Split:
    """Split one effect by the values of a column of the runs (a drawn model, a property of the unit).

    Raises:
        PlanError: No such column.
    """
    if column not in dataset.runs.columns:
        known = ", ".join(str(name) for name in dataset.runs.columns)
        raise PlanError(f"by: no column {column!r} in the runs; there are {known}")
    values = _values(dataset, column, contrast)
    levels, groups = [], []
    cells = dataset.cells(outcome)
    for value in sorted({value for value in values.values() if value is not None}):
        keep = _runs_with(dataset, values, value)
        row = effect(dataset, plan, outcome, contrast, family=f"by {column}", keep=keep)
        levels.append(SubgroupLevel(value=value[1], units=row.n, effect=row))
        pairs = pair(cells, contrast.arm, contrast.reference, keep)
        groups.append((differences(pairs.first, pairs.second), largest(pairs.first, pairs.second)))
    total = len(pair(cells, contrast.arm, contrast.reference).units)
    f, p = _heterogeneity(groups)
    return Split(
        column=column,
        outcome=outcome,
        arm=contrast.arm,
        reference=contrast.reference,
        levels=tuple(levels),
        left_out=total - sum(level.units for level in levels),
        f=f,
        p=p,
    )


def _values(
    dataset: Dataset, column: str, contrast: Contrast
) -> dict[tuple[str, int], Named | None]:
    """Return the value of each (unit, replicate), if its runs in both arms agree."""
    found: dict[tuple[str, int], set[JSON]] = {}
    for arm in (contrast.arm, contrast.reference):
        for row in dataset.rows(arm):
            found.setdefault((row["unit"], row["replicate"]), set()).add(row[column])
    agreed = {key: next(iter(values)) for key, values in found.items() if len(values) == 1}
    return {key: agreed.get(key) for key in found} | _named_values(agreed)


def _named_values(values: Mapping[tuple[str, int], JSON]) -> dict[tuple[str, int], Named | None]:
    """Return the values as texts; a measured number with many values is cut at its median."""
    known = [value for value in values.values() if value is not None]
    measured = all(isinstance(value, int | float) for value in known)
    if not measured or len(set(known)) <= _MOST_LEVELS:
        return {key: None if v is None else _ordered_text(v) for key, v in values.items()}
    middle = float(np.median(known))
    halves = ((0.0, f"at most {middle:g}"), (1.0, f"above {middle:g}"))
    return {key: None if v is None else halves[v > middle] for key, v in values.items()}


def _ordered_text(value: JSON) -> Named:
    if isinstance(value, int | float):
        return float(value), f"{value:g}" if isinstance(value, float) else str(value)
    return 0.0, str(value)


def _runs_with(dataset: Dataset, values: Mapping[tuple[str, int], object], value: object) -> Flags:
    axes = dataset.axes
    rows = [
        [values.get((unit, number)) == value for number in axes.replicates] for unit in axes.units
    ]
    return np.array(rows, dtype=np.bool_)


def _heterogeneity(groups: list[tuple[Floats, float]]) -> tuple[float | None, float | None]:
    """Compute a one-way analysis of variance of the differences (Fisher 1925), of groups of two or more."""
    usable = [d for d, _ in groups if len(d) > 1]
    scale = max((size for _, size in groups), default=0.0)
    if len(usable) < 2 or all(np.ptp(d) <= 1e-12 * scale for d in usable):
        return None, None
    found = stats.f_oneway(*usable)
    return float(found.statistic), float(found.pvalue)
