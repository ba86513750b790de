"""Judges: agreement, severity, and alpha without each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from orglab.results.statistics.agreement.krippendorff import Agreement, Metric, agreement, alpha
from orglab.results.statistics.data.arrays import Floats, optional
from orglab.results.statistics.data.cells import Cells
from orglab.results.statistics.data.dataset import Dataset

__all__ = ["JudgeAgreement", "JudgeRow", "judging", "metric_of"]

_METRICS: Mapping[str, Metric] = {
    "binary": "nominal",
    "nominal": "nominal",
    "ordinal": "ordinal",
    "interval": "interval",
    "ratio": "ratio",
    "count": "ratio",
}


@dataclass(frozen=True, kw_only=True)
class JudgeRow:
    """One judge.

    Attributes:
        judge: The name.
        ratings: Ratings given.
        missing: Completed runs that it did not rate.
        mean: Mean of its ratings.
        severity: Mean distance of its ratings from the mean of all judges of the same run; below 0
            is severe. Only runs with two ratings or more.
        alpha_without: Alpha of the other judges.
    """

    judge: str
    ratings: int
    missing: int
    mean: float | None
    severity: float | None
    alpha_without: float | None


@dataclass(frozen=True, kw_only=True)
class JudgeAgreement:
    """The judges of one outcome.

    Attributes:
        outcome: The outcome.
        agreement: Over the runs of all arms; the bootstrap draws whole units.
        by_arm: Alpha within each arm.
        judges: One row a judge.
    """

    outcome: str
    agreement: Agreement
    by_arm: Mapping[str, float | None]
    judges: tuple[JudgeRow, ...]


def metric_of(scale: str) -> Metric:
    """Return the metric of alpha for a declared scale; ``interval`` if none was declared."""
    return _METRICS.get(scale, "interval")


def judging(
    dataset: Dataset, cells: Cells, *, seed: int = 0, resamples: int = 1000, level: float = 0.95
) -> JudgeAgreement:
    """Compute agreement, severity and alpha without each judge (Krippendorff 2011)."""
    metric = metric_of(cells.scale)
    arms, units, replicates = cells.axes.shape
    table = cells.values.reshape(-1, len(cells.judges))
    unit = np.tile(np.repeat(np.arange(units), replicates), arms)
    done = dataset.completed.reshape(-1)
    return JudgeAgreement(
        outcome=cells.outcome,
        agreement=agreement(
            table, metric, groups=unit, seed=seed, resamples=resamples, level=level
        ),
        by_arm={
            arm: alpha(cells.of(arm).reshape(-1, len(cells.judges)), metric)
            for arm in cells.axes.arms
        },
        judges=tuple(
            _judge_row(name, table, at, int(done.sum()), metric)
            for at, name in enumerate(cells.judges)
        ),
    )


def _judge_row(name: str, table: Floats, at: int, runs: int, metric: Metric) -> JudgeRow:
    own = table[:, at]
    rated = np.isfinite(own)
    count = np.isfinite(table).sum(axis=1)
    shared = rated & (count > 1)
    means = np.where(np.isfinite(table), table, 0.0).sum(axis=1)[shared] / count[shared]
    return JudgeRow(
        judge=name,
        ratings=int(rated.sum()),
        missing=runs - int(rated.sum()),
        mean=optional(own[rated].mean()) if rated.any() else None,
        severity=optional((own[shared] - means).mean()) if shared.any() else None,
        alpha_without=alpha(np.delete(table, at, axis=1), metric),
    )
