"""What the turns of a tick may cost together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orglab.engine.run.limits import RunLimits
from orglab.engine.spec.model import Limits

dollars = st.floats(0.0, 1.0)


def test_without_a_limit_anything_is_allowed() -> None:
    """No limit of money: no turn is bounded."""
    assert RunLimits(Limits()).allowances([0.1, 0.2]) == [float("inf")] * 2


def test_what_is_left_over_is_parted_equally() -> None:
    """Each turn is given its first call and a share of the rest."""
    assert RunLimits(Limits(cost_usd=1.0)).allowances([0.1, 0.3]) == pytest.approx([0.4, 0.6])


def test_turns_are_admitted_in_declared_order() -> None:
    """One that does not fit ends the admissions: a cheaper one after it does not overtake."""
    assert RunLimits(Limits(cost_usd=0.5)).allowances([0.2, 0.4, 0.1]) == [0.5, -1.0, -1.0]


def test_what_was_spent_counts() -> None:
    """Earlier barriers have used part of the limit."""
    limits = RunLimits(Limits(cost_usd=0.5))
    limits.usage.cost_usd = 0.3
    assert limits.allowances([0.2, 0.1]) == [pytest.approx(0.2), -1.0]


@given(st.lists(dollars, max_size=6), dollars)
def test_together_they_stay_within_the_limit(first: list[float], limit: float) -> None:
    """The allowances of admitted turns add up to no more than the limit, and hold their first call."""
    allowed = RunLimits(Limits(cost_usd=limit)).allowances(first)
    admitted = [(most, each) for most, each in zip(first, allowed, strict=True) if each >= 0]
    assert sum(each for _, each in admitted) <= limit + 1e-6
    assert all(each >= most - 1e-9 for most, each in admitted)
