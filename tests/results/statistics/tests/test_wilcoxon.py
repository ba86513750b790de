"""Wilcoxon's signed-rank test."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from case_files import case_folder
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from orglab.results.statistics.tests.paired import differences
from orglab.results.statistics.tests.wilcoxon import Zeros, wilcoxon

CASE = case_folder("52-stats-wilcoxon-ties-zeros")
TIED = [3.0, 3.0, -1.0, 0.0, 4.0, -1.0, 0.0, -4.0]


def test_without_ties() -> None:
    """The classical example: T 24, p exact to the last digit."""
    found = wilcoxon([6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75])
    assert (found.statistic, found.p, found.method) == (24, 0.041259765625, "exact")
    assert not found.ties


@pytest.mark.parametrize(
    ("zeros", "statistic", "p"),
    [("wilcox", 8.5, 0.71875), ("pratt", 14.5, 0.84375), ("zsplit", 16.0, 0.84375)],
)
def test_zeros_and_ties(zeros: Zeros, statistic: float, p: float) -> None:
    """Each rule for zeros has its T and its exact p."""
    found = wilcoxon(TIED, zeros=zeros)
    assert (found.statistic, found.p, found.zeros, found.n) == (statistic, p, 2, 8)
    assert found.ties
    assert found.rule == zeros
    assert found.notes[0].startswith("2 differences of zero")


def test_case_52() -> None:
    """Case 52: zeros dropped and counted, mid-ranks, all sign patterns."""
    table = pd.read_csv(CASE / "pairs.csv")
    expected = json.loads((CASE / "expected.json").read_text(encoding="utf-8"))
    d = differences(table["trio"].to_numpy(float), table["solo"].to_numpy(float))
    found = wilcoxon(d)
    assert (found.statistic, found.p) == (expected["W"], expected["p_exact"])
    assert (found.n, found.zeros, found.ties) == (10, 2, True)
    assert wilcoxon(d, zeros="pratt").p == expected["scipy"]["pratt/auto"]
    assert wilcoxon(d, zeros="zsplit").p == expected["scipy"]["zsplit/auto"]
    normal = wilcoxon(d, exact_up_to=0)
    assert normal.p == pytest.approx(expected["scipy"]["wilcox/asymptotic"], abs=1e-6)
    assert normal.method == "normal"


def test_ties_in_decimal_fractions() -> None:
    """0.3 - 0.1 and 0.2 - 0.0 tie, though not to the last bit."""
    d = differences([0.3, 0.2, 0.5, 0.1 + 0.2], [0.1, 0.0, 0.1, 0.3])
    found = wilcoxon(d)
    assert found.ties
    assert found.zeros == 1


def test_too_few_for_any_significance() -> None:
    """With five differences no result can reach .05, and that is said."""
    found = wilcoxon([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found.p == 0.0625
    assert "impossible with 5 non-zero differences" in found.notes[0]
    assert not wilcoxon([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).notes


@pytest.mark.parametrize("d", [[], [0.0], [0.0, 0.0]])
def test_nothing_to_test(d: list[float]) -> None:
    """Without a non-zero difference there is no p."""
    found = wilcoxon(d)
    assert (found.statistic, found.p, found.method) == (None, None, "")
    assert "nothing to test" in found.notes[0]


def test_sixty_pairs_are_exact() -> None:
    """Sixty differences are still enumerated, and agree with SciPy's exact table."""
    d = np.arange(1.0, 61.0) * np.where(np.arange(60) % 3 == 0, -1.0, 1.0)
    found = wilcoxon(d)
    assert found.method == "exact"
    assert found.p == pytest.approx(stats.wilcoxon(d, method="exact").pvalue, rel=1e-12)


def test_above_sixty_pairs_normal() -> None:
    """Above sixty non-zero differences the approximation is used and named."""
    d = np.arange(1.0, 62.0) * np.where(np.arange(61) % 3 == 0, -1.0, 1.0)
    found = wilcoxon(d)
    assert found.method == "normal"
    assert found.p == pytest.approx(stats.wilcoxon(d, method="asymptotic").pvalue)


@pytest.mark.parametrize(("zeros", "limit"), [("drop", 60), ("wilcox", 61)])
def test_wrong_options_are_refused(zeros: Zeros, limit: int) -> None:
    """An unknown rule, or a limit that 64-bit counts do not hold, is refused."""
    with pytest.raises(ValueError, match="no such rule"):
        wilcoxon([1.0], zeros=zeros, exact_up_to=limit)


def test_one_pair_is_no_test() -> None:
    """Case 54: no p, and the reason."""
    found = wilcoxon([1.5])
    assert found.p is None
    assert found.notes == ("one pair: no test",)


def enumerated(d: list[float]) -> float:
    """The two-sided exact p, zeros dropped, by trying every sign pattern."""
    signed = [value for value in d if value]
    ranks = stats.rankdata(np.abs(signed))
    observed = min(ranks[np.array(signed) > 0].sum(), ranks[np.array(signed) < 0].sum())
    sums = [float(np.dot(ranks, signs)) for signs in itertools.product((0, 1), repeat=len(ranks))]
    below = sum(bool(total <= observed) for total in sums)
    return min(1.0, 2 * below / len(sums))


@settings(max_examples=50)
@given(st.lists(st.integers(-4, 4).map(float), min_size=2, max_size=9).filter(any))
def test_exact_p_equals_enumeration(d: list[float]) -> None:
    """The convolution gives what counting all sign patterns gives."""
    assert wilcoxon(d).p == pytest.approx(enumerated(d))


@given(st.lists(st.integers(-9, 9).map(float), max_size=40), st.sampled_from(["wilcox", "pratt"]))
def test_swapping_arms_changes_nothing_but_the_sign(d: list[float], zeros: Zeros) -> None:
    """T and p do not depend on the direction, nor on the order."""
    there, back = wilcoxon(d, zeros=zeros), wilcoxon([-x for x in reversed(d)], zeros=zeros)
    assert (there.statistic, there.p) == (back.statistic, back.p)
    if there.rank_biserial is not None and back.rank_biserial is not None:
        assert there.rank_biserial == pytest.approx(-back.rank_biserial)
