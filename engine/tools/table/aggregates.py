"""Figures over plain values: missing is left out and counted, nothing is ever invented.

Sums are exactly rounded (``math.fsum``), so a figure does not depend on the order of the rows or
on the machine. What cannot be computed is None, with the reason.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Sequence
from datetime import date
from typing import Any, NamedTuple, TypeAlias, TypeVar

from orglab.engine.tools.bounded_json import tidy

Number: TypeAlias = int | float
_Key = TypeVar("_Key", bound=Hashable)
_T = TypeVar("_T")

TOO_LARGE = "the numbers are too large to compute with"


class Statistic(NamedTuple):
    """One figure.

    Attributes:
        value: None where there is none; a date only for the first or last of dates.
        n: Values (or pairs, or rows) that it rests on.
        reason: Why there is none, or "".
    """

    value: Number | date | None
    n: int
    reason: str = ""

    def shown(self, name: str = "value") -> dict[str, Any]:
        """Return the figure as a tool's result shows it."""
        found = {name: self.value, "n": self.n}
        return found | ({"reason": self.reason} if self.reason else {})


class Bins(NamedTuple):
    """A histogram: ``counts[i]`` values lie from ``edges[i]`` to below ``edges[i + 1]``.

    The last bin holds its upper edge too.
    """

    edges: list[Number]
    counts: list[int]


def grouped(keys: Iterable[_Key], cells: Iterable[_T]) -> dict[_Key, list[_T]]:
    """Return the cells of each key, in order."""
    found: dict[_Key, list[_T]] = {}
    for key, cell in zip(keys, cells, strict=True):
        found.setdefault(key, []).append(cell)
    return found


def finite(values: Sequence[Number | None]) -> tuple[list[Number], int, int]:
    """Return the finite numbers among ``values``, how many are missing, and how many are infinite."""
    present = [one for one in values if one is not None]
    kept = [one for one in present if math.isfinite(one)]
    return kept, len(values) - len(present), len(present) - len(kept)


def total(values: Sequence[Number]) -> Statistic:
    """Return the sum; of no values it is None. Whole numbers are summed exactly."""
    if not values:
        return Statistic(None, 0, "no values")
    try:
        return Statistic(_sum(values), len(values))
    except OverflowError:
        return Statistic(None, len(values), TOO_LARGE)


def _sum(values: Sequence[Number]) -> Number:
    if all(isinstance(one, int) for one in values):
        return sum(values)
    return math.fsum(values)


def mean(values: Sequence[Number]) -> Statistic:
    """Return the arithmetic mean; of equal values exactly that value."""
    if not values:
        return Statistic(None, 0, "no values")
    if min(values) == max(values):
        return Statistic(values[0], len(values))
    try:
        return Statistic(tidy(_sum(values) / len(values)), len(values))
    except OverflowError:
        return Statistic(None, len(values), TOO_LARGE)


def quantile(ordered: Sequence[Number], share: float) -> Number:
    """Return the quantile of sorted ``ordered``, linear between neighbours (type 7 of Hyndman & Fan 1996)."""
    place = (len(ordered) - 1) * share
    low = int(place)
    part = place - low
    if part == 0 or ordered[low] == ordered[low + 1]:
        return ordered[low]
    return tidy(ordered[low] * (1 - part) + ordered[low + 1] * part)


def median(values: Sequence[Number]) -> Statistic:
    """Return the median."""
    if not values:
        return Statistic(None, 0, "no values")
    return Statistic(quantile(sorted(values), 0.5), len(values))


def std(values: Sequence[Number]) -> Statistic:
    """Return the sample standard deviation (divisor n - 1); of equal values exactly 0."""
    if len(values) < 2:
        return Statistic(None, len(values), "fewer than 2 values")
    if min(values) == max(values):
        return Statistic(0.0, len(values))
    deviations = _deviations(values)
    if deviations is None:
        return Statistic(None, len(values), TOO_LARGE)
    largest = max(abs(one) for one in deviations)
    squares = math.fsum((one / largest) ** 2 for one in deviations)
    return Statistic(tidy(largest * math.sqrt(squares / (len(values) - 1))), len(values))


def _deviations(values: Sequence[Number]) -> list[float] | None:
    """Return deviations from the mean; None where doubles cannot hold them.

    The smallest value is taken away first: exact for whole numbers, and it saves the digits of
    numbers that lie far from zero.
    """
    smallest = min(values)
    shifted = [float(one - smallest) for one in values]
    try:
        middle = math.fsum(shifted) / len(shifted)
    except OverflowError:
        return None
    return [one - middle for one in shifted] if math.isfinite(middle) else None


def pearson(xs: Sequence[Number], ys: Sequence[Number], names: tuple[str, str]) -> Statistic:
    """Return Pearson's r of pairs, rounded to 6 decimals; None for constant columns and for n < 3.

    Args:
        xs: Finite numbers.
        ys: As many.
        names: The columns' names, for the reason.
    """
    if reason := _no_correlation(xs, ys, names):
        return Statistic(None, len(xs), reason)
    from_x, from_y = _deviations(xs), _deviations(ys)
    if from_x is None or from_y is None:
        return Statistic(None, len(xs), TOO_LARGE)
    return Statistic(_cosine(from_x, from_y), len(xs))


def _no_correlation(xs: Sequence[Number], ys: Sequence[Number], names: tuple[str, str]) -> str:
    if not xs:
        return "no row has both values"
    if len(xs) < 3:
        return f"n = {len(xs)}: at least 3 pairs are needed, since 2 always give 1 or -1"
    for name, values in zip(names, (xs, ys), strict=True):
        if min(values) == max(values):
            return f"{name} is constant"
    return ""


def _cosine(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Return the cosine between two vectors, each scaled first so that no square overflows."""
    largest_x, largest_y = max(map(abs, xs)), max(map(abs, ys))
    xs = [one / largest_x for one in xs]
    ys = [one / largest_y for one in ys]
    products = math.fsum(x * y for x, y in zip(xs, ys, strict=True))
    lengths = math.sqrt(math.fsum(x * x for x in xs)) * math.sqrt(math.fsum(y * y for y in ys))
    return round(max(-1.0, min(1.0, products / lengths)), 6) + 0.0  # no "-0.0"


def ranks(values: Sequence[Number]) -> list[float]:
    """Return ranks from 1; equal values share the mean of their ranks."""
    import numpy as np  # not needed by tables whose columns are never ranked

    cells = np.array(values, dtype=object)  # whole numbers may be larger than 64 bits
    _, places, counts = np.unique(cells, return_inverse=True, return_counts=True)
    found: list[float] = (counts.cumsum() - (counts - 1) / 2)[places].tolist()
    return found


def spearman(xs: Sequence[Number], ys: Sequence[Number], names: tuple[str, str]) -> Statistic:
    """Return Spearman's rho of pairs: Pearson's r of their ranks (Spearman 1904); as ``pearson`` else."""
    if reason := _no_correlation(xs, ys, names):
        return Statistic(None, len(xs), reason)
    return Statistic(_cosine(*map(_centred, (ranks(xs), ranks(ys)))), len(xs))


def _centred(ranked: Sequence[float]) -> list[float]:
    middle = (len(ranked) + 1) / 2
    return [one - middle for one in ranked]


def bins(values: Sequence[Number], number: int) -> Bins:
    """Count in ``number`` bins of equal width; one bin where the values leave room for no more."""
    if not values:
        return Bins([], [])
    low, high = min(values), max(values)
    edges = [_bin_edge(low, high, place / number) for place in range(number)] + [high]
    if len(set(edges)) <= number or edges != sorted(edges):
        return Bins([low, high], [len(values)])
    counts = [0] * number
    for one in values:
        counts[min(bisect_right(edges, one), number) - 1] += 1
    return Bins([tidy(one) for one in edges], counts)


def _bin_edge(low: Number, high: Number, share: float) -> Number:
    """Return a point between, weighted so that the width itself never overflows."""
    return low if share == 0 else low * (1 - share) + high * share
