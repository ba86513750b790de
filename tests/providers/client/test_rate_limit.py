"""Rates per minute."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orglab.providers.client.rate_limit import TokenBucket


@given(
    st.integers(1, 5000),
    st.lists(st.floats(0, 3, allow_nan=False), min_size=1, max_size=300),
)
def test_no_minute_sees_more_than_the_rate(rate: int, arrivals: list[float]) -> None:
    """However calls come, no minute holds more of them than the rate."""
    bucket, now, sent = TokenBucket(rate, 0.0), 0.0, list[float]()
    for gap in arrivals:
        now += gap
        for _ in range(8):
            now += bucket.wait(1, now)
            bucket.take(1, now)
            sent.append(now)
    for first in sent:
        assert sum(first <= each < first + 59.999 for each in sent) <= rate


def test_evenly() -> None:
    """Sixty a minute is one a second."""
    bucket = TokenBucket(60, 0.0)
    assert bucket.wait(1, 0.0) == 0.0
    bucket.take(1, 0.0)
    assert bucket.wait(1, 0.0) == pytest.approx(1.0)
    assert bucket.wait(1, 0.25) == pytest.approx(0.75)


def test_an_amount_above_what_it_holds_leaves_a_debt() -> None:
    """A long prompt goes when the bucket is full, and others wait for its share."""
    bucket = TokenBucket(6000, 0.0)  # it holds 100 and gets 98.3 a second
    assert bucket.wait(2000, 0.0) == 0.0
    bucket.take(2000, 0.0)
    assert bucket.wait(10, 0.0) == pytest.approx(1910 / (5900 / 60))


def test_what_was_not_used_is_given_back() -> None:
    """Reserved tokens that were not used are there for others; more used than reserved is owed."""
    bucket = TokenBucket(6000, 0.0)
    bucket.take(100, 0.0)
    bucket.give_back(60, 0.0)
    assert bucket.wait(60, 0.0) == 0.0
    bucket.give_back(-60, 0.0)
    assert bucket.wait(1, 0.0) > 0.0
