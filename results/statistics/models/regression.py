"""Least squares on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import stats
from statsmodels.regression.linear_model import OLS

from orglab.results.statistics.data.cells import Cells, Floats, largest, unit_means
from orglab.results.statistics.data.dataset import Dataset
from orglab.results.statistics.plan import DosePlan

Fitted: TypeAlias = Any

#: Residuals below this part of the largest outcome are rounding: the fit is exact, p an artefact.
_EXACT = 1e-10


@dataclass(frozen=True, kw_only=True)
class Coefficient:
    """One coefficient of a regression.

    Attributes:
        name: What it belongs to.
        estimate: In units of the outcome for a step of 1.
        error: Its standard error.
        low: Lower end of its t-interval.
        high: Upper end.
        statistic: t.
        p: Two-sided.
    """

    name: str
    estimate: float
    error: float | None
    low: float | None
    high: float | None
    statistic: float | None
    p: float | None


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A regression; without coefficients where it cannot be made, and ``why`` says so.

    Attributes:
        n: Rows.
        df: Degrees of freedom of t.
        coefficients: The intercept first.
        r_squared: Part of the variance explained, 0 to 1.
        errors: ``classical``, or ``clustered by unit``.
        clusters: Clusters, where clustered.
        why: Why there is no estimate or no p, or "".
    """

    n: int
    df: int | None
    coefficients: tuple[Coefficient, ...]
    r_squared: float | None
    errors: str
    clusters: int | None = None
    why: str = ""


def least_squares(
    outcome: Floats,
    predictors: Floats,
    names: Sequence[str],
    *,
    clusters: npt.NDArray[np.intp] | None = None,
    level: float = 0.95,
) -> Fit:
    """Fit ordinary least squares with an intercept.

    Args:
        outcome: One value a row.
        predictors: Rows by predictors.
        names: Names of the predictors.
        clusters: The cluster of each row, for errors that allow correlation within clusters
            (Liang & Zeger 1986, with the small-sample factor, t with clusters - 1 degrees).
        level: Confidence of the intervals, 0 to 1.
    """
    design = np.column_stack([np.ones(len(outcome)), predictors])
    kind = "classical" if clusters is None else "clustered by unit"
    count = None if clusters is None else len(np.unique(clusters))
    why = _why_not(design, names, count)
    if why:
        return Fit(
            n=len(outcome), df=None, coefficients=(), r_squared=None, errors=kind, clusters=count,
            why=why,
        )  # fmt: skip
    model = OLS(outcome, design)
    fit = model.fit()
    spread = np.sqrt(fit.ssr / len(outcome)) <= _EXACT * largest(outcome)
    why = "the predictors give the outcome to rounding: no test" if spread else ""
    df = int(fit.df_resid) if count is None else count - 1
    r_squared = float(fit.rsquared) if np.ptp(outcome) else None
    if clusters is not None:
        fit = model.fit(cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)
    return Fit(
        n=len(outcome),
        df=df,
        coefficients=_coefficients(fit, ("intercept", *names), bool(spread), level),
        r_squared=r_squared,
        errors=kind,
        clusters=count,
        why=why,
    )


def _why_not(design: Floats, names: Sequence[str], clusters: int | None) -> str:
    rows, columns = design.shape
    if rows <= columns:
        return f"{rows} rows are too few for {columns} coefficients"
    still = [name for at, name in enumerate(names, 1) if _is_constant(design[:, at])]
    if still:
        return f"{', '.join(still)} does not vary"
    scaled = design / np.abs(design).max(axis=0)
    if np.linalg.matrix_rank(scaled) < columns:
        return "the predictors are collinear"
    if clusters is not None and clusters < 2:
        return "one cluster only"
    return ""


def _is_constant(column: Floats) -> bool:
    return bool(np.ptp(column) <= 1e-12 * largest(column))


def _coefficients(
    fit: Fitted, names: Sequence[str], exact: bool, level: float
) -> tuple[Coefficient, ...]:
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high = np.asarray(fit.conf_int(1 - level)).T
        columns = [fit.params, fit.bse, low, high, fit.tvalues, fit.pvalues]
    rows = np.column_stack(columns).tolist()
    return tuple(
        coefficient(name, row, known=not exact) for name, row in zip(names, rows, strict=True)
    )


def coefficient(name: str, row: Sequence[float], *, known: bool = True) -> Coefficient:
    """Make a coefficient of its estimate, error, low, high, statistic and p."""
    """Make a coefficient, without error and test if they are not known.

    A cluster that alone decides a coefficient leaves it no residual; rounding may then make its
    variance negative.
    """
    tested = known and np.isfinite(row[1]) and row[1] > 0
    error, low, high, statistic, p = row[1:] if tested else [None] * 5
    return Coefficient(
        name=name, estimate=row[0], error=error, low=low, high=high, statistic=statistic, p=p
    )


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
