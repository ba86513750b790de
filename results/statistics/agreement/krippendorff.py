"""Agreement between judges: Krippendorff's alpha and raw agreement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from orglab.results.statistics.data.cells import Cells, Floats, optional
from orglab.results.statistics.data.dataset import Dataset

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
    """How often each item has each of the distinct values."""

    counts: Floats
    distinct: Floats

    @property
    def sizes(self) -> Floats:
        """Ratings of each item."""
        return np.asarray(self.counts.sum(axis=1))


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
    return _alpha(found, np.ones(len(found.counts)), metric)


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
    value = _alpha(found, np.ones(len(found.counts)), metric)
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
        items=len(found.counts),
        left_out=int((np.isfinite(ratings).sum(axis=1) == 1).sum()),
        ratings=int(found.sizes.sum()),
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
    counts = np.zeros((len(usable), len(distinct)))
    np.add.at(counts, (item, value), 1.0)
    return _Ratings(counts, distinct)


def _why(found: _Ratings) -> str:
    if not len(found.counts):
        return "undefined: no item has two ratings"
    return "undefined: no variation, all ratings are equal"


def _alpha(found: _Ratings, weights: Floats, metric: Metric) -> float | None:
    """Compute alpha with each item counted ``weights`` times."""
    counts = weights @ found.counts
    total = float(counts.sum())
    if total < 2 or int((counts > 0).sum()) < 2:
        return None
    within, expected = _disagreements(found, counts, metric)
    return 1 - (total - 1) * float(weights @ within / expected)


def _disagreements(found: _Ratings, counts: Floats, metric: Metric) -> tuple[Floats, float]:
    """Sum distances over ordered pairs: within each item by 1 / (ratings - 1), and over all."""
    own, sizes, at = found.counts, found.counts.sum(axis=1), found.distinct
    if metric == "nominal":
        within, expected = sizes**2 - (own**2).sum(axis=1), counts.sum() ** 2 - (counts**2).sum()
    elif metric == "ratio":
        sums = at[:, None] + at[None, :]
        apart = ((at[:, None] - at[None, :]) / np.where(sums == 0, 1.0, sums)) ** 2
        within, expected = ((own @ apart) * own).sum(axis=1), counts @ apart @ counts
    else:
        # The ordinal distance is the difference of the mid-ranks of the two values.
        at = np.cumsum(counts) - counts / 2 if metric == "ordinal" else at
        at = at - (at @ counts) / counts.sum()  # centred: no cancellation in the sums
        within = 2 * (sizes * (own @ at**2) - (own @ at) ** 2)
        expected = 2 * counts.sum() * (counts @ at**2) - 2 * (counts @ at) ** 2
    return np.asarray(within / (sizes - 1)), float(expected)


def _raw_agreement(found: _Ratings) -> float | None:
    if not len(found.counts):
        return None
    pairs = float((found.sizes * (found.sizes - 1)).sum())
    return float((found.counts * (found.counts - 1)).sum()) / pairs


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


_METRICS: Mapping[str, Metric] = {
    "binary": "nominal",
    "nominal": "nominal",
    "ordinal": "ordinal",
    "interval": "interval",
    "ratio": "ratio",
    "count": "ratio",
}


@dataclass(frozen=True, kw_only=True)
class JudgeRow:
    """One judge.

    Attributes:
        judge: The name.
        ratings: Ratings given.
        missing: Completed runs that it did not rate.
        mean: Mean of its ratings.
        severity: Mean distance of its ratings from the mean of all judges of the same run; below 0
            is severe. Only runs with two ratings or more.
        alpha_without: Alpha of the other judges.
    """

    judge: str
    ratings: int
    missing: int
    mean: float | None
    severity: float | None
    alpha_without: float | None


@dataclass(frozen=True, kw_only=True)
class JudgeAgreement:
    """The judges of one outcome.

    Attributes:
        outcome: The outcome.
        agreement: Over the runs of all arms; the bootstrap draws whole units.
        by_arm: Alpha within each arm.
        judges: One row a judge.
    """

    outcome: str
    agreement: Agreement
    by_arm: Mapping[str, float | None]
    judges: tuple[JudgeRow, ...]


def metric_of(scale: str) -> Metric:
    """Return the metric of alpha for a declared scale; ``interval`` if none was declared."""
    return _METRICS.get(scale, "interval")


def judging(
    dataset: Dataset, cells: Cells, *, seed: int = 0, resamples: int = 1000, level: float = 0.95
) -> JudgeAgreement:
    """Compute agreement, severity and alpha without each judge (Krippendorff 2011)."""
    metric = metric_of(cells.scale)
    arms, units, replicates = cells.axes.shape
    table = cells.values.reshape(-1, len(cells.judges))
    unit = np.tile(np.repeat(np.arange(units), replicates), arms)
    done = dataset.completed.reshape(-1)
    return JudgeAgreement(
        outcome=cells.outcome,
        agreement=agreement(
            table, metric, groups=unit, seed=seed, resamples=resamples, level=level
        ),
        by_arm={
            arm: alpha(cells.of(arm).reshape(-1, len(cells.judges)), metric)
            for arm in cells.axes.arms
        },
        judges=tuple(
            _judge_row(name, table, at, int(done.sum()), metric)
            for at, name in enumerate(cells.judges)
        ),
    )


def _judge_row(name: str, table: Floats, at: int, runs: int, metric: Metric) -> JudgeRow:
    own = table[:, at]
    rated = np.isfinite(own)
    count = np.isfinite(table).sum(axis=1)
    shared = rated & (count > 1)
    means = np.where(np.isfinite(table), table, 0.0).sum(axis=1)[shared] / count[shared]
    return JudgeRow(
        judge=name,
        ratings=int(rated.sum()),
        missing=runs - int(rated.sum()),
        mean=optional(own[rated].mean()) if rated.any() else None,
        severity=optional((own[shared] - means).mean()) if shared.any() else None,
        alpha_without=alpha(np.delete(table, at, axis=1), metric),
    )
