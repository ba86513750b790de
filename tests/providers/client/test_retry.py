"""What is asked again, when, and when not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orglab.providers.base import (
    AuthenticationFailed,
    BadRequest,
    ContextOverflow,
    NoScriptedReply,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    Unavailable,
)
from orglab.providers.client.retry import GiveUp, Retry, RetryPolicy, is_retryable

POLICY = RetryPolicy()


def after(fault: ProviderError, attempt: int = 1, waited: float = 0.0) -> Retry | GiveUp:
    """The policy's decision on a fault of one call."""
    return POLICY.after(fault, attempt=attempt, waited=waited, identity="a call")


@pytest.mark.parametrize(
    "kind", [QuotaExhausted, AuthenticationFailed, BadRequest, ContextOverflow, NoScriptedReply]
)
def test_permanent_errors_are_not_retried(kind: type[ProviderError]) -> None:
    """An empty account, a wrong key, a bad request and a full window are never asked again."""
    assert not is_retryable(kind("no"))
    assert after(kind("no")) == GiveUp()


@given(st.text(), st.integers(1, 7))
def test_backoff(identity: str, attempt: int) -> None:
    """The wait is drawn from the call, between nothing and half a second doubled each time."""
    fault = Unavailable("500")
    found = POLICY.after(fault, attempt=attempt, waited=0.0, identity=identity)
    again = POLICY.after(fault, attempt=attempt, waited=0.0, identity=identity)
    assert isinstance(found, Retry)
    assert found == again
    assert 0.0 <= found.seconds <= min(60.0, 0.5 * 2 ** (attempt - 1))


@given(st.floats(0.001, 500), st.integers(1, 7))
def test_what_the_server_asks_for_is_the_least(asked: float, attempt: int) -> None:
    """Jitter only adds, a tenth at most."""
    for fault in (RateLimited("429", retry_after=asked), Unavailable("503", retry_after=asked)):
        found = after(fault, attempt)
        assert isinstance(found, Retry)
        assert asked <= found.seconds <= 1.1 * asked


@pytest.mark.parametrize("asked", [0.0, -5.0, float("inf"), float("nan"), None])
def test_what_is_no_time_to_wait(asked: float | None) -> None:
    """Zero, less and nonsense are no words: our own back-off holds."""
    found = after(RateLimited("429", retry_after=asked))
    assert isinstance(found, Retry)
    assert 0.0 <= found.seconds <= 0.5


def test_three_hours() -> None:
    """A server that asks for hours is not waited for, and the words say so."""
    found = after(RateLimited("429", retry_after=10800.0))
    assert found == GiveUp(
        "given up: the server asks to wait 10800 seconds, and at most 600 are waited for one reply"
    )


def test_two_minutes() -> None:
    """A server that asks for two minutes gets them."""
    found = after(RateLimited("429", retry_after=120.0))
    assert isinstance(found, Retry)
    assert found.seconds >= 120.0


def test_limits() -> None:
    """Eight attempts and ten minutes are the most."""
    assert after(Unavailable("500"), attempt=8) == GiveUp("given up after 8 attempts")
    found = after(Unavailable("500"), attempt=7, waited=600.0)
    assert isinstance(found, GiveUp)
    assert found.why.startswith("given up after 600 seconds of waiting")
