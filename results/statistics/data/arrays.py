"""Arrays of scores, and tests for variation beyond rounding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import SupportsFloat, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = [
    "Flags",
    "Floats",
    "Values",
    "as_floats",
    "known_means",
    "largest",
    "optional",
    "standard_deviation",
]

Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Values: TypeAlias = Sequence[float] | Floats

#: A spread below this part of the largest value is rounding, not variation.
ROUNDING = 1e-12


def as_floats(values: Values) -> Floats:
    """Return ``values`` as a one-dimensional array.

    Raises:
        ValueError: One of them is missing or infinite: those are taken out, and counted, before.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise ValueError("a statistic needs one row of finite numbers; take missing values out")
    return array


def known_means(values: Floats, axis: int, used: Flags | None = None) -> Floats:
    """Return means along an axis over the finite values (or those ``used``); NaN without any."""
    known = np.isfinite(values) if used is None else used
    counts = known.sum(axis=axis)
    sums = np.where(known, values, 0.0).sum(axis=axis)
    return np.asarray(sums / np.where(counts > 0, counts, np.nan))


def largest(*arrays: Floats) -> float:
    """Return the largest absolute value; 0 for nothing."""
    return max((float(np.abs(array).max()) for array in arrays if array.size), default=0.0)


def standard_deviation(values: Floats, scale: float) -> float:
    """Return the standard deviation (n - 1); 0 if it is rounding beside ``scale`` (sd <= 1e-12 scale).

    Args:
        values: At least two.
        scale: The largest absolute value of what the values were computed from.
    """
    unit = largest(values)
    if not unit:
        return 0.0
    # Divided first: squares of very small or very large values would leave the range.
    found = float(np.std(values / unit, ddof=1)) * unit
    return found if found > ROUNDING * scale else 0.0


def optional(value: SupportsFloat | None) -> float | None:
    """Return ``value`` as a float; None if it is missing, infinite or not a number."""
    if value is None:
        return None
    number = float(value)
    return number if np.isfinite(number) else None
