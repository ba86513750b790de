"""Standardised sizes of a paired difference."""

from __future__ import annotations

from math import exp, lgamma, sqrt

import numpy as np
from scipy import special

from orglab.results.statistics.data.arrays import Values, as_floats, largest, standard_deviation
from orglab.results.statistics.models.wilson import Interval

__all__ = ["d_av", "d_z_interval", "hedges_correction"]


def d_z_interval(d_z: float, pairs: int, level: float = 0.95) -> Interval | None:
    """Interval of d_z = mean(d) / sd(d) = t / sqrt(n), by the noncentral t distribution.

    The bounds are the noncentralities that make the observed t the upper or the lower quantile,
    divided by sqrt(n) (Lakens 2013; Cumming & Finch 2001).

    Args:
        d_z: The observed effect size.
        pairs: How many pairs it comes from.
        level: Confidence, 0 to 1.

    Returns:
        The interval; None with fewer than two pairs, or where no bound can be found.
    """
    if pairs < 2:
        return None
    t, tail = d_z * sqrt(pairs), (1 - level) / 2
    # For a negative t the same bounds are those of -t, mirrored; the search is at home above 0.
    bounds = [float(special.nctdtrinc(pairs - 1, q, abs(t))) for q in (1 - tail, tail)]
    if not np.isfinite(bounds).all():
        return None
    low, high = (bound / sqrt(pairs) for bound in bounds)
    return Interval(low, high) if t >= 0 else Interval(-high, -low)


def hedges_correction(df: int) -> float | None:
    """The exact correction J that takes the bias out of a standardised difference.

    J = gamma(df/2) / (sqrt(df/2) gamma((df - 1)/2)) (Hedges 1981); g_z = J d_z.

    Returns:
        J; None below two degrees of freedom, where it does not exist.
    """
    if df < 2:
        return None
    return exp(lgamma(df / 2) - lgamma((df - 1) / 2)) / sqrt(df / 2)


def d_av(first: Values, second: Values) -> float | None:
    """Mean difference divided by the mean of the two standard deviations (Lakens 2013).

    Unlike d_z it does not grow with the correlation of the two arms.

    Returns:
        The size; None with fewer than two pairs or where neither arm varies.
    """
    one, other = as_floats(first), as_floats(second)
    if len(one) < 2:
        return None
    scale = largest(one, other)
    spread = (standard_deviation(one, scale) + standard_deviation(other, scale)) / 2
    return float(np.mean(one - other)) / spread if spread else None
