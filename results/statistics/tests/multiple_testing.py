"""Correction of p-values within a declared family of tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from orglab.results.statistics.data.cells import Floats

Correction: TypeAlias = Literal["holm", "bonferroni", "bh"]


def adjusted(
    p: Sequence[float | None], method: Correction = "holm", *, size: int | None = None
) -> list[float | None]:
    """Adjust p-values, in the order given (Holm 1979; Benjamini & Hochberg 1995).

    A missing p stays missing and does not affect the others.

    Args:
        p: P-values; None = the test could not be made.
        method: Which correction.
        size: How many tests the family *declared*, computable or not; default: all of ``p``.

    Raises:
        ValueError: A p outside 0 to 1, or more p-values than the family has tests.
    """
    known = [value for value in p if value is not None]
    if not all(0 <= value <= 1 for value in known):  # refuses NaN too
        raise ValueError("a p-value lies outside 0 to 1")
    size = len(p) if size is None else size
    if size < len(known):
        raise ValueError(f"{len(known)} p-values in a family of {size}")
    if not known:
        return [None] * len(p)
    given = iter(_STEPS[method](np.array(known), size).tolist())
    return [None if value is None else min(1.0, float(next(given))) for value in p]


# Not statsmodels' `multipletests`: each call of it collects all garbage, 50 ms in a study's process.
def _holm(p: Floats, size: int) -> Floats:
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * (size - np.arange(len(p))))
    return _in_given_order(steps, order)


def _bonferroni(p: Floats, size: int) -> Floats:
    return p * size


def _bh(p: Floats, size: int) -> Floats:
    order = np.argsort(p, kind="stable")
    steps = p[order] * size / np.arange(1, len(p) + 1)
    return _in_given_order(np.minimum.accumulate(steps[::-1])[::-1], order)


def _in_given_order(values: Floats, order: npt.NDArray[np.intp]) -> Floats:
    found = np.empty_like(values)
    found[order] = values
    return found


_STEPS = {"holm": _holm, "bonferroni": _bonferroni, "bh": _bh}
