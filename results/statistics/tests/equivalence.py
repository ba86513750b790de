"""Equivalence: two one-sided tests, before any claim of "no difference"."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from scipy import stats

from orglab.results.statistics.data.arrays import Values
from orglab.results.statistics.tests.paired import PairedTest, paired_t

__all__ = ["Equivalence", "equivalence", "equivalence_of"]


@dataclass(frozen=True, kw_only=True)
class Equivalence:
    """Two one-sided tests (TOST).

    Attributes:
        margin: Half-width of the equivalence region, in the units of the outcome.
        margin_d_z: The same in standard deviations of the differences.
        p: The larger of the two one-sided p-values; None where nothing varies.
        equivalent: p < alpha.
        smallest: The smallest margin (outcome's units) that these data establish at alpha.
        possible_d_z: The smallest margin (d_z) that so many pairs could establish at all, were
            the observed difference exactly 0.
        why: Why there is no p, or "".
    """

    margin: float | None
    margin_d_z: float | None
    p: float | None
    equivalent: bool | None
    smallest: float | None
    possible_d_z: float | None
    why: str = ""


def equivalence(
    first: Values,
    second: Values,
    *,
    margin: float | None = None,
    margin_d_z: float | None = None,
    alpha: float = 0.05,
) -> Equivalence:
    """Test the equivalence of pairs by TOST (Schuirmann 1987; Lakens 2017).

    Args:
        first: One value a unit under the arm.
        second: The same units under the reference.
        margin: The region is -margin to margin, in the units of the outcome; or
        margin_d_z: in standard deviations of the differences. Exactly one is given. The latter uses
            the observed standard deviation as if it were known (Lakens 2017).
        alpha: Level of each one-sided test.

    Raises:
        ValueError: Not exactly one margin, or not above 0.
    """
    return equivalence_of(
        paired_t(first, second), margin=margin, margin_d_z=margin_d_z, alpha=alpha
    )


def equivalence_of(
    test: PairedTest,
    *,
    margin: float | None = None,
    margin_d_z: float | None = None,
    alpha: float = 0.05,
) -> Equivalence:
    """Test equivalence from a paired test; arguments as in ``equivalence``.

    Raises:
        ValueError: Not exactly one margin, or not above 0.
    """
    given = [value for value in (margin, margin_d_z) if value is not None]
    if len(given) != 1 or not given[0] > 0:
        raise ValueError("give one margin, above 0")
    critical = _critical(test.n, alpha)
    possible = critical / sqrt(test.n) if critical is not None else None
    if critical is None or not test.sd or test.difference is None:
        return Equivalence(
            margin=margin, margin_d_z=margin_d_z, p=None, equivalent=None, smallest=None,
            possible_d_z=possible, why=test.why,
        )  # fmt: skip
    error = test.sd / sqrt(test.n)
    half = margin if margin is not None else given[0] * test.sd
    p = float(stats.t.sf((half - abs(test.difference)) / error, test.n - 1))
    return Equivalence(
        margin=half,
        margin_d_z=half / test.sd,
        p=p,
        equivalent=p < alpha,
        smallest=abs(test.difference) + critical * error,
        possible_d_z=possible,
    )


def _critical(n: int, alpha: float) -> float | None:
    return float(stats.t.isf(alpha, n - 1)) if n > 1 else None
