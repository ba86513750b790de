"""Factors: means, contrasts and slopes made within units; the Pareto front."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from orglab.results.statistics.data.cells import Floats
from orglab.results.statistics.models.main_effects import (
    Design,
    contrast,
    difference,
    fitted,
    front,
    front_shares,
    interaction,
    level_mean,
    mean_estimate,
)

GRID = np.array(list(product(range(3), range(2))), dtype=np.intp)
UNITS = np.array([0.0, 5.0, -3.0, 1.0])
"""How units differ: it must touch no difference."""


def values(effects: tuple[float, float, float], other: float, both: float = 0.0) -> Floats:
    """Points by units: a factor of three levels, one of two, their interaction, and noise by unit."""
    rows = [
        UNITS + effects[a] * (1 + 0.1 * UNITS) + other * b + both * (a == 2) * b for a, b in GRID
    ]
    return np.array(rows)


def design(cells: list[int] | None = None) -> Design:
    """The grid; by default every point is a team of its own."""
    codes = np.array(cells if cells is not None else range(len(GRID)), dtype=np.intp)
    return Design(codes=GRID, cells=codes)


def test_a_mean_has_its_t_interval_over_units() -> None:
    """Missing units are left out; SciPy's interval is the same."""
    found = mean_estimate(np.array([1.0, 2.0, 4.0, np.nan]))
    expected = stats.ttest_1samp([1, 2, 4], 0).confidence_interval(0.95)
    assert found.n == 3
    assert found.value == pytest.approx(7 / 3)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert mean_estimate(np.array([np.nan])).why == "no unit has a value"


def test_a_contrast_holds_other_factors_and_units_equal() -> None:
    """It is the paired t of means within units."""
    data = values((0, 1, 2), other=7)
    found = contrast(data, design(), 0, 2, 0)
    paired = stats.ttest_rel(data[4:6].mean(axis=0), data[0:2].mean(axis=0))
    assert found.value == pytest.approx(2 + 0.2 * UNITS.mean())
    assert found.p == pytest.approx(paired.pvalue)
    assert contrast(data, design(), 1, 1, 0).value == pytest.approx(7)
    assert level_mean(data, design(), 1, 1).value == pytest.approx(data[1::2].mean())


def test_a_missing_run_takes_its_partner_with_it() -> None:
    """A difference is made of like with like."""
    data = values((0, 1, 1), other=7)
    data[4, 0] = np.nan
    found = contrast(data, design(), 0, 2, 0)
    assert found.n == 4
    assert found.value == pytest.approx(1 + 0.1 * UNITS.mean())


def test_points_of_one_team_are_no_comparison() -> None:
    """Where the factor changes nothing it is not averaged in as a 0."""
    data = values((0, 1, 2), other=7)
    data[1] = data[0]
    found = contrast(data, design([0, 0, 1, 2, 3, 4]), 1, 1, 0)
    assert found.value == pytest.approx(7)
    assert contrast(data, design([0] * 6), 1, 1, 0).why.startswith("no two variants differ")


def test_an_interaction_is_a_difference_of_differences() -> None:
    """It is 0 where factors add up."""
    data = values((0, 1, 2), other=7, both=3) + np.arange(4) * 1e-3
    assert interaction(data, design(), (0, 1), (2, 1), (0, 0)).value == pytest.approx(3)
    assert interaction(data, design(), (0, 1), (1, 1), (0, 0)).value == pytest.approx(0)


def test_a_model_within_units_finds_slopes_and_steps() -> None:
    """On a whole grid it gives what contrasts give; units with too few values are left out."""
    data = values((0, 1, 2), other=7)
    predictors = GRID.astype(np.float64)
    slope, step = fitted(data, predictors, ["a", "b"])
    assert (slope.value, step.value) == pytest.approx((1 + 0.1 * UNITS.mean(), 7))
    assert step.why.startswith("no variation")
    data[1:, 0] = np.nan
    assert fitted(data, predictors, ["a", "b"])[0].n == 3
    (first, _) = fitted(data, predictors[:, [0, 0]], ["a", "a"])
    assert first.why == "the factors are collinear in this design"


def test_a_difference_counts_units_that_have_both() -> None:
    """The others are left out."""
    found = difference(np.array([1.0, np.nan, 3.0]), np.array([0.0, 1.0, 1.0]))
    assert (found.n, found.value) == (2, 1.5)


def test_the_front_holds_what_nothing_beats() -> None:
    """Ties stand together; what is unknown stands nowhere."""
    cost = np.array([1.0, 2.0, 2.0, 3.0, 3.0, np.nan, 1.0])
    quality = np.array([1.0, 3.0, 3.0, 2.0, 4.0, 9.0, 0.5])
    assert front(cost, quality).tolist() == [True, True, True, False, True, False, False]


def test_the_front_is_held_against_resamples() -> None:
    """A sure place is 1, a hopeless one 0, a coin's about a half; the seed makes it the same again."""
    noise = np.random.default_rng(1).normal(size=40)
    cost = np.array([[1.0] * 40, [2.0] * 40, [3.0] * 40])
    quality = np.array([[0.0] * 40, [-1.0] * 40, noise - noise.mean()])
    shares = front_shares(cost, quality, resamples=400, seed=2)
    assert shares[:2].tolist() == [1.0, 0.0]
    assert 0.35 < shares[2] < 0.65
    assert shares.tolist() == front_shares(cost, quality, resamples=400, seed=2).tolist()
