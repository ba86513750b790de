"""Effects without each judge or each unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy import special

from orglab.results.statistics.data.cells import (
    ROUNDING,
    Cells,
    Floats,
    largest,
    standard_deviation,
)
from orglab.results.statistics.data.pairing import pair
from orglab.results.statistics.tests.paired import PairedTest, paired_t


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """The effect without one judge or unit."""

    left_out: str
    n: int
    difference: float | None
    d_z: float | None
    p: float | None


@dataclass(frozen=True, kw_only=True)
class LeaveOneOut:
    """An effect with each judge or unit left out in turn.

    Attributes:
        outcome: The outcome.
        arm: The arm.
        reference: The arm it is compared with.
        by: ``judge`` or ``unit``.
        full: The effect with all.
        rows: The effect without each.
        smallest: The row whose mean difference is smallest; None where there is none.
        largest: The row whose mean difference is largest.
        sign_flips: Whose absence turns the sign.
        significance_flips: Whose absence moves the uncorrected p across alpha.
        why: Why nothing could be left out, or "".
    """

    outcome: str
    arm: str
    reference: str
    by: str
    full: LeftOut
    rows: tuple[LeftOut, ...]
    smallest: LeftOut | None
    largest: LeftOut | None
    sign_flips: tuple[str, ...]
    significance_flips: tuple[str, ...]
    why: str = ""


def without_each_judge(cells: Cells, arm: str, reference: str, alpha: float = 0.05) -> LeaveOneOut:
    """Compute the paired effect without each judge."""
    full = _left_out_row("", _paired_test(cells, arm, reference))
    if len(cells.judges) < 2:
        why = "one judge only" if cells.judged else "no judge gives this outcome"
        return _summary(cells, arm, reference, "judge", full, (), alpha, why)
    rows = tuple(
        _left_out_row(judge, _paired_test(cells.without_judge(judge), arm, reference))
        for judge in cells.judges
    )
    return _summary(cells, arm, reference, "judge", full, rows, alpha, "")


def without_each_unit(cells: Cells, arm: str, reference: str, alpha: float = 0.05) -> LeaveOneOut:
    """Compute the paired effect without each unit."""
    pairs = pair(cells, arm, reference)
    full = _left_out_row("", paired_t(pairs.first, pairs.second))
    if len(pairs.units) < 3:
        why = "fewer than three pairs"
        return _summary(cells, arm, reference, "unit", full, (), alpha, why)
    d = pairs.first - pairs.second
    rows = _jackknife(pairs.units, d, largest(pairs.first, pairs.second))
    return _summary(cells, arm, reference, "unit", full, rows, alpha, "")


def _jackknife(units: Sequence[str], d: Floats, scale: float) -> tuple[LeftOut, ...]:
    """Compute means and deviations without each unit from the sums of all, in linear time."""
    n = len(d) - 1
    centred = d - d.mean()
    means = -centred / n
    squares = (centred**2).sum() - centred**2 - n * means**2
    deviations = np.sqrt(np.maximum(squares, 0.0) / (n - 1))
    # Where one unit holds nearly all variation the rest of the sum is rounding: done again from d.
    for at in np.flatnonzero(squares <= 1e-6 * (centred**2).sum()):
        deviations[at] = standard_deviation(np.delete(d, at), scale)
    rows = []
    for unit, shift, sd in zip(units, means.tolist(), deviations.tolist(), strict=True):
        difference = shift + float(d.mean())
        difference = difference if abs(difference) > ROUNDING * scale else 0.0
        varies = sd > ROUNDING * scale
        d_z = difference / sd if varies else None
        p = None if d_z is None else 2 * float(special.stdtr(n - 1, -abs(d_z) * sqrt(n)))
        rows.append(LeftOut(left_out=unit, n=n, difference=difference, d_z=d_z, p=p))
    return tuple(rows)


def _paired_test(cells: Cells, arm: str, reference: str) -> PairedTest:
    pairs = pair(cells, arm, reference)
    return paired_t(pairs.first, pairs.second)


def _left_out_row(name: str, test: PairedTest) -> LeftOut:
    return LeftOut(left_out=name, n=test.n, difference=test.difference, d_z=test.d_z, p=test.p)


def _summary(
    cells: Cells,
    arm: str,
    reference: str,
    by: str,
    full: LeftOut,
    rows: tuple[LeftOut, ...],
    alpha: float,
    why: str,
) -> LeaveOneOut:
    known = [row for row in rows if row.difference is not None]
    return LeaveOneOut(
        outcome=cells.outcome,
        arm=arm,
        reference=reference,
        by=by,
        full=full,
        rows=rows,
        smallest=min(known, key=_difference) if known else None,
        largest=max(known, key=_difference) if known else None,
        sign_flips=tuple(row.left_out for row in known if _sign(row) * _sign(full) < 0),
        significance_flips=tuple(
            row.left_out for row in rows if _significant(row, alpha) != _significant(full, alpha)
        ),
        why=why,
    )


def _difference(row: LeftOut) -> float:
    return row.difference or 0.0


def _sign(row: LeftOut) -> float:
    return float(np.sign(row.difference or 0.0))


def _significant(row: LeftOut, alpha: float) -> bool:
    return row.p is not None and row.p < alpha
