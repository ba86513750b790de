"""Agreement between judges: Krippendorff's alpha and raw agreement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from orglab.results.statistics.data.arrays import Floats

__all__ = ["Agreement", "Metric", "agreement", "alpha"]

Metric: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]
Counts: TypeAlias = npt.NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How far judges agree.

    Attributes:
        metric: How far two values are apart.
        alpha: Krippendorff's alpha, 1 = perfect, 0 = chance; None where it is undefined.
        low: Lower end of its bootstrap interval (items, or groups of items, drawn again).
        high: Upper end.
        raw: Part of the pairs of ratings of one item that are equal, 0 to 1.
        items: Items with two ratings or more: those that count.
        left_out: Items with one rating only.
        ratings: Ratings that count.
        judges: Judges with a rating that counts.
        why: Why alpha is undefined, or "".
    """

    metric: Metric
    alpha: float | None
    low: float | None
    high: float | None
    raw: float | None
    items: int
    left_out: int
    ratings: int
    judges: int
    why: str = ""


class _Ratings(NamedTuple):
    """Ratings in one row: the item, and the place among the distinct values, of each."""

    item: Counts
    value: Counts
    distinct: Floats
    sizes: Floats


def alpha(ratings: Floats, metric: Metric) -> float | None:
    """Compute Krippendorff's alpha (Krippendorff 2011), with missing ratings.

    alpha = 1 - D_o / D_e, the observed and the expected disagreement over all pairs of ratings of
    items that have two or more.

    Args:
        ratings: Items in rows, judges in columns; NaN = not rated.
        metric: ``nominal``, ``ordinal``, ``interval`` or ``ratio``.

    Returns:
        alpha; None where no two ratings can be compared or all ratings are equal.

    Raises:
        ValueError: No such metric, or negative values on a ratio scale.
    """
    found = _ratings(ratings, metric)
    return _alpha(found, np.ones(len(found.sizes)), metric)


def agreement(
    ratings: Floats,
    metric: Metric,
    *,
    groups: Counts | None = None,
    seed: int = 0,
    resamples: int = 1000,
    level: float = 0.95,
) -> Agreement:
    """Compute alpha with a percentile bootstrap interval, and raw agreement.

    Args:
        ratings: Items in rows, judges in columns; NaN = not rated.
        metric: How far two values are apart.
        groups: Which group (a unit, say) each item belongs to; whole groups are drawn. Default:
            each item by itself.
        seed: Seed of the bootstrap.
        resamples: How many; 0 for no interval.
        level: Confidence, 0 to 1.

    Raises:
        ValueError: No such metric, or negative values on a ratio scale.
    """
    found = _ratings(ratings, metric)
    usable = np.isfinite(ratings).sum(axis=1) > 1
    value = _alpha(found, np.ones(len(found.sizes)), metric)
    bounds: tuple[float | None, float | None] = (None, None)
    if value is not None and resamples:
        drawn = (np.arange(len(ratings)) if groups is None else np.asarray(groups))[usable]
        bounds = _bootstrap(found, drawn, metric, (seed, resamples), level)
    return Agreement(
        metric=metric,
        alpha=value,
        low=bounds[0],
        high=bounds[1],
        raw=_raw_agreement(found),
        items=len(found.sizes),
        left_out=int((np.isfinite(ratings).sum(axis=1) == 1).sum()),
        ratings=len(found.item),
        judges=int(np.isfinite(ratings[usable]).any(axis=0).sum()),
        why="" if value is not None else _why(found),
    )


def _ratings(ratings: Floats, metric: Metric) -> _Ratings:
    if metric not in get_args(Metric):
        raise ValueError(f"no such metric: {metric}")
    rated = np.isfinite(ratings)
    if metric == "ratio" and (ratings[rated] < 0).any():
        raise ValueError("a ratio scale has no negative values")
    usable = ratings[rated.sum(axis=1) > 1]
    item, judge = np.nonzero(np.isfinite(usable))
    # Means of scores are ties to rounding, not to the last bit.
    distinct, value = np.unique(np.round(usable[item, judge], 12), return_inverse=True)
    sizes = np.bincount(item, minlength=len(usable)).astype(np.float64)
    return _Ratings(item, value.astype(np.intp), distinct, sizes)


def _why(found: _Ratings) -> str:
    if not len(found.sizes):
        return "undefined: no item has two ratings"
    return "undefined: no variation, all ratings are equal"


def _alpha(found: _Ratings, weights: Floats, metric: Metric) -> float | None:
    """Compute alpha with each item counted ``weights`` times."""
    counts = _sums(found.value, weights[found.item], len(found.distinct))
    total = float(counts.sum())
    if total < 2 or int((counts > 0).sum()) < 2:
        return None
    observed, expected = _DISAGREEMENTS[metric](found, weights, counts)
    return 1 - (total - 1) * observed / expected


def _sums(places: Counts, values: Floats, length: int = 0) -> Floats:
    return np.asarray(np.bincount(places, values, length), dtype=np.float64)


Disagreement: TypeAlias = Callable[[_Ratings, Floats, Floats], tuple[float, float]]
"""Sums of the distances over all ordered pairs: within items (each by 1 / (ratings - 1)), and over
all ratings."""


def _nominal(found: _Ratings, weights: Floats, counts: Floats) -> tuple[float, float]:
    equal = _equal_pairs(found)
    within = (found.sizes**2 - equal) / (found.sizes - 1)
    return float(weights @ within), float(counts.sum() ** 2 - (counts**2).sum())


def _equal_pairs(found: _Ratings) -> Floats:
    """Count ordered pairs of equal ratings by item, each rating with itself among them."""
    both = found.item * len(found.distinct) + found.value
    cells, times = np.unique(both, return_counts=True)
    return _sums(cells // len(found.distinct), times.astype(np.float64) ** 2)


def _squared(found: _Ratings, weights: Floats, counts: Floats, at: Floats) -> tuple[float, float]:
    """Sum the squared distances of the positions ``at`` of the distinct values."""
    at = at - float(at @ counts) / float(counts.sum())  # centred: no cancellation in the sums
    x = at[found.value]
    sums, squares = _sums(found.item, x), _sums(found.item, x * x)
    within = 2 * (found.sizes * squares - sums**2) / (found.sizes - 1)
    return float(weights @ within), float(
        2 * counts.sum() * (counts @ at**2) - 2 * (counts @ at) ** 2
    )


def _interval(found: _Ratings, weights: Floats, counts: Floats) -> tuple[float, float]:
    return _squared(found, weights, counts, found.distinct)


def _ordinal(found: _Ratings, weights: Floats, counts: Floats) -> tuple[float, float]:
    # The ordinal distance is the difference of the mid-ranks of the two values.
    return _squared(found, weights, counts, np.cumsum(counts) - counts / 2)


def _ratio(found: _Ratings, weights: Floats, counts: Floats) -> tuple[float, float]:
    values = found.distinct
    sums = values[:, None] + values[None, :]
    apart = ((values[:, None] - values[None, :]) / np.where(sums == 0, 1.0, sums)) ** 2
    table = np.zeros((len(found.sizes), len(values)))
    np.add.at(table, (found.item, found.value), 1.0)
    within = ((table @ apart) * table).sum(axis=1) / (found.sizes - 1)
    return float(weights @ within), float(counts @ apart @ counts)


_DISAGREEMENTS: Mapping[Metric, Disagreement] = {
    "nominal": _nominal,
    "ordinal": _ordinal,
    "interval": _interval,
    "ratio": _ratio,
}


def _raw_agreement(found: _Ratings) -> float | None:
    if not len(found.sizes):
        return None
    pairs = float((found.sizes * (found.sizes - 1)).sum())
    return float((_equal_pairs(found) - found.sizes).sum()) / pairs


def _bootstrap(
    found: _Ratings, groups: Counts, metric: Metric, draw: tuple[int, int], level: float
) -> tuple[float | None, float | None]:
    """Return percentiles of alpha over resamples of whole groups, without undefined resamples."""
    names, group = np.unique(groups, return_inverse=True)
    if len(names) < 2:
        return None, None
    generator = np.random.default_rng(draw[0])
    values = []
    for _ in range(draw[1]):
        drawn = generator.integers(len(names), size=len(names))
        times = np.bincount(drawn, minlength=len(names)).astype(np.float64)
        values.append(_alpha(found, times[group], metric))
    known = [value for value in values if value is not None]
    if not known:
        return None, None
    tail = (1 - level) / 2
    low, high = np.quantile(known, [tail, 1 - tail])
    return float(low), float(high)
