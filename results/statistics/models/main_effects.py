"""What factors of a design do to an outcome: means, contrasts, slopes, interactions.

Every unit is run at every point of the design, so that each figure is made within a unit first and
then averaged over units (summary measures; Matthews et al. 1990): units are the sample, points and
replicates are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import stats

from orglab.results.statistics.data.cells import (
    Flags,
    Floats,
    known_means,
    largest,
    standard_deviation,
)
from orglab.results.statistics.tests.paired import paired_t

Codes: TypeAlias = npt.NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A mean over units.

    Attributes:
        n: Units.
        value: The mean; None without any unit.
        low: Lower end of its t-interval; None where there is none.
        high: Upper end.
        p: Two-sided, of a mean of 0; None where nothing is tested.
        why: Why there is no interval or no test, or "".
    """

    n: int
    value: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    why: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Design:
    """The points at which every unit is run.

    Attributes:
        codes: Points by factors: the number of the level.
        cells: The team that stands for each point; points of one team have one number.
    """

    codes: Codes
    cells: Codes

    def pairs(self, factor: int, level: int, reference: int) -> list[tuple[int, int]]:
        """List points of a level and of the reference that are alike in all other factors.

        Points that are the same team are left out: there the factor changes nothing.
        """
        alike = self.alike(factor, level, reference)
        return [(one, other) for one, other in alike if self.cells[one] != self.cells[other]]

    def alike(self, factor: int, level: int, reference: int) -> list[tuple[int, int]]:
        """List the same, points of one team among them."""
        others = [at for at in range(self.codes.shape[1]) if at != factor]
        there = {
            tuple(self.codes[point, others].tolist()): point
            for point in np.flatnonzero(self.codes[:, factor] == reference).tolist()
        }
        found = []
        for point in np.flatnonzero(self.codes[:, factor] == level).tolist():
            other = there.get(tuple(self.codes[point, others].tolist()))
            if other is not None:
                found.append((point, other))
        return found


def mean_estimate(values: Floats, level: float = 0.95) -> Estimate:
    """Estimate the mean of one value a unit, with its t-interval; missing units (NaN) are left out."""
    known = values[np.isfinite(values)]
    n = len(known)
    if n < 2:
        why = "one unit only: no interval" if n else "no unit has a value"
        return Estimate(n=n, value=float(known[0]) if n else None, why=why)
    mean = float(np.mean(known))
    half = (
        float(stats.t.ppf((1 + level) / 2, n - 1))
        * standard_deviation(known, largest(known))
        / sqrt(n)
    )
    return Estimate(n=n, value=mean, low=mean - half, high=mean + half)


def difference(first: Floats, second: Floats, level: float = 0.95) -> Estimate:
    """Estimate the mean of paired differences, ``first`` minus ``second``, over units that have both."""
    both = np.isfinite(first) & np.isfinite(second)
    found = paired_t(first[both], second[both], level)
    return Estimate(
        n=found.n,
        value=found.difference,
        low=found.low,
        high=found.high,
        p=found.p,
        why=found.why,
    )


def level_mean(values: Floats, design: Design, factor: int, level: int) -> Estimate:
    """Estimate the mean at one level of a factor: over its points within each unit, then over units.

    Args:
        values: Points by units; NaN = missing.
        design: The points.
        factor: Its number.
        level: The level's number.
    """
    return mean_estimate(known_means(values[design.codes[:, factor] == level], 0))


def contrast(values: Floats, design: Design, factor: int, level: int, reference: int) -> Estimate:
    """Compare a level of a factor with the reference, other factors held equal.

    Within a unit each point is compared with the one that differs in this factor alone.

    Returns:
        The mean over units; without a value where no two points are alike in the other factors.
    """
    pairs = design.pairs(factor, level, reference)
    if not pairs:
        return Estimate(n=0, value=None, why="no two variants differ in this factor alone")
    one, other = (values[list(side)] for side in zip(*pairs, strict=True))
    both = np.isfinite(one) & np.isfinite(other)
    return difference(
        known_means(np.where(both, one, np.nan), 0),
        known_means(np.where(both, other, np.nan), 0),
    )


def interaction(
    values: Floats,
    design: Design,
    factors: tuple[int, int],
    levels: tuple[int, int],
    references: tuple[int, int],
) -> Estimate:
    """Estimate how much the contrast of one factor differs between two levels of another.

    Args:
        values: Points by units; NaN = missing.
        design: The points.
        factors: The one and the other.
        levels: A level of each.
        references: The level of each that it is compared with.
    """
    one, other = factors
    inner = design.pairs(one, levels[0], references[0])
    at = {pair[0]: pair for pair in inner}
    parts = []
    for point, partner in design.pairs(other, levels[1], references[1]):
        if point in at and partner in at:
            (a, b), (c, d) = at[point], at[partner]
            parts.append((values[a] - values[b]) - (values[c] - values[d]))
    if not parts:
        return Estimate(n=0, value=None, why="no four variants differ in these two factors alone")
    whole = known_means(np.array(parts), 0)
    return difference(whole, np.zeros(len(whole)))


def fitted(values: Floats, predictors: Floats, names: Sequence[str]) -> list[Estimate]:
    """Fit a linear model within each unit and average its coefficients over units.

    Args:
        values: Points by units; NaN = missing.
        predictors: Points by predictors, without the intercept.
        names: Names of the predictors.

    Returns:
        One estimate a predictor. Units without enough values to separate the predictors are left
        out.
    """
    columns = np.column_stack([np.ones(len(predictors)), predictors])
    scale = np.abs(columns).max(axis=0)
    if (scale == 0).any() or np.linalg.matrix_rank(
        columns / np.where(scale, scale, 1)
    ) < columns.shape[1]:
        why = "the factors are collinear in this design"
        return [Estimate(n=0, value=None, why=why) for _ in names]
    columns = columns / scale
    found = np.full((columns.shape[1], values.shape[1]), np.nan)
    patterns = np.isfinite(values)
    for pattern in np.unique(patterns, axis=1).T:
        if np.linalg.matrix_rank(columns[pattern]) == columns.shape[1]:
            units = (patterns == pattern[:, None]).all(axis=0)
            found[:, units] = np.linalg.pinv(columns[pattern]) @ values[pattern][:, units]
    found = found / scale[:, None]
    zeros = np.zeros(values.shape[1])
    estimates = [difference(row, zeros) for row in found[1:]]
    few = "no unit has enough values to tell the factors apart"
    return [replace(each, why=few) if each.n == 0 else each for each in estimates]


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
