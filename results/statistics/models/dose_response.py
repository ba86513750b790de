"""Dose-response within an arm: an outcome against a count of events."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from orglab.results.statistics.data.arrays import Floats, largest
from orglab.results.statistics.data.cells import Cells, unit_means
from orglab.results.statistics.data.dataset import Dataset
from orglab.results.statistics.models.regression import Fit, least_squares
from orglab.results.statistics.plan import DosePlan

__all__ = ["Dose", "RankCorrelation", "dose_response", "spearman"]


@dataclass(frozen=True, kw_only=True)
class RankCorrelation:
    """Spearman's rank correlation; ``why`` says why there is none."""

    n: int
    rho: float | None
    p: float | None
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Dose:
    """A dose-response.

    Attributes:
        outcome: The outcome.
        dose: What is counted.
        within: The arm.
        covariates: Further predictors.
        label: ``correlational``, or ``randomised dose`` where the loops were random.
        spearman: Over unit means, without covariates.
        classical: Least squares over unit means, classical errors.
        clustered: Least squares over runs, errors clustered by unit.
        left_out: Units of the arm without all values.
    """

    outcome: str
    dose: str
    within: str
    covariates: tuple[str, ...]
    label: str
    spearman: RankCorrelation
    classical: Fit
    clustered: Fit
    left_out: int


def spearman(first: Floats, second: Floats) -> RankCorrelation:
    """Compute Spearman's rank correlation, p from t (Spearman 1904)."""
    n = len(first)
    if n < 3:
        return RankCorrelation(n=n, rho=None, p=None, why=f"{n} units are too few")
    still = [values for values in (first, second) if np.ptp(values) <= 1e-12 * largest(values)]
    if still:
        return RankCorrelation(
            n=n, rho=None, p=None, why="no variation: one of the two is constant"
        )
    found = stats.spearmanr(np.round(first, 12), np.round(second, 12))
    return RankCorrelation(n=n, rho=float(found.statistic), p=float(found.pvalue))


def dose_response(dataset: Dataset, plan: DosePlan, level: float = 0.95) -> Dose:
    """Compute Spearman's correlation, and least squares with classical and clustered errors.

    Raises:
        PlanError: An outcome, column or arm does not exist.
    """
    names = (plan.dose, *plan.covariates)
    sources = [dataset.cells(name) for name in (plan.outcome, *names)]
    means = np.column_stack([unit_means(cells.of(plan.within)) for cells in sources])
    units = means[np.isfinite(means).all(axis=1)]
    runs, clusters = _complete_runs(sources, plan.within)
    return Dose(
        outcome=plan.outcome,
        dose=plan.dose,
        within=plan.within,
        covariates=plan.covariates,
        label="randomised dose" if plan.randomised else "correlational",
        spearman=spearman(units[:, 1], units[:, 0]),
        classical=least_squares(units[:, 0], units[:, 1:], names, level=level),
        clustered=least_squares(runs[:, 0], runs[:, 1:], names, clusters=clusters, level=level),
        left_out=len(means) - len(units),
    )


def _complete_runs(
    sources: list[Cells], arm: str
) -> tuple[Floats, np.ndarray[tuple[int], np.dtype[np.intp]]]:
    columns = [cells.judges_averaged().of(arm)[..., 0] for cells in sources]
    units = np.repeat(np.arange(columns[0].shape[0]), columns[0].shape[1])
    table = np.column_stack([column.reshape(-1) for column in columns])
    whole = np.isfinite(table).all(axis=1)
    return table[whole], units[whole]
