"""Refusals of the Messages API as the errors of the port, and the key that is shown nowhere."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from orglab.providers.base import (
    AuthenticationFailed,
    BadRequest,
    ContextOverflow,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    Unavailable,
)

KEY = "sk-ant-api03-PlantedKey0123456789abcdefXYZ"


@pytest.mark.parametrize(
    ("status", "kind", "words", "fault"),
    [
        (400, "invalid_request_error", "messages: roles must alternate", BadRequest),
        (400, "invalid_request_error", "Your credit balance is too low to use it.", QuotaExhausted),
        (
            400,
            "invalid_request_error",
            "You have reached your specified API usage limits. You will regain access on 2027-01-01.",
            QuotaExhausted,
        ),
        (401, "authentication_error", "invalid x-api-key", AuthenticationFailed),
        (402, "billing_error", "Check your payment details.", QuotaExhausted),
        (403, "permission_error", "No permission.", AuthenticationFailed),
        (404, "not_found_error", "model: claude-9", BadRequest),
        (413, "request_too_large", "Request exceeds the maximum size", ContextOverflow),
        (429, "rate_limit_error", "Number of request tokens has exceeded your limit", RateLimited),
        (500, "api_error", "Internal server error", Unavailable),
        (504, "timeout_error", "Timed out", Unavailable),
        (529, "overloaded_error", "Overloaded", Unavailable),
    ],
)
async def test_each_refusal_means_what_it_says(
    wire: Any, made: Any, status: int, kind: str, words: str, fault: type[ProviderError]
) -> None:
    """One request, and the error by its cause."""
    raised = await wire.fault(made.error(status, words, kind=kind))
    assert type(raised) is fault
    assert (raised.attempts, wire.server.counts.requests) == (1, 1)


async def test_overload_differs_from_a_broken_server(wire: Any, made: Any) -> None:
    """529 says that there is too much to do, 500 does not."""
    busy = await wire.fault(made.error(529, "Overloaded", kind="overloaded_error"))
    broken = await wire.fault(made.error(500, "Internal server error", kind="api_error"))
    assert isinstance(busy, Unavailable)
    assert isinstance(broken, Unavailable)
    assert (busy.overloaded, broken.overloaded, busy.cut, broken.cut) == (True, False, 0, 0)


async def test_the_prompt_s_length_and_the_window_are_read(wire: Any, made: Any) -> None:
    """In the words of the API."""
    words = "prompt is too long: 214315 tokens > 200000 maximum"
    fault = await wire.fault(made.error(400, words))
    assert isinstance(fault, ContextOverflow)
    assert (fault.needed, fault.window) == (214_315, 200_000)


@pytest.mark.parametrize("code", ["enforced_spend_limit_reached", "contract_spend_limit_reached"])
async def test_a_limit_of_spending_is_no_rate(wire: Any, made: Any, code: str) -> None:
    """Both come as 429; the code tells them apart."""
    details = {"error_code": code}
    said = made.error(429, "Limit reached.", kind="rate_limit_error", details=details)
    assert isinstance(await wire.fault(said), QuotaExhausted)
    ramp = {"error_code": "ramp_limit_exceeded"}
    said = made.error(429, "Too fast.", kind="rate_limit_error", details=ramp)
    assert isinstance(await wire.fault(said), RateLimited)


async def test_a_redirect_is_not_followed(wire: Any, made: Any) -> None:
    """The key goes to the address that was written."""
    location = {"Location": f"{wire.server.base_url}/elsewhere"}
    fault = await wire.fault(made.Reply(status=307, headers=location))
    assert isinstance(fault, BadRequest)
    assert wire.server.counts.requests == 1


async def test_the_key_is_sent_and_shown_nowhere(
    wire: Any, made: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in errors, records, representations or logs, whatever the server quotes."""
    monkeypatch.setenv("SOME_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    options = {"api_key_env": "SOME_KEY"}
    shown = []
    for status in (400, 401, 403, 404, 429, 500):
        fault = await wire.fault(
            made.error(status, f"bad key {KEY} (…{KEY[-8:]})"), options=options
        )
        shown += [str(fault), repr(fault), repr(fault.notes), repr(fault.__cause__)]
    inside = {"type": "api_error", "message": f"key {KEY}"}
    fault = await wire.fault(
        made.streamed(made.message("x"), first=2, then=inside), options=options
    )
    refused = {"type": "refusal", "category": None, "explanation": "no"}
    said = made.message(stop="refusal", stop_details=refused)
    reply = await wire.ask(said, options=options)
    provider = wire.provider(**options)
    shown += [str(fault), repr(reply), repr(provider), provider.account(), repr(vars(provider))]
    assert all(KEY in call.headers["authorization"] for call in wire.server.calls)
    assert provider.account() == f"{wire.server.base_url} SOME_KEY"
    assert KEY not in "\n".join([*shown, caplog.text])
    assert KEY[-8:] not in "\n".join(shown)


async def test_no_key_goes_to_a_server_that_was_named_none(
    wire: Any, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vendor's own variables are the vendor's own: key, token and headers."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", KEY)
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", f"X-Secret: {KEY}")
    await wire.ask(made.message("OK"))
    assert KEY not in repr(wire.server.calls)


def test_the_server_counts_what_it_served(made: Any) -> None:
    """Its count is what a study's own can be held against."""
    server = made.MessagesServer(made.in_turn(made.message("OK")))
    server._count(made.streamed(made.message("a", read=5, cache_read=7, written=3)), whole=True)
    server._count(made.streamed(made.message("a", read=2, written=4), first=3), whole=False)
    counts = server.counts
    assert (counts.whole, counts.input, counts.output) == (1, 12, 3)
    assert (counts.lost, counts.lost_input, counts.lost_output) == (1, 2, 4)
