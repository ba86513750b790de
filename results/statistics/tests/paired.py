"""The paired t-test on unit means, with effect sizes."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, floor, lgamma, log10, sqrt

import numpy as np
from scipy import special, stats

from orglab.results.statistics.data.cells import (
    Floats,
    Values,
    as_floats,
    largest,
    standard_deviation,
)
from orglab.results.statistics.models.wilson import Interval

#: Differences are compared and ranked after rounding to this many significant digits.
DIGITS = 12


@dataclass(frozen=True, kw_only=True)
class Wins:
    """How many units were higher in the arm, equal, or lower."""

    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, kw_only=True)
class PairedTest:
    """A paired t-test; what cannot be computed is None, and ``why`` says it in words.

    Attributes:
        n: Number of pairs (units).
        difference: Mean difference, arm minus reference, in the units of the outcome.
        low: Lower end of its t-interval.
        high: Upper end.
        sd: Standard deviation of the differences (n - 1).
        statistic: t.
        df: Degrees of freedom, n - 1.
        p: Two-sided.
        d_z: Mean difference / sd of the differences = t / sqrt(n) (Lakens 2013).
        d_z_low: Lower end of its interval (noncentral t).
        d_z_high: Upper end.
        d_av: Mean difference / mean of the two standard deviations (Lakens 2013).
        g_z: d_z without its bias (exact J; Hedges 1981).
        why: Why there is no p, or "".
    """

    n: int
    difference: float | None
    low: float | None = None
    high: float | None = None
    sd: float | None = None
    statistic: float | None = None
    df: int | None = None
    p: float | None = None
    d_z: float | None = None
    d_z_low: float | None = None
    d_z_high: float | None = None
    d_av: float | None = None
    g_z: float | None = None
    why: str = ""


def significant_digits(values: Floats, beside: Floats, digits: int = DIGITS) -> Floats:
    """Round ``values`` at the last of ``digits`` significant digits of the values ``beside``."""
    rounded = [
        round(value, digits - 1 - floor(log10(size))) if 0 < size < np.inf else value
        for value, size in zip(values.tolist(), np.abs(beside).tolist(), strict=True)
    ]
    return np.array(rounded, dtype=np.float64)


def differences(first: Values, second: Values) -> Floats:
    """Return ``first`` minus ``second`` by pairs, free of rounding noise.

    Each difference is rounded at the twelfth significant digit of the larger of its two values, so
    that 0.3 - 0.1 and 0.2 - 0.0 are a tie, and 0.1 + 0.2 - 0.3 is zero.

    Raises:
        ValueError: The two are not of one length, or hold missing values.
    """
    one, other = as_floats(first), as_floats(second)
    if len(one) != len(other):
        raise ValueError(f"{len(one)} and {len(other)} values are not pairs")
    return significant_digits(one - other, np.maximum(np.abs(one), np.abs(other)))


def wins(first: Values, second: Values) -> Wins:
    """Count units in which ``first`` is higher, equal to rounding, or lower."""
    signs = np.sign(differences(first, second))
    counts = [int((signs == sign).sum()) for sign in (1, 0, -1)]
    return Wins(wins=counts[0], ties=counts[1], losses=counts[2])


def paired_t(first: Values, second: Values, level: float = 0.95) -> PairedTest:
    """Compute a paired t-test of unit means, two-sided (Student 1908; sizes: Lakens 2013).

    Args:
        first: One value a unit under the arm.
        second: The same units, in the same order, under the reference.
        level: Confidence of the intervals, 0 to 1.

    Returns:
        The test. Without p where there are fewer than two pairs, or where the differences do not
        vary (sd <= 1e-12 of the largest value): t and p would be artefacts of rounding.

    Raises:
        ValueError: The two are not of one length, or hold missing values.
    """
    one, other = as_floats(first), as_floats(second)
    rounded = differences(one, other)
    d = one - other
    if len(d) < 2:
        return _too_few(d)
    mean, scale = float(np.mean(d)), largest(one, other)
    sd = standard_deviation(d, scale)
    if not sd:
        return _constant(0.0 if not rounded.any() else mean, d, d_av(one, other))
    return _tested(d, sd, d_av(one, other), level)


def _too_few(d: Floats) -> PairedTest:
    if len(d) == 0:
        return PairedTest(n=0, difference=None, why="no pair has both values")
    return PairedTest(n=1, difference=float(d[0]), why="one pair only: no test")


def _constant(mean: float, d: Floats, average: float | None) -> PairedTest:
    what = "the differences are constant to rounding" if mean else "all differences are 0"
    why = f"no variation: {what}, so no test"
    return PairedTest(n=len(d), difference=mean, sd=0.0, d_av=average, why=why)


def _tested(d: Floats, sd: float, average: float | None, level: float) -> PairedTest:
    n, unit = len(d), largest(d)
    found = stats.ttest_1samp(d / unit, 0.0)
    interval = found.confidence_interval(level)
    size = float(found.statistic) / sqrt(n)
    bounds, correction = d_z_interval(size, n, level), hedges_correction(n - 1)
    return PairedTest(
        n=n,
        difference=float(np.mean(d / unit)) * unit,
        low=float(interval.low) * unit,
        high=float(interval.high) * unit,
        sd=sd,
        statistic=float(found.statistic),
        df=n - 1,
        p=float(found.pvalue),
        d_z=size,
        d_z_low=bounds.low if bounds else None,
        d_z_high=bounds.high if bounds else None,
        d_av=average,
        g_z=size * correction if correction else None,
    )


def d_z_interval(d_z: float, pairs: int, level: float = 0.95) -> Interval | None:
    """Compute the interval of d_z = mean(d) / sd(d) = t / sqrt(n), by the noncentral t distribution.

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
    """Return the exact correction J that takes the bias out of a standardised difference.

    J = gamma(df/2) / (sqrt(df/2) gamma((df - 1)/2)) (Hedges 1981); g_z = J d_z.

    Returns:
        J; None below two degrees of freedom, where it does not exist.
    """
    if df < 2:
        return None
    return exp(lgamma(df / 2) - lgamma((df - 1) / 2)) / sqrt(df / 2)


def d_av(first: Values, second: Values) -> float | None:
    """Return the mean difference divided by the mean of the two standard deviations (Lakens 2013).

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


@dataclass(frozen=True, kw_only=True)
class Equivalence:
    """Two one-sided tests (TOST).

    Attributes:
        margin: Half-width of the equivalence region, in the units of the outcome.
        margin_d_z: The same in standard deviations of the differences.
        p: The larger of the two one-sided p-values; None where nothing varies.
        equivalent: p < alpha.
        smallest: The smallest margin (outcome's units) that these data establish at alpha.
        possible_d_z: The smallest margin (d_z) that so many pairs could establish at all, were
            the observed difference exactly 0.
        why: Why there is no p, or "".
    """

    margin: float | None
    margin_d_z: float | None
    p: float | None
    equivalent: bool | None
    smallest: float | None
    possible_d_z: float | None
    why: str = ""


def equivalence(
    first: Values,
    second: Values,
    *,
    margin: float | None = None,
    margin_d_z: float | None = None,
    alpha: float = 0.05,
) -> Equivalence:
    """Test the equivalence of pairs by TOST (Schuirmann 1987; Lakens 2017).

    Args:
        first: One value a unit under the arm.
        second: The same units under the reference.
        margin: The region is -margin to margin, in the units of the outcome; or
        margin_d_z: in standard deviations of the differences. Exactly one is given. The latter uses
            the observed standard deviation as if it were known (Lakens 2017).
        alpha: Level of each one-sided test.

    Raises:
        ValueError: Not exactly one margin, or not above 0.
    """
    return equivalence_of(
        paired_t(first, second), margin=margin, margin_d_z=margin_d_z, alpha=alpha
    )


def equivalence_of(
    test: PairedTest,
    *,
    margin: float | None = None,
    margin_d_z: float | None = None,
    alpha: float = 0.05,
) -> Equivalence:
    """Test equivalence from a paired test; arguments as in ``equivalence``.

    Raises:
        ValueError: Not exactly one margin, or not above 0.
    """
    given = [value for value in (margin, margin_d_z) if value is not None]
    if len(given) != 1 or not given[0] > 0:
        raise ValueError("give one margin, above 0")
    critical = _critical(test.n, alpha)
    possible = critical / sqrt(test.n) if critical is not None else None
    if critical is None or not test.sd or test.difference is None:
        return Equivalence(
            margin=margin, margin_d_z=margin_d_z, p=None, equivalent=None, smallest=None,
            possible_d_z=possible, why=test.why,
        )  # fmt: skip
    error = test.sd / sqrt(test.n)
    half = margin if margin is not None else given[0] * test.sd
    p = float(stats.t.sf((half - abs(test.difference)) / error, test.n - 1))
    return Equivalence(
        margin=half,
        margin_d_z=half / test.sd,
        p=p,
        equivalent=p < alpha,
        smallest=abs(test.difference) + critical * error,
        possible_d_z=possible,
    )


def _critical(n: int, alpha: float) -> float | None:
    return float(stats.t.isf(alpha, n - 1)) if n > 1 else None
