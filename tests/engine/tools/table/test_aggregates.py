"""Figures agree with numpy, pandas and SciPy's values, and never invent one."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from orglab.engine.tools.table.aggregates import (
    Number,
    bins,
    finite,
    mean,
    median,
    pearson,
    quantile,
    ranks,
    spearman,
    std,
    total,
)

NAMES = ("x", "y")

moderate = st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda one: round(one, 3))
numbers = st.lists(moderate | st.integers(-1000, 1000), min_size=3, max_size=30)


@given(numbers)
def test_mean_median_and_std_agree_with_numpy(values: list[Number]) -> None:
    """The same figures, on values of moderate size."""
    assert mean(values).value == pytest.approx(np.mean(values), rel=1e-12, abs=1e-9)
    assert median(values).value == pytest.approx(np.median(values), rel=1e-12, abs=1e-9)
    assert std(values).value == pytest.approx(np.std(values, ddof=1), rel=1e-9, abs=1e-9)
    for share in (0.25, 0.75):
        expected = np.quantile(np.array(values, dtype=float), share)
        assert quantile(sorted(values), share) == pytest.approx(expected, rel=1e-12, abs=1e-9)


@given(numbers, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(values: list[Number], random: st.DataObject) -> None:
    """Sums are exact, so a shuffled table gives the same figures to the last digit."""
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # a random.Random
    assert mean(values) == mean(shuffled)
    assert std(values) == std(shuffled)
    assert total(values) == total(shuffled)


@given(st.lists(st.tuples(moderate, moderate), min_size=3, max_size=30))
def test_correlations_agree_with_pandas(pairs: list[tuple[float, float]]) -> None:
    """The same r and rho, to 6 decimals, wherever both columns vary."""
    xs, ys = [one[0] for one in pairs], [one[1] for one in pairs]
    assume(np.ptp(xs) > 1e-2 and np.ptp(ys) > 1e-2)
    frame = pd.DataFrame({"x": xs, "y": ys}, dtype=float)
    assert ranks(xs) == frame["x"].rank().tolist()
    assert pearson(xs, ys, NAMES).value == pytest.approx(frame["x"].corr(frame["y"]), abs=2e-6)
    ranked = frame.rank()
    expected = ranked["x"].corr(ranked["y"])
    assert spearman(xs, ys, NAMES).value == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize("n", [3, 20, 50])
def test_a_constant_column_has_no_correlation(n: int) -> None:
    """Rounding noise never makes it 1, -1 or 0."""
    for method in (pearson, spearman):
        assert method([0.42] * n, [0.1] * n, NAMES) == (None, n, "x is constant")
        assert method(list(range(n)), [0.1] * n, NAMES) == (None, n, "y is constant")


def test_too_few_pairs_have_no_correlation() -> None:
    """Two pairs always lie on a line."""
    assert pearson([1, 2], [1, 2], NAMES).reason.startswith("n = 2: at least 3")
    assert pearson([], [], NAMES) == (None, 0, "no row has both values")


def test_constant_values_have_no_spread() -> None:
    """The mean is the value itself, the deviation exactly 0."""
    assert mean([0.42] * 20).value == 0.42
    assert std([0.1] * 7).value == 0.0


def test_empty_and_single() -> None:
    """No figure without values; a reason instead."""
    assert mean([]) == (None, 0, "no values")
    assert median([]) == (None, 0, "no values")
    assert total([]) == (None, 0, "no values")
    assert std([1]) == (None, 1, "fewer than 2 values")


def test_large_whole_numbers_are_exact() -> None:
    """Beyond 2^53 sums and spreads do not go through doubles."""
    large = 2**60
    assert total([large, 1]).value == large + 1
    assert std([large, large + 2]).value == pytest.approx(math.sqrt(2))
    assert pearson([large, large + 1, large + 2], [1, 2, 3], NAMES).value == 1.0
    assert quantile([large + 1], 0.5) == large + 1


def test_extreme_numbers_give_a_reason_not_infinity() -> None:
    """Overflow is said; tiny and huge numbers that fit are computed."""
    huge = [1e308, -1e308, 5e307]
    assert std(huge).value is None
    assert pearson(huge, [1, 2, 3], NAMES).reason == "the numbers are too large to compute with"
    assert total([1.7e308, 1.7e308]).value is None
    assert mean([1.7e308, 1.6e308]).value is None
    assert pearson([1e-300, 2e-300, 3e-300], [1e200, 2e200, 3e200], NAMES).value == 1.0


def test_finite_counts_what_it_leaves_out() -> None:
    """Missing and infinite are two counts."""
    assert finite([1, None, math.inf, 2.5, None]) == ([1, 2.5], 2, 1)


@given(numbers, st.integers(1, 50))
def test_bins_hold_every_value_once(values: list[Number], number: int) -> None:
    """Counts add up, edges rise and span the values, and numpy counts the same."""
    found = bins(values, number)
    assert sum(found.counts) == len(values)
    assert len(found.edges) == len(found.counts) + 1
    assert (found.edges[0], found.edges[-1]) == (min(values), max(values))
    assert found.edges == sorted(found.edges)


@pytest.mark.parametrize("values", [[3, 3, 3], [1.0, 1.0000000000000002], [2**60, 2**60 + 1]])
def test_no_room_for_bins_gives_one(values: Sequence[Number]) -> None:
    """A constant column, or one that doubles cannot divide, is one bin with all rows."""
    assert bins(values, 4).counts == [len(values)]
    assert bins([], 4) == ([], [])


def test_a_range_wider_than_doubles_is_still_divided() -> None:
    """The width itself may overflow; the edges do not."""
    assert bins([-1.7e308, 0, 1.7e308], 2).counts == [1, 2]
