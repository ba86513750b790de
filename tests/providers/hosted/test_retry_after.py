"""How long a server asks to wait: every form of it, and what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orglab.providers.hosted.retry_after import MOST_SECONDS, duration, requested_wait

NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "2"}, 2),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after-ms": "350", "retry-after": "1"}, 0.35),
        ({"Retry-After": "Tue, 14 Nov 2023 22:13:23 GMT"}, 3),
        ({"Retry-After": "Tue, 14 Nov 2023 22:13:19 GMT"}, None),
        ({"Retry-After": "120"}, 120),
        ({"Retry-After": "1m30s"}, 90),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": ""}, None),
        ({"Retry-After": "-5"}, None),
        ({"Retry-After": "0"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "1e99"}, MOST_SECONDS),
        ({"Retry-After": "Tue, 14 Nov 9999 22:13:23 GMT"}, MOST_SECONDS),
        ({"x-ratelimit-reset-tokens": "250ms"}, 0.25),
        ({"x-ratelimit-reset": "1700000007"}, 7),
        ({"X-RateLimit-Reset": "1700000007000", "X-RateLimit-Remaining": "0"}, 7),
        ({"anthropic-ratelimit-tokens-reset": "2023-11-14T22:13:30Z"}, 10),
    ],
)
def test_headers(headers: dict[str, str], seconds: float | None) -> None:
    """Seconds, milliseconds, dates and durations; nonsense and the past are ignored."""
    found = requested_wait(headers, now=NOW)
    assert found == (None if seconds is None else pytest.approx(seconds))


def test_only_limits_that_are_used_up_are_waited_for() -> None:
    """A limit with room left resets in its own time, which is nobody's concern."""
    headers = {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "1m30s",
        "x-ratelimit-remaining-tokens": "500",
        "x-ratelimit-reset-tokens": "6m0s",
    }
    assert requested_wait(headers) == 90
    headers["x-ratelimit-remaining-requests"] = "3"
    assert requested_wait(headers) is None


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Rate limit reached. Please try again in 1.5s. Visit us.", 1.5),
        ("Please try again in 6m0s", 360),
        ("please retry in 32.52s.", 32.52),
        ("Retry after 20 seconds", 20),
        ("wait for 1 hour and 5 minutes, please", 3900),
        ("try again in 250ms", 0.25),
        ("try again in 3 tries", None),
        ("try again later", None),
        ("you wait", None),
    ],
)
def test_words(message: str, seconds: float | None) -> None:
    """Servers also say it in words."""
    assert requested_wait({}, message) == (None if seconds is None else pytest.approx(seconds))


def test_a_delay_deep_in_the_body() -> None:
    """Some bury it in the details of the error."""
    body = [{"error": {"details": [{"@type": "RetryInfo", "retryDelay": "32s"}]}}]
    assert requested_wait({}, "", body) == 32


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1d2h", 93_600), ("2 minutes", 120), ("5", None), ("5x", None), ("", None)],
)
def test_durations(text: str, seconds: float | None) -> None:
    """A number needs its unit."""
    assert duration(text) == seconds


@given(
    name=st.sampled_from(["retry-after", "retry-after-ms", "x-ratelimit-reset-requests"]),
    value=st.text(max_size=20) | st.floats().map(str) | st.integers().map(str),
    message=st.text(max_size=60),
)
def test_whatever_a_server_says_the_wait_is_sane(name: str, value: str, message: str) -> None:
    """Never negative, never endless, never an error."""
    found = requested_wait({name: value}, f"try again in {message}")
    assert found is None or 0 < found <= MOST_SECONDS
