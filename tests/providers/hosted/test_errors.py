"""What the refusals of many servers mean."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orglab.providers.base import (
    AuthenticationFailed,
    BadRequest,
    ContextOverflow,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    Unavailable,
)
from orglab.providers.hosted.account import Account
from orglab.providers.hosted.errors import body_error, sdk_error

ACCOUNT = Account(base_url="https://models.example/v1", variable="MY_KEY", key="k-0123456789-abcd")


def fault(status: int, body: Any) -> ProviderError:
    """The error for a status and a body."""
    raised = Exception("an SDK's")
    raised.response = SimpleNamespace(status_code=status, headers={}, text=json.dumps(body))  # type: ignore[attr-defined]
    return sdk_error(raised, account=ACCOUNT)


@pytest.mark.parametrize(
    ("status", "message", "needed", "window"),
    [
        (
            400,
            (
                "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens "
                "(8500 in the messages, 500 in the completion). Please reduce the length of the messages."
            ),
            9000,
            8192,
        ),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", 210_000, 200_000),
        (
            400,
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
            210_000,
            200_000,
        ),
        (
            400,
            "The input token count (1,200,000) exceeds the maximum number of tokens allowed (1048576).",
            1_200_000,
            1_048_576,
        ),
        (
            400,
            (
                "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum "
                "context length"
            ),
            40_000,
            32_768,
        ),
        (
            400,
            "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
            5000,
            4096,
        ),
        (500, "Requested tokens (2285) exceed context window of 2048", 2285, 2048),
        (400, "the request exceeds the available context size, try increasing it", None, None),
    ],
)
def test_context_overflow_in_many_words(
    status: int, message: str, needed: int | None, window: int | None
) -> None:
    """Told by words where there is no code, with the numbers where they are given."""
    error = fault(status, {"error": {"message": message}})
    assert isinstance(error, ContextOverflow)
    assert (error.needed, error.window) == (needed, window)


def test_context_overflow_in_fields() -> None:
    """One server gives the numbers as fields."""
    error = fault(
        400, {"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 9, "n_ctx": 8}}
    )
    assert isinstance(error, ContextOverflow)
    assert (error.needed, error.window) == (9, 8)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (429, {"error": {"type": "insufficient_quota"}}, QuotaExhausted),
        (429, {"error": "INSUFFICIENT QUOTA"}, RateLimited),
        (429, {"error": {"message": "You exceeded your current quota", "code": 429}}, RateLimited),
        (402, {"error": {"message": "Insufficient Balance"}}, QuotaExhausted),
        (400, {"error": {"message": "Your credit balance is too low"}}, QuotaExhausted),
        (403, {"error": {"message": "Key limit exceeded"}}, QuotaExhausted),
        (401, {"detail": "no"}, AuthenticationFailed),
        (403, {"error": {"message": "no access to this model"}}, AuthenticationFailed),
        (403, {"error": {"message": "input was flagged"}}, BadRequest),
        (404, {"error": {"message": "no such model"}}, BadRequest),
        (413, "too large", ContextOverflow),
        (413, {"error": {"message": "TPM", "code": "rate_limit_exceeded"}}, BadRequest),
        (
            429,
            {
                "error": {
                    "message": "Request too large for m on tokens per min: Limit 9, Requested 10"
                }
            },
            BadRequest,
        ),
        (400, {"error": {"message": "max_tokens is too large: 100000, at most 16384"}}, BadRequest),
        (408, None, Unavailable),
        (409, None, Unavailable),
        (500, "", Unavailable),
        (501, "", BadRequest),
        (422, {"detail": [{"loc": ["body"], "msg": "x"}]}, BadRequest),
    ],
)
def test_kinds(status: int, body: Any, kind: type[ProviderError]) -> None:
    """Quota by code, or by words where no rate is meant; the rest by status."""
    assert type(fault(status, body)) is kind


@pytest.mark.parametrize(
    ("body", "kind", "overloaded"),
    [
        ({"error": {"type": "overloaded_error", "message": "Overloaded"}}, Unavailable, True),
        ({"error": {"type": "rate_limit_error", "message": "slow"}}, RateLimited, False),
        ({"error": {"code": 502, "message": "upstream"}}, Unavailable, False),
        ({"error": {"type": "billing_error"}}, QuotaExhausted, False),
        ({"error": "what?"}, Unavailable, False),
    ],
)
def test_errors_inside_a_stream(body: Any, kind: type[ProviderError], overloaded: bool) -> None:
    """There is no status: the error's own code or type stands for it."""
    error = body_error(body, account=ACCOUNT, cut=True)
    assert type(error) is kind
    assert error.cut == 1
    assert getattr(error, "overloaded", False) == overloaded


def test_a_text_is_one_line_and_bounded() -> None:
    """What a server writes ends up in tables and terminals."""
    error = fault(400, {"error": {"message": "bad\x1b[31m\n\nthing " + "x" * 9000}})
    assert "\n" not in str(error)
    assert "\x1b" not in str(error)
    assert len(str(error)) < 600


class ConnectError(Exception):
    """As HTTP clients call it."""


class ReadError(Exception):
    """As HTTP clients call it."""


@pytest.mark.parametrize(("cause", "cut"), [(ConnectError("refused"), 0), (ReadError("reset"), 1)])
def test_a_connection_error_before_and_after_sending(cause: Exception, cut: int) -> None:
    """Only a request that went out can be billed."""
    error = Exception("Connection error.")
    error.__cause__ = cause
    found = sdk_error(error, account=ACCOUNT)
    assert isinstance(found, Unavailable)
    assert found.cut == cut
    assert str(cause) in str(found)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["error", "message", "code", "type", "detail", "metadata", "raw", "param"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(status=st.integers(300, 599), body=JSON)
def test_whatever_a_server_sends_is_a_typed_error(status: int, body: Any) -> None:
    """No shape of body breaks the reading of it."""
    assert isinstance(fault(status, body), ProviderError)
    assert isinstance(body_error(body, account=ACCOUNT), ProviderError)
