"""Equivalence and power."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orglab.results.statistics.tests.paired import equivalence, equivalence_of, paired_t
from orglab.results.statistics.tests.power import pairs_needed, power, simulated_power

SLEEP_A = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SLEEP_B = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def test_tost_in_raw_units() -> None:
    """Sleep within 2 hours: p .154157."""
    found = equivalence(SLEEP_B, SLEEP_A, margin=2.0)
    assert found.p == pytest.approx(0.154157, abs=5e-7)
    assert found.equivalent is False


def test_smallest_margin_is_where_p_reaches_alpha() -> None:
    """At the smallest margin p is alpha; above it the arms are equivalent."""
    smallest = equivalence(SLEEP_B, SLEEP_A, margin=2.0).smallest or 0.0
    assert equivalence(SLEEP_B, SLEEP_A, margin=smallest).p == pytest.approx(0.05)
    assert equivalence(SLEEP_B, SLEEP_A, margin=smallest * 1.01).equivalent is True


def test_margin_in_d_z() -> None:
    """A margin in d_z is that many standard deviations of the differences."""
    test = paired_t(SLEEP_B, SLEEP_A)
    found = equivalence_of(test, margin_d_z=0.5)
    assert found.margin == pytest.approx(0.5 * (test.sd or 0.0))


def test_what_so_many_pairs_could_establish() -> None:
    """The margin possible at all shrinks with n, and is given where nothing varies too."""
    found = equivalence([1.0] * 43, [1.0] * 43, margin_d_z=0.5)
    assert (found.p, found.equivalent) == (None, None)
    assert found.possible_d_z == pytest.approx(0.2565, abs=5e-5)
    assert "no variation" in found.why


@pytest.mark.parametrize("margins", [{}, {"margin": 1.0, "margin_d_z": 1.0}, {"margin": 0.0}])
def test_one_margin_above_zero(margins: dict[str, float]) -> None:
    """Exactly one margin above 0."""
    with pytest.raises(ValueError, match="give one margin"):
        equivalence([1.0, 2.0], [0.0, 0.0], **margins)


def test_one_pair_establishes_nothing() -> None:
    """With one pair no margin is possible."""
    assert equivalence([1.0], [0.0], margin=1.0).possible_d_z is None


@given(
    st.lists(st.integers(-50, 50), min_size=3, max_size=20).filter(lambda d: len(set(d)) > 1),
    st.floats(0.1, 50),
)
def test_direction_does_not_matter(d: list[int], margin: float) -> None:
    """Swapped arms are as equivalent as before."""
    values = [float(value) for value in d]
    there = equivalence(values, [0.0] * len(d), margin=margin)
    back = equivalence([0.0] * len(d), values, margin=margin)
    assert there.p == pytest.approx(back.p)


@pytest.mark.parametrize(("d_z", "pairs"), [(0.2, 199), (0.3, 90), (0.5, 34), (0.8, 15)])
def test_pairs_needed(d_z: float, pairs: int) -> None:
    """80 % at .05 two-sided."""
    assert pairs_needed(d_z) == pairs
    assert pairs_needed(-d_z) == pairs
    assert power(d_z, pairs) >= 0.8 > power(d_z, pairs - 1)


def test_power_of_the_published_study() -> None:
    """d_z 0.42 with 43 pairs had a power of .77."""
    assert power(0.42, 43) == pytest.approx(0.77, abs=0.005)


@pytest.mark.parametrize(("d_z", "wanted"), [(0.0, 0.8), (0.5, 1.0), (0.5, 0.05)])
def test_no_number_of_pairs_will_do(d_z: float, wanted: float) -> None:
    """No effect, or a certainty, needs no number of pairs."""
    with pytest.raises(ValueError, match="no number of pairs"):
        pairs_needed(d_z, wanted)


def test_power_needs_two_pairs() -> None:
    """One pair has no test."""
    with pytest.raises(ValueError, match="two pairs"):
        power(0.5, 1)


def test_simulated_power_counts_rejections() -> None:
    """Hits are p below alpha; what could not be tested is no hit, and is counted."""

    def experiment(generator: np.random.Generator) -> float | None:
        drawn = generator.random()
        return None if drawn > 0.9 else float(drawn)

    found = simulated_power(experiment, runs=200, seed=1, alpha=0.5)
    assert found.runs == 200
    assert found.untested > 0
    assert found.low < found.power < found.high
    assert found == simulated_power(experiment, runs=200, seed=1, alpha=0.5)


def test_more_simulations_begin_alike() -> None:
    """Each simulated experiment has its own generator."""
    seen: list[float] = []

    def experiment(generator: np.random.Generator) -> float:
        seen.append(generator.random())
        return 1.0

    simulated_power(experiment, runs=2, seed=3)
    simulated_power(experiment, runs=4, seed=3)
    assert seen[:2] == seen[2:4]


def test_simulation_of_nothing_is_refused() -> None:
    """No runs, no power."""
    with pytest.raises(ValueError, match="at least one"):
        simulated_power(lambda _: 0.0, runs=0, seed=0)
