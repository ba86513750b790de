"""Binary outcomes: McNemar's test and the interval of a difference of rates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orglab.results.statistics.models.wilson import wilson
from orglab.results.statistics.tests.mcnemar import paired_rates, risk_difference


def passes(both: int, first: int, second: int, neither: int) -> tuple[list[bool], list[bool]]:
    """Two columns with the given cells."""
    one = [True] * (both + first) + [False] * (second + neither)
    other = [True] * both + [False] * first + [True] * second + [False] * neither
    return one, other


def test_wilson() -> None:
    """3 of 40."""
    assert wilson(3, 40) == pytest.approx((0.025836, 0.198642), abs=5e-7)


def test_mcnemar_exact() -> None:
    """10 against 2 discordant pairs: the exact binomial p."""
    found = paired_rates(*passes(20, 10, 2, 8))
    assert found.p == pytest.approx(0.038574, abs=5e-7)
    assert found.test == "McNemar, exact"
    assert (found.both, found.only_first, found.only_second, found.neither) == (20, 10, 2, 8)
    assert found.difference == pytest.approx(0.2)


def test_mcnemar_with_many_discordant_pairs() -> None:
    """From 25 discordant pairs on chi-square with continuity correction, and its name says so."""
    found = paired_rates(*passes(0, 20, 10, 0))
    assert found.statistic == pytest.approx((abs(20 - 10) - 1) ** 2 / 30)
    assert found.test == "McNemar, continuity-corrected"


def test_no_discordant_pair() -> None:
    """Where no unit differs there is no p, and the reason is told."""
    found = paired_rates(*passes(5, 0, 0, 3))
    assert (found.p, found.difference) == (None, 0.0)
    assert "no variation" in found.why


def test_no_pairs() -> None:
    """Without pairs everything is missing."""
    found = paired_rates([], [])
    assert (found.n, found.p, found.difference, found.low) == (0, None, None, None)


def test_newcombe() -> None:
    """The example of Newcombe (1998), method 10: 36, 12, 2, 0 gives 0.0569 to 0.3404."""
    assert risk_difference(36, 12, 2, 0) == pytest.approx((0.0569, 0.3404), abs=5e-5)


def test_interval_without_pairs_is_refused() -> None:
    """No pairs, no interval."""
    with pytest.raises(ValueError, match="no interval"):
        risk_difference(0, 0, 0, 0)


def test_unequal_lengths_are_refused() -> None:
    """Two columns of unequal length are not pairs."""
    with pytest.raises(ValueError, match="1 and 2 values are not pairs"):
        paired_rates([True], [True, False])


counts = st.integers(0, 30)


@given(counts, counts, counts, counts)
def test_swapping_arms_turns_the_interval(both: int, b: int, c: int, neither: int) -> None:
    """Swapped arms give the same p, the opposite difference and the mirrored interval."""
    there, back = (
        paired_rates(*passes(both, b, c, neither)),
        paired_rates(*passes(both, c, b, neither)),
    )
    assert there.p == back.p
    if there.low is not None and back.high is not None and there.difference is not None:
        assert there.low == pytest.approx(-back.high)
        assert there.low - 1e-12 <= there.difference <= (there.high or 0.0) + 1e-12
        assert there.low >= -1 - 1e-12
