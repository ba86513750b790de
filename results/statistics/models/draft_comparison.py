"""Drafts of a role: the second against the first, the first against another arm's report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from orglab.results.statistics.data.cells import Floats, optional, unit_means
from orglab.results.statistics.data.dataset import Dataset, dataset_of
from orglab.results.statistics.errors import DatasetError
from orglab.results.statistics.plan import DraftsPlan
from orglab.results.statistics.tests.paired import PairedTest, Wins, differences, paired_t, wins
from orglab.results.statistics.tests.wilcoxon import SignedRanks, wilcoxon

DRAFT_COLUMNS = ("arm", "unit", "replicate", "role", "visit", "measure", "value")
"""Columns of the table of drafts: one row a measure of one draft; ``replicate`` may be left out."""


@dataclass(frozen=True, kw_only=True)
class DraftSummary:
    """Spread of a value over units."""

    n: int
    mean: float | None
    median: float | None
    smallest: float | None
    largest: float | None


@dataclass(frozen=True, kw_only=True)
class DraftRow:
    """One measure of the drafts of a role under one arm.

    Attributes:
        role: The role.
        measure: The measure.
        arm: The arm.
        comparison: ``second - first``; ``first - report of ARM``; or ``second draft`` for a measure
            that only a later draft has (the share kept).
        summary: The values compared: the first of the two, or the measure itself.
        against: The values that they are compared with; None for ``second draft``.
        test: The paired t; None for ``second draft``.
        wins: Units higher, equal, lower.
        robust: Wilcoxon's test.
    """

    role: str
    measure: str
    arm: str
    comparison: str
    summary: DraftSummary
    against: DraftSummary | None
    test: PairedTest | None
    wins: Wins | None
    robust: SignedRanks | None


def draft_rows(
    dataset: Dataset, drafts: pd.DataFrame, plan: DraftsPlan, level: float = 0.95
) -> list[DraftRow]:
    """Compare drafts within units; only runs that completed count.

    A run with one draft only is in no ``second`` row: those are the runs in which the role revised.

    Raises:
        DatasetError: The table of drafts lacks a column or contradicts itself.
        PlanError: The report of ``against`` has no such measure.
    """
    absent = [n for n in DRAFT_COLUMNS if n != "replicate" and n not in drafts.columns]
    if absent:
        raise DatasetError(f"the drafts have no column {', '.join(absent)}")
    own = drafts[drafts["role"] == plan.role]
    rows: list[DraftRow] = []
    for measure in plan.measures:
        for arm in dataset.axes.arms:
            first, second = (_means(dataset, own, arm, measure, visit) for visit in (1, 2))
            rows += _second_draft_rows(plan.role, measure, arm, (first, second), level)
            if plan.against is not None and arm != plan.against and np.isfinite(first).any():
                report = unit_means(dataset.cells(measure).of(plan.against))
                name = f"first - report of {plan.against}"
                rows.append(_comparison_row(plan.role, measure, arm, name, (first, report), level))
    return rows


def _second_draft_rows(
    role: str, measure: str, arm: str, drafts: tuple[Floats, Floats], level: float
) -> list[DraftRow]:
    first, second = drafts
    if not np.isfinite(second).any():
        return []
    if np.isfinite(first).any():
        return [_comparison_row(role, measure, arm, "second - first", (second, first), level)]
    return [
        DraftRow(
            role=role, measure=measure, arm=arm, comparison="second draft",
            summary=_summary(second[np.isfinite(second)]), against=None, test=None, wins=None,
            robust=None,
        )
    ]  # fmt: skip


def _comparison_row(
    role: str, measure: str, arm: str, name: str, values: tuple[Floats, Floats], level: float
) -> DraftRow:
    both = np.isfinite(values[0]) & np.isfinite(values[1])
    one, other = values[0][both], values[1][both]
    return DraftRow(
        role=role,
        measure=measure,
        arm=arm,
        comparison=name,
        summary=_summary(one),
        against=_summary(other),
        test=paired_t(one, other, level),
        wins=wins(one, other),
        robust=wilcoxon(differences(one, other)),
    )


def _means(dataset: Dataset, drafts: pd.DataFrame, arm: str, measure: str, visit: int) -> Floats:
    """Return unit means of a measure of one draft, over the replicates that completed."""
    chosen = drafts[
        (drafts["arm"] == arm) & (drafts["measure"] == measure) & (drafts["visit"] == visit)
    ]
    found = np.full(len(dataset.axes.units), np.nan)
    if not len(chosen):
        return found
    scores = chosen.assign(outcome=measure).drop(columns=["judge", "scale"], errors="ignore")
    runs = dataset.runs[["arm", "unit", "replicate", "status", "reason"]]
    made = dataset_of(scores, runs)
    means = unit_means(made.cells(measure).of(arm))
    place = {unit: at for at, unit in enumerate(dataset.axes.units)}
    for unit, value in zip(made.axes.units, means.tolist(), strict=True):
        if unit in place:
            found[place[unit]] = value
    return found


def _summary(values: Floats) -> DraftSummary:
    if not len(values):
        return DraftSummary(n=0, mean=None, median=None, smallest=None, largest=None)
    return DraftSummary(
        n=len(values),
        mean=optional(values.mean()),
        median=optional(np.median(values)),
        smallest=optional(values.min()),
        largest=optional(values.max()),
    )
