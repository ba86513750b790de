"""One outcome of a study as an array: arm, unit, replicate, judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import SupportsFloat, TypeAlias

import numpy as np
import numpy.typing as npt

from orglab.results.statistics.errors import PlanError

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


@dataclass(frozen=True, kw_only=True)
class Axes:
    """What the arrays of a study are laid out by, each sorted.

    Attributes:
        arms: Names of the arms.
        units: Ids of the units.
        replicates: Numbers of the replicates.
    """

    arms: tuple[str, ...]
    units: tuple[str, ...]
    replicates: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, int, int]:
        """How long each axis is."""
        return len(self.arms), len(self.units), len(self.replicates)


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """The values of one outcome.

    Attributes:
        outcome: Its name.
        axes: Arms, units and replicates.
        judges: Names of the judges; ``("",)`` for an outcome that no judge gives.
        values: By arm, unit, replicate and judge; NaN = missing.
        scale: The scale that the evaluator declared; "" where it is not known.
    """

    outcome: str
    axes: Axes
    judges: tuple[str, ...]
    values: Floats
    scale: str = ""

    @property
    def judged(self) -> bool:
        """Judges gave it."""
        return self.judges != ("",)

    def of(self, arm: str) -> Floats:
        """Return the values under one arm: by unit, replicate and judge.

        Raises:
            PlanError: There is no such arm.
        """
        if arm not in self.axes.arms:
            raise PlanError(f"no arm {arm!r}; there are {', '.join(self.axes.arms)}")
        return np.asarray(self.values[self.axes.arms.index(arm)])

    def without_judge(self, judge: str) -> Cells:
        """Return the cells without one judge."""
        at = self.judges.index(judge)
        left = tuple(name for name in self.judges if name != judge)
        return replace(self, judges=left, values=np.delete(self.values, at, axis=3))

    def judges_averaged(self) -> Cells:
        """Return the cells with the mean over the judges who gave a value."""
        if not self.judged:
            return self
        values = known_means(self.values, -1)[..., None]
        return replace(self, judges=("",), values=values)


def unit_means(values: Floats, used: Flags | None = None) -> Floats:
    """Return one value a unit: the mean over judges within each replicate, then over replicates.

    Args:
        values: By unit, replicate and judge; NaN = missing.
        used: Which cells count; default: all that are not missing.

    Returns:
        By unit; NaN where a unit has no cell.
    """
    found = np.isfinite(values) if used is None else used & np.isfinite(values)
    return known_means(known_means(values, -1, found), -1)


def composite(name: str, parts: list[Cells]) -> Cells:
    """Return the mean of other outcomes; a missing part makes it missing.

    It is made verdict by verdict where all parts have the same judges; else of the parts' means over
    judges.
    """
    if len({part.judges for part in parts}) > 1:
        parts = [part.judges_averaged() for part in parts]
    values = np.mean([part.values for part in parts], axis=0)
    return Cells(
        outcome=name,
        axes=parts[0].axes,
        judges=parts[0].judges,
        values=np.asarray(values),
        scale="interval",
    )
