"""The paired t-test, its sizes and intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from case_files import case_folder
from hypothesis import given
from hypothesis import strategies as st

from orglab.results.statistics.tests.paired import (
    d_av,
    d_z_interval,
    differences,
    hedges_correction,
    paired_t,
    wins,
)

CASE = case_folder("54-stats-ttest-no-variance")

SLEEP_A = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SLEEP_B = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]

scores = st.integers(-500, 500).map(lambda value: value / 100)
pairs = st.lists(st.tuples(scores, scores), min_size=2, max_size=30)


def columns(rows: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """Pairs as two columns."""
    return [row[0] for row in rows], [row[1] for row in rows]


def test_student_s_sleep() -> None:
    """Student's sleep data give the published t, p and interval."""
    test = paired_t(SLEEP_B, SLEEP_A)
    assert test.statistic == pytest.approx(4.062128, abs=5e-7)
    assert (test.n, test.df) == (10, 9)
    assert test.p == pytest.approx(0.0028329, abs=5e-8)
    assert (test.low, test.high) == pytest.approx((0.7001, 2.4599), abs=5e-5)


def test_sizes_of_sleep() -> None:
    """d_z with its interval, d_av and g_z of the sleep data."""
    test = paired_t(SLEEP_B, SLEEP_A)
    assert test.d_z == pytest.approx(1.284558, abs=5e-7)
    assert (test.d_z_low, test.d_z_high) == pytest.approx((0.414628, 2.118017), abs=5e-7)
    assert test.d_av == pytest.approx(0.833496, abs=5e-7)
    assert test.g_z == pytest.approx(1.173925, abs=5e-7)


def test_interval_of_the_published_size() -> None:
    """d_z 0.42 of 43 pairs has the interval 0.1057 to 0.7297."""
    assert d_z_interval(0.42, 43) == pytest.approx((0.1057, 0.7297), abs=5e-5)


def test_interval_of_a_negative_size_is_mirrored() -> None:
    """The interval of -d is that of d with its ends turned."""
    low, high = d_z_interval(0.42, 43) or (0, 0)
    assert d_z_interval(-0.42, 43) == pytest.approx((-high, -low))


def test_published_study() -> None:
    """d_z 0.42 of 43 pairs is t 2.754, p .0087."""
    d = np.linspace(-1, 1, 43)
    d = d / d.std(ddof=1) + 0.42
    test = paired_t(d, np.zeros(43))
    assert test.statistic == pytest.approx(2.754, abs=5e-4)
    assert test.p == pytest.approx(0.0087, abs=5e-5)


def test_normal_case() -> None:
    """Case 54: the ordinary table."""
    table = pd.read_csv(CASE / "normal.csv")
    test = paired_t(table["b"].to_numpy(), table["a"].to_numpy())
    assert test.difference == pytest.approx(1.083333, abs=1e-6)
    assert (test.statistic, test.p) == pytest.approx((2.210066, 0.078098), abs=1e-6)
    assert (test.low, test.high) == pytest.approx((-0.176718, 2.343385), abs=1e-6)
    assert test.df == 5
    assert test.d_z == pytest.approx(0.902256, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "why", "difference"),
    [
        ("identical", "all differences are 0", 0.0),
        ("shift-exact", "constant to rounding", 0.5),
        ("shift-float", "constant to rounding", 0.05),
        ("two-pairs", "constant to rounding", 0.05),
        ("one-pair", "one pair only", 1.0),
    ],
)
def test_no_variation(name: str, why: str, difference: float) -> None:
    """Case 54: no p and a reason where the differences do not vary."""
    table = pd.read_csv(CASE / f"{name}.csv")
    test = paired_t(table["b"].to_numpy(), table["a"].to_numpy())
    assert (test.p, test.statistic, test.d_z, test.low) == (None, None, None, None)
    assert why in test.why
    assert test.difference == pytest.approx(difference)


def test_scale_changes_nothing() -> None:
    """Case 54: differences of 1e-200 and 2e-200 test like 1 and 2."""
    table = pd.read_csv(CASE / "tiny-scale.csv")
    test = paired_t(table["b"].to_numpy(), table["a"].to_numpy())
    assert (test.statistic, test.p) == pytest.approx((3.0, 0.204833), abs=1e-6)


def test_no_pair() -> None:
    """Without pairs there is neither a difference nor a test."""
    test = paired_t([], [])
    assert (test.n, test.difference, test.p) == (0, None, None)
    assert test.why == "no pair has both values"


def test_two_pairs_have_no_exact_correction() -> None:
    """With one degree of freedom J does not exist, so g_z is missing."""
    assert hedges_correction(1) is None
    assert paired_t([1.0, 3.0], [0.0, 0.0]).g_z is None


def test_d_av_without_spread() -> None:
    """d_av is missing where neither arm varies, and with one pair."""
    assert d_av([1.0, 1.0], [0.0, 0.0]) is None
    assert d_av([1.0], [0.0]) is None


def test_interval_needs_two_pairs() -> None:
    """One pair has no interval of d_z."""
    assert d_z_interval(0.5, 1) is None


def test_missing_values_are_refused() -> None:
    """A statistic never meets a missing value."""
    with pytest.raises(ValueError, match="finite"):
        paired_t([1.0, float("nan")], [0.0, 0.0])


def test_unequal_lengths_are_refused() -> None:
    """Two columns of unequal length are not pairs."""
    with pytest.raises(ValueError, match="3 and 2 values are not pairs"):
        paired_t([1.0, 2.0, 3.0], [0.0, 0.0])


def test_differences_are_free_of_rounding() -> None:
    """Differences that are equal on paper are equal, and 0.1 + 0.2 - 0.3 is zero."""
    found = differences([0.1 + 0.2, 0.3, 0.2, 1000.05, 4.35], [0.3, 0.1, 0.0, 1000.0, 4.3])
    assert found[0] == 0
    assert found[1] == found[2]
    assert found[3] == found[4]


def test_wins_are_counted_to_rounding() -> None:
    """A tie is a tie to rounding."""
    found = wins([0.1 + 0.2, 2.0, 1.0], [0.3, 1.0, 2.0])
    assert (found.wins, found.ties, found.losses) == (1, 1, 1)


@given(pairs)
def test_swapping_arms_turns_the_sign(rows: list[tuple[float, float]]) -> None:
    """Swapped arms give the same p and the opposite effect."""
    one, other = columns(rows)
    there, back = paired_t(one, other), paired_t(other, one)
    assert there.difference == pytest.approx(-(back.difference or 0.0))
    assert there.p == (None if back.p is None else pytest.approx(back.p))
    if there.d_z is not None and back.d_z is not None and there.d_z_low is not None:
        assert there.d_z == pytest.approx(-back.d_z)
        assert there.d_z_low == pytest.approx(-(back.d_z_high or 0.0))


@given(pairs, st.randoms(use_true_random=False))
def test_order_of_units_does_not_matter(rows: list[tuple[float, float]], random: object) -> None:
    """The order of the units changes nothing beyond rounding."""
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = paired_t(*columns(rows)), paired_t(*columns(shuffled))
    assert (one.p is None) == (other.p is None)
    if one.p is not None:
        assert other.p == pytest.approx(one.p)


@given(pairs, st.sampled_from([1e-6, 0.5, 8.0, 1e6]))
def test_scale_of_the_outcome_does_not_matter(
    rows: list[tuple[float, float]], scale: float
) -> None:
    """Both p and d_z are free of the outcome's unit."""
    one, other = (np.array(column) for column in columns(rows))
    test, scaled = paired_t(one, other), paired_t(one * scale, other * scale)
    assert (test.p is None) == (scaled.p is None)
    if test.p is not None:
        assert scaled.p == pytest.approx(test.p, rel=1e-6)
        assert scaled.d_z == pytest.approx(test.d_z, rel=1e-6)


@given(pairs)
def test_interval_and_test_agree(rows: list[tuple[float, float]]) -> None:
    """The p is below .05 exactly when the 95 % interval leaves 0 out."""
    test = paired_t(*columns(rows))
    if test.p is not None and test.low is not None and test.high is not None:
        outside = test.low > 0 or test.high < 0
        assert outside == (test.p < 0.05) or test.p == pytest.approx(0.05)
