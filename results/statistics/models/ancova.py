"""A paired difference with a covariate's difference partialled out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from orglab.results.statistics.data.arrays import Values, as_floats
from orglab.results.statistics.models.regression import Coefficient, least_squares

__all__ = ["Adjusted", "adjusted_difference"]


@dataclass(frozen=True, kw_only=True)
class Adjusted:
    """What is left of a difference when the arms do not differ in the covariates.

    Attributes:
        covariates: Their names.
        n: Pairs with every value.
        difference: The intercept: the expected difference at no difference in the covariates.
        slopes: The coefficients of the covariates' differences.
        df: Degrees of freedom of t.
        why: Why there is no estimate or no p, or "".
    """

    covariates: tuple[str, ...]
    n: int
    difference: Coefficient | None
    slopes: tuple[Coefficient, ...]
    df: int | None
    why: str = ""


def adjusted_difference(
    d: Values, covariates: Mapping[str, Values], level: float = 0.95
) -> Adjusted:
    """Differences regressed on the covariates' differences, centred at 0 (Judd & Kenny 2010).

    The covariates' differences are not centred at their mean: at 0 the two arms are alike in them,
    and the intercept is the difference that remains.

    Args:
        d: Differences of the outcome, arm minus reference, one a unit.
        covariates: Differences of each covariate over the same units.
        level: Confidence of the intervals, 0 to 1.
    """
    names = tuple(covariates)
    table = np.column_stack([as_floats(covariates[name]) for name in names])
    fit = least_squares(as_floats(d), table, names, level=level)
    return Adjusted(
        covariates=names,
        n=fit.n,
        difference=fit.coefficients[0] if fit.coefficients else None,
        slopes=fit.coefficients[1:],
        df=fit.df,
        why=fit.why,
    )
