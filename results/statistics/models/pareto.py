"""The Pareto front of quality against cost, with resampled membership."""

from __future__ import annotations

import numpy as np

from orglab.results.statistics.data.arrays import Flags, Floats

__all__ = ["front", "front_shares"]

RESAMPLES = 1000
_AT_ONCE = 50
"""Resamples made at once: it bounds the memory."""


def front(cost: Floats, quality: Floats) -> Flags:
    """Find the points that no other beats: none is as good for less, or better for as much.

    Args:
        cost: Less is better; NaN = unknown, and never on the front.
        quality: More is better; likewise.
    """
    known = np.isfinite(cost) & np.isfinite(quality)
    found = np.zeros(len(cost), dtype=np.bool_)
    best, price = -np.inf, -np.inf
    for at in np.lexsort((-quality, cost)):
        if not known[at]:
            continue
        is_tie = quality[at] == best and cost[at] == price
        found[at] = quality[at] > best or is_tie
        if quality[at] > best:
            best, price = float(quality[at]), float(cost[at])
    return found


def front_shares(
    cost: Floats, quality: Floats, *, resamples: int = RESAMPLES, seed: int = 0
) -> Floats:
    """Return the share of resamples of the units in which each point is on the front (Efron 1979).

    Args:
        cost: Points by units; NaN = missing.
        quality: Points by units; NaN = missing.
        resamples: How many.
        seed: Of the resampling.

    Returns:
        A share (0 to 1) a point.
    """
    points, units = cost.shape
    counts = np.zeros(points)
    if units == 0:
        return counts
    generator = np.random.default_rng(seed)
    for start in range(0, resamples, _AT_ONCE):
        size = min(_AT_ONCE, resamples - start)
        weights = generator.multinomial(units, np.full(units, 1 / units), size=size).astype(
            np.float64
        )
        pairs = zip(
            _resampled_means(cost, weights), _resampled_means(quality, weights), strict=True
        )
        for costs, qualities in pairs:
            counts += front(costs, qualities)
    return np.asarray(counts / resamples)


def _resampled_means(values: Floats, weights: Floats) -> Floats:
    """Return resamples by points: means over the units drawn that have a value."""
    known = np.isfinite(values)
    sums = weights @ np.where(known, values, 0.0).T
    numbers = weights @ known.T.astype(np.float64)
    return np.asarray(sums / np.where(numbers > 0, numbers, np.nan))
