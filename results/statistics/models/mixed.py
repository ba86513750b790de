"""The linear mixed model: a sensitivity check beside the paired t.

Designs are built here as arrays. No formula is used: formula libraries run Python.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import stats
from statsmodels.regression.linear_model import OLS
from statsmodels.regression.mixed_linear_model import VCSpec

from orglab.results.statistics.data.cells import Floats
from orglab.results.statistics.models.likelihood import AlikeMixedLM
from orglab.results.statistics.models.regression import Coefficient, coefficient

#: A variance below this part of the residual one lies on the boundary, 0.
_BOUNDARY = 1e-5
#: Powell first: lbfgs raises on singular matrices in half the fits (STATISTICS.md).
_OPTIMISERS = ("powell", "nm", "cg")
#: With crossed judges the fit is one dense problem: so many random effects are the limit.
MOST_COLUMNS = 150
#: And of so many units where units are the only groups.
MOST_UNITS = 2500

Codes: TypeAlias = npt.NDArray[np.intp]
Fitted: TypeAlias = Any


@dataclass(frozen=True, kw_only=True)
class MixedModel:
    """A mixed model fitted by REML; without coefficients where none could be, and ``why`` says it.

    Attributes:
        rows: Rows.
        units: Units: the groups.
        coefficients: Fixed effects, the intercept first; p from t with ``df``.
        df: Units - 1.
        variances: By random part (``unit``, ``slope``, ``judge``) and ``residual``.
        boundary: Random parts whose variance is 0, on the boundary.
        optimiser: Which one ended.
        converged: It said that it converged. An estimate that did not is never shown without it.
        least_squares: The same fixed effects by ordinary least squares; in a balanced table they
            must agree.
        agrees: Whether they do (to 1e-4 of the residual deviation); None where the table is not
            balanced, so that they may differ.
        notes: What the fit warned of.
        why: Why there is no fit, or "".
    """

    rows: int
    units: int
    coefficients: tuple[Coefficient, ...] = ()
    df: int | None = None
    variances: Mapping[str, float] | None = None
    boundary: tuple[str, ...] = ()
    optimiser: str = ""
    converged: bool = False
    least_squares: tuple[float, ...] = ()
    agrees: bool | None = None
    notes: tuple[str, ...] = ()
    why: str = ""


class _Design(NamedTuple):
    outcome: Floats
    fixed: Floats
    units: Codes
    slope: Floats | None
    judges: Codes | None


def mixed_model(
    outcome: Floats,
    predictors: Floats,
    names: Sequence[str],
    units: Codes,
    *,
    slope: Floats | None = None,
    judges: Codes | None = None,
    balanced: bool = False,
    level: float = 0.95,
) -> MixedModel:
    """Fit ``outcome ~ predictors`` with a random intercept by unit (Laird & Ware 1982).

    Args:
        outcome: One value a row.
        predictors: Rows by predictors; the intercept is added.
        names: Names of the predictors.
        units: The unit of each row, from 0.
        slope: A predictor whose effect varies by unit (the arm, coded -1/2 and 1/2), independent of
            the intercept.
        judges: The judge of each row, from 0: a component crossed with the units.
        balanced: Every unit has the same rows, so that least squares must find the same effects.
        level: Confidence of the intervals, 0 to 1.

    Returns:
        The fit. p comes from t with units - 1 degrees of freedom, not from z as statsmodels has it:
        z is far too sure of itself with few units.
    """
    design = _Design(
        outcome, np.column_stack([np.ones(len(outcome)), predictors]), units, slope, judges
    )
    rows, count = len(outcome), len(np.unique(units))
    why = _why_not(design, count)
    if why:
        return MixedModel(rows=rows, units=count, why=why)
    plain = OLS(outcome, design.fixed).fit()
    fit, optimiser, notes = _fit(design)
    if fit is None:
        return MixedModel(rows=rows, units=count, notes=notes, why="no optimiser found a fit")
    variances = _variances(fit)
    edge = tuple(n for n, v in variances.items() if n != "residual" and v == 0)
    close = np.abs(np.asarray(fit.fe_params) - plain.params) <= 1e-4 * np.sqrt(fit.scale)
    return MixedModel(
        rows=rows,
        units=count,
        coefficients=_coefficients(fit, ("intercept", *names), count - 1, level),
        df=count - 1,
        variances=variances,
        boundary=edge,
        optimiser=optimiser,
        converged=bool(fit.converged),
        least_squares=tuple(float(value) for value in plain.params),
        agrees=bool(close.all()) if balanced else None,
        notes=notes,
    )


def _why_not(design: _Design, units: int) -> str:
    rows, columns = design.fixed.shape
    if units < 2:
        return "one unit only"
    if rows <= columns + 1:
        return f"{rows} rows are too few"
    if np.linalg.matrix_rank(design.fixed) < columns:
        return "the predictors do not vary, or are collinear"
    effects = units * (1 if design.slope is None else 2)
    if design.judges is not None and effects > MOST_COLUMNS:
        return f"{effects} random effects crossed with judges are too many (limit {MOST_COLUMNS})"
    if units > MOST_UNITS:
        return f"{units} units are too many (limit {MOST_UNITS})"
    residuals = OLS(design.outcome, design.fixed).fit().resid
    if np.abs(residuals).max() <= 1e-10 * np.abs(design.outcome).max():
        return "no variation beside the predictors"
    return ""


def _fit(design: _Design) -> tuple[Fitted | None, str, tuple[str, ...]]:
    """Return the first converged fit, else the last one, with the optimiser's name and all warnings."""
    notes: list[str] = []
    last: tuple[Fitted | None, str] = (None, "")
    for optimiser in _OPTIMISERS:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                fit = _model(design).fit(method=[optimiser], reml=True)
            except (np.linalg.LinAlgError, ValueError, ZeroDivisionError) as error:
                notes.append(f"{optimiser}: {error}")
                continue
        if not (np.isfinite(fit.fe_params).all() and np.isfinite(fit.bse_fe).all()):
            notes.append(f"{optimiser}: no finite estimate")
            continue
        notes += [f"{optimiser}: {warning.message}" for warning in caught]
        last = (fit, optimiser)
        if fit.converged:
            break
        notes.append(f"{optimiser}: did not converge")
    return (*last, tuple(dict.fromkeys(notes)))


def _model(design: _Design) -> AlikeMixedLM:
    """Build the model: units are groups if nothing crosses them; else all rows are one group."""
    groups = design.units if design.judges is None else np.zeros(len(design.units), dtype=np.intp)
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    parts = {"unit": (design.units, np.ones(len(design.units)))}
    if design.slope is not None:
        parts["slope"] = (design.units, design.slope)
    if design.judges is not None:
        parts["judge"] = (design.judges, np.ones(len(design.units)))
    names = sorted(parts)
    mats = [[_indicators(*parts[name], rows) for rows in members] for name in names]
    columns = [[[str(at) for at in range(m.shape[1])] for m in each] for each in mats]
    return AlikeMixedLM(
        design.outcome, design.fixed, groups=groups, exog_vc=VCSpec(names, columns, mats)
    )


def _indicators(levels: Codes, values: Floats, rows: Codes) -> Floats:
    own, place = np.unique(levels[rows], return_inverse=True)
    found = np.zeros((len(rows), len(own)))
    found[np.arange(len(rows)), place] = values[rows]
    return found


def _variances(fit: Fitted) -> dict[str, float]:
    scale = float(fit.scale)
    found = {
        name: float(value) for name, value in zip(fit.model.exog_vc.names, fit.vcomp, strict=True)
    }
    kept = {name: value if value > _BOUNDARY * scale else 0.0 for name, value in found.items()}
    return kept | {"residual": scale}


def _coefficients(
    fit: Fitted, names: Sequence[str], df: int, level: float
) -> tuple[Coefficient, ...]:
    estimates, errors = np.asarray(fit.fe_params), np.asarray(fit.bse_fe)
    reach = float(stats.t.ppf((1 + level) / 2, df)) * errors
    with np.errstate(invalid="ignore", divide="ignore"):
        statistics = estimates / errors
    columns = [estimates, errors, estimates - reach, estimates + reach, statistics]
    columns.append(2 * stats.t.sf(np.abs(statistics), df))
    rows = np.column_stack(columns).tolist()
    return tuple(coefficient(name, row) for name, row in zip(names, rows, strict=True))
