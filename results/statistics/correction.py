"""Correction of p-values within a declared family of tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from statsmodels.stats.multitest import multipletests

__all__ = ["Correction", "adjusted"]

Correction: TypeAlias = Literal["holm", "bonferroni", "bh"]
_NAMES = {"holm": "holm", "bonferroni": "bonferroni", "bh": "fdr_bh"}


def adjusted(
    p: Sequence[float | None], method: Correction = "holm", *, size: int | None = None
) -> list[float | None]:
    """Adjusted p-values, in the order given (Holm 1979; Benjamini & Hochberg 1995).

    A missing p stays missing and infects nobody.

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
    # A test that could not be made counts as one that found nothing: p = 1 changes no other rank.
    found = multipletests(known + [1.0] * (size - len(known)), method=_NAMES[method])[1]
    given = iter(found.tolist())
    return [None if value is None else float(next(given)) for value in p]
