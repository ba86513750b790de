"""Pairs two arms by unit, and counts missing units by reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from orglab.results.statistics.data.cells import Cells, Flags, Floats, unit_means
from orglab.results.statistics.data.dataset import Dataset


@dataclass(frozen=True, kw_only=True, eq=False)
class PairedUnits:
    """The units that have a value under both arms.

    Attributes:
        units: Their ids.
        first: Unit means under the arm.
        second: Unit means under the reference.
        unmatched: Cells (a verdict, a replicate) of these units that have no counterpart under the
            other arm and were left out.
    """

    units: tuple[str, ...]
    first: Floats
    second: Floats
    unmatched: int


def pair(cells: Cells, arm: str, reference: str, keep: Flags | None = None) -> PairedUnits:
    """Pair two arms by unit, replicate and judge, and average within units.

    A difference is made of like with like: where a judge or a replicate is missing under one arm it
    is left out under the other too, so that a severe judge's gap does not look like an effect.

    Args:
        cells: The outcome.
        arm: The arm.
        reference: The arm it is compared with.
        keep: Which (unit, replicate) count; default: all.
    """
    one, other = cells.of(arm), cells.of(reference)
    both = np.isfinite(one) & np.isfinite(other)
    if keep is not None:
        both &= keep[..., None]
    first, second = unit_means(one, both), unit_means(other, both)
    have = np.isfinite(first)
    alone = (np.isfinite(one) ^ np.isfinite(other))[have]
    return PairedUnits(
        units=tuple(
            unit for unit, is_there in zip(cells.axes.units, have, strict=True) if is_there
        ),
        first=first[have],
        second=second[have],
        unmatched=int(alone.sum()),
    )


@dataclass(frozen=True, kw_only=True)
class Missing:
    """Units of an arm that have no value.

    Attributes:
        units: Their ids.
        planned: Units of the study.
        rate: How large a part of them is missing.
        why: How many by reason.
        cells: Verdicts and replicates missing in the units that do have a value.
    """

    units: tuple[str, ...]
    planned: int
    rate: float
    why: Mapping[str, int]
    cells: int


def missing(dataset: Dataset, cells: Cells, arm: str) -> Missing:
    """Find the units without a value of an outcome under an arm, and why."""
    at = dataset.axes.arms.index(arm)
    found = np.isfinite(cells.of(arm))
    has_value = np.asarray(found.any(axis=(1, 2)))
    gaps = [dataset.axes.units[gap] for gap in np.flatnonzero(~has_value)]
    why: dict[str, int] = {}
    for unit in gaps:
        reason = _why_missing(dataset, cells.outcome, at, unit)
        why[reason] = why.get(reason, 0) + 1
    expected = dataset.completed[at][..., None] & has_value[:, None, None]
    return Missing(
        units=tuple(gaps),
        planned=len(dataset.axes.units),
        rate=len(gaps) / max(len(dataset.axes.units), 1),
        why=dict(sorted(why.items(), key=lambda item: (-item[1], item[0]))),
        cells=int((np.broadcast_to(expected, found.shape) & ~found).sum()),
    )


def _why_missing(dataset: Dataset, outcome: str, arm: int, unit: str) -> str:
    states = dataset.state[arm, dataset.axes.units.index(unit)].tolist()
    if "" not in states:
        return str(next((state for state in states if state != "not run"), "not run"))
    return dataset.reasons.get((outcome, dataset.axes.arms[arm], unit), "no score")
