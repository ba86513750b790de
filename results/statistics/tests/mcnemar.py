"""Binary outcomes compared within units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import copysign, sqrt

import numpy as np
import numpy.typing as npt
from statsmodels.stats.contingency_tables import mcnemar as _mcnemar

from orglab.results.statistics.models.wilson import Interval, wilson

#: With fewer discordant pairs the test is the exact binomial one.
EXACT_BELOW = 25

Binary = Sequence[bool] | npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class PairedRates:
    """Two rates over the same units, and McNemar's test.

    Attributes:
        n: Pairs.
        both: Units that passed under both.
        only_first: Passed under the arm alone.
        only_second: Passed under the reference alone.
        neither: Passed under none.
        difference: Rate of the arm minus rate of the reference; None without pairs.
        low: Lower end of its interval (Newcombe 1998, method 10).
        high: Upper end.
        statistic: Chi-square (continuity-corrected), or the smaller discordant count where exact.
        p: Two-sided; None without a discordant pair.
        test: Name of the test.
        why: Why there is no p, or "".
    """

    n: int
    both: int
    only_first: int
    only_second: int
    neither: int
    difference: float | None
    low: float | None
    high: float | None
    statistic: float | None
    p: float | None
    test: str
    why: str = ""


def paired_rates(first: Binary, second: Binary, level: float = 0.95) -> PairedRates:
    """Compute McNemar's test (McNemar 1947), exact with fewer than 25 discordant pairs.

    Args:
        first: Whether each unit passed under the arm.
        second: The same units under the reference.
        level: Confidence of the interval, 0 to 1.

    Raises:
        ValueError: The two are not of one length.
    """
    one, other = np.asarray(first, dtype=np.bool_), np.asarray(second, dtype=np.bool_)
    if one.shape != other.shape:
        raise ValueError(f"{len(one)} and {len(other)} values are not pairs")
    table = [int((x & y).sum()) for x in (one, ~one) for y in (other, ~other)]
    both, b, c, neither = table
    exact = b + c < EXACT_BELOW
    test = _mcnemar([[both, b], [c, neither]], exact=exact) if b + c else None
    interval = risk_difference(both, b, c, neither, level) if len(one) else None
    return PairedRates(
        n=len(one),
        both=both,
        only_first=b,
        only_second=c,
        neither=neither,
        difference=(b - c) / len(one) if len(one) else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        statistic=float(test.statistic) if test else None,
        p=float(test.pvalue) if test else None,
        test="McNemar, exact" if exact else "McNemar, continuity-corrected",
        why=_why(len(one), b + c),
    )


def _why(n: int, discordant: int) -> str:
    if not n:
        return "no pair has both values"
    return "" if discordant else "no variation: no unit differs between the arms, so no test"


def risk_difference(
    both: int, only_first: int, only_second: int, neither: int, level: float = 0.95
) -> Interval:
    """Compute the interval of a difference of paired rates (Newcombe 1998, method 10).

    The square-and-add of the two Wilson intervals, with the correlation of the pairs.

    Raises:
        ValueError: There are no pairs.
    """
    n = both + only_first + only_second + neither
    ones, others = both + only_first, both + only_second
    rate, other = ones / max(n, 1), others / max(n, 1)
    one_range, other_range = wilson(ones, n, level), wilson(others, n, level)
    correlation = _correlation(both, only_first, only_second, neither)
    low = _span(rate - one_range.low, other_range.high - other, correlation)
    high = _span(one_range.high - rate, other - other_range.low, correlation)
    return Interval(rate - other - low, rate - other + high)


def _span(one: float, other: float, correlation: float) -> float:
    return sqrt(max(0.0, one * one - 2 * correlation * one * other + other * other))


def _correlation(both: int, b: int, c: int, neither: int) -> float:
    """Compute phi with Newcombe's continuity correction; 0 if a rate is 0 or 1."""
    margins = (both + b) * (c + neither) * (both + c) * (b + neither)
    if not margins:
        return 0.0
    excess = float(both * neither - b * c)
    if excess > 0:
        excess = max(excess - (both + b + c + neither) / 2, 0.0)
    return copysign(abs(excess) / sqrt(margins), excess)
