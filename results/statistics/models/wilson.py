"""Rates and their intervals."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist
from typing import NamedTuple


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


def wilson(hits: int, trials: int, level: float = 0.95) -> Interval:
    """Compute Wilson's score interval of a rate (Wilson 1927), without continuity correction.

    Args:
        hits: How often it happened.
        trials: Out of how many.
        level: Confidence, 0 to 1.

    Raises:
        ValueError: There are no trials, or more hits than trials.
    """
    if not 0 <= hits <= trials or trials == 0:
        raise ValueError(f"a rate of {hits} in {trials} has no interval")
    z = NormalDist().inv_cdf((1 + level) / 2)
    rate, weight = hits / trials, z * z / trials
    middle = (rate + weight / 2) / (1 + weight)
    half = z * sqrt(rate * (1 - rate) / trials + weight / (4 * trials)) / (1 + weight)
    # At the ends the exact bounds are 0 and 1; rounding must not overstep or miss them.
    return Interval(middle - half if hits else 0.0, middle + half if hits < trials else 1.0)
