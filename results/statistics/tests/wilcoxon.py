"""Wilcoxon's signed-rank test, exact also with ties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from scipy import stats

from orglab.results.statistics.data.cells import Floats, Values, as_floats
from orglab.results.statistics.tests.paired import significant_digits

Zeros: TypeAlias = Literal["wilcox", "pratt", "zsplit"]
"""``wilcox``: dropped before ranking; ``pratt``: ranked, then dropped (Pratt 1959); ``zsplit``:
ranked, half of each rank to either side."""

#: So many non-zero differences are enumerated; their sign patterns still fit 64-bit counts.
EXACT_UP_TO = 60


@dataclass(frozen=True, kw_only=True)
class SignedRanks:
    """A signed-rank test.

    Attributes:
        n: Pairs, the zero differences among them.
        zeros: How many differences are zero, and how they were treated (``rule``).
        rule: The rule for zeros.
        ties: Other differences share their size.
        statistic: T, the smaller of the two sums of ranks; None without a non-zero difference.
        p: Two-sided; None where there is nothing to test.
        method: ``exact`` (all sign patterns counted) or ``normal`` (approximation, corrected for
            ties), or "" without a test.
        rank_biserial: (sum of positive ranks - sum of negative ranks) / both (Kerby 2014).
        notes: What to say beside it.
    """

    n: int
    zeros: int
    rule: Zeros
    ties: bool
    statistic: float | None
    p: float | None
    method: Literal["exact", "normal", ""]
    rank_biserial: float | None
    notes: tuple[str, ...] = ()


def wilcoxon(
    d: Values, *, zeros: Zeros = "wilcox", exact_up_to: int = EXACT_UP_TO, alpha: float = 0.05
) -> SignedRanks:
    """Compute the signed-rank test of paired differences, two-sided (Wilcoxon 1945; zeros: Pratt 1959).

    Differences are rounded to 12 significant digits, so that ties are ties. Up to 60 non-zero
    differences p is exact: with ties too, by convolution of the mid-ranks over all sign patterns.

    Args:
        d: Differences, one a pair. Those of ``paired.differences`` are rounded by their values.
        zeros: What happens to differences of zero.
        exact_up_to: Above so many non-zero differences the normal approximation is used (<= 60).
        alpha: The level for which to say that no result could reach it.

    Raises:
        ValueError: A difference is missing, or an option is none.
    """
    if zeros not in get_args(Zeros) or not 0 <= exact_up_to <= EXACT_UP_TO:
        raise ValueError(f"no such rule for zeros ({zeros}) or limit ({exact_up_to})")
    values = as_floats(d)
    values = significant_digits(values, values)
    signed = values[values != 0]
    n_zeros = len(values) - len(signed)
    if not len(signed) or len(values) == 1:
        why = (
            "one pair: no test" if len(signed) else "no difference is other than 0: nothing to test"
        )
        notes = (why,)
        return SignedRanks(
            n=len(values), zeros=n_zeros, rule=zeros, ties=False, statistic=None, p=None,
            method="", rank_biserial=None, notes=notes,
        )  # fmt: skip
    ranks, shift = _ranks(values, zeros)
    up, down = float(ranks[signed > 0].sum()), float(ranks[signed < 0].sum())
    exact = len(signed) <= exact_up_to
    return SignedRanks(
        n=len(values),
        zeros=n_zeros,
        rule=zeros,
        ties=len(np.unique(np.abs(signed))) < len(signed),
        statistic=min(up, down) + shift,
        p=_exact(ranks, min(up, down)) if exact else _normal(values, zeros),
        method="exact" if exact else "normal",
        rank_biserial=(up - down) / (up + down),
        notes=_notes(len(signed), n_zeros, alpha, zeros),
    )


def _ranks(values: Floats, zeros: Zeros) -> tuple[Floats, float]:
    """Return mid-ranks of the non-zero differences, and what the zeros add to either sum."""
    if zeros == "wilcox":
        return np.asarray(stats.rankdata(np.abs(values[values != 0]))), 0.0
    ranks = np.asarray(stats.rankdata(np.abs(values)))
    halves = float(ranks[values == 0].sum()) / 2 if zeros == "zsplit" else 0.0
    return ranks[values != 0], halves


def _exact(ranks: Floats, smaller: float) -> float:
    doubled = np.rint(2 * ranks).astype(np.int64)  # mid-ranks are halves
    counts = _sign_patterns(doubled)
    below = int(counts[: round(2 * smaller) + 1].sum())
    return min(1.0, 2 * below / int(2 ** len(ranks)))


def _sign_patterns(ranks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Count the 2^n sign patterns that give each sum of positive ranks."""
    counts = np.zeros(int(ranks.sum()) + 1, dtype=np.int64)
    counts[0] = 1
    for rank in ranks.tolist():
        counts[rank:] += counts[:-rank].copy()
    return counts


def _normal(values: Floats, zeros: Zeros) -> float:
    return float(stats.wilcoxon(values, zero_method=zeros, method="asymptotic").pvalue)


def _notes(signed: int, n_zeros: int, alpha: float, zeros: Zeros) -> tuple[str, ...]:
    notes = []
    if n_zeros:
        done = {"wilcox": "dropped", "pratt": "ranked, then dropped", "zsplit": "split"}[zeros]
        notes.append(f"{n_zeros} differences of zero {done}")
    if 2 / 2**signed > alpha:
        least = f"{2 / 2**signed:.4g}"
        notes.append(
            f"p < {alpha:g} is impossible with {signed} non-zero differences (least: {least})"
        )
    return tuple(notes)
