"""Faults on purpose: drawn from the call alone, told, and like real ones to whoever bears them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orglab.providers.base import (
    Completion,
    Message,
    RateLimited,
    Request,
    TokenUsage,
    ToolCall,
    Unavailable,
)
from orglab.providers.client.fault_injection import FAULTS, InjectedFaults, combined_rates
from orglab.providers.client.model_client import ModelClients
from orglab.providers.scripted.provider import ScriptedProvider, ScriptedReply
from orglab.providers.structured_output.parse import read_reply

SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"type": "string"}, "points": {"type": "integer"}},
    "required": ["verdict", "points"],
    "additionalProperties": False,
}
OBJECT = '{"verdict": "approve", "points": 3}'
rates = st.dictionaries(st.sampled_from(FAULTS), st.floats(0, 1))


def request(identity: str = "one", schema: Mapping[str, Any] | None = SCHEMA) -> Request:
    """A call."""
    words = (Message(role="user", content="hello"),)
    return Request(model="m", messages=words, identity=identity, schema=schema)


class Unguarded:
    """Allows every attempt."""

    async def reserve(self, cut: int) -> None:
        """Reserve nothing."""

    async def begin(self, cut: int) -> None:
        """Record nothing."""


async def called(
    reply: ScriptedReply,
    model: Mapping[str, float],
    role: Mapping[str, float] | None = None,
    asked: Request | None = None,
) -> Completion:
    """The reply of a scripted model with these faults."""
    caller = ModelClients().client(ScriptedProvider(lambda _: reply), alias="m", faults=model)
    return await caller.call(asked or request(), Unguarded(), role or {})


@given(rates, st.text(min_size=1), st.integers(1, 9))
def test_the_same_call_has_the_same_faults(
    given_rates: dict[str, float], identity: str, attempt: int
) -> None:
    """A fault is drawn from its name, the call and the attempt, from nothing else."""
    one, two = InjectedFaults(given_rates, identity), InjectedFaults(given_rates, identity)
    assert repr(one.before(attempt)) == repr(two.before(attempt))
    reply = Completion(text=OBJECT)
    assert one.after(reply, request(), attempt) == two.after(reply, request(), attempt)


def test_rates_are_kept() -> None:
    """Of many calls about the share is hit; each fault of an attempt is drawn anew."""
    hit = [InjectedFaults({"timeout": 0.3}, f"call {n}").before(1) is not None for n in range(2000)]
    assert 0.27 < sum(hit) / 2000 < 0.33
    second = [
        InjectedFaults({"timeout": 0.3}, f"call {n}").before(2) is not None for n in range(2000)
    ]
    assert 0.05 < sum(a and b for a, b in zip(hit, second, strict=True)) / 2000 < 0.13


def test_one_fault_moves_no_other() -> None:
    """With another fault planted beside it, a fault hits the same calls."""
    for number in range(200):
        reply = Completion(text=OBJECT)
        alone = InjectedFaults({"empty": 0.3}, str(number)).after(reply, request(), 1)
        beside = InjectedFaults({"empty": 0.3, "timeout": 0.5}, str(number))
        assert beside.after(reply, request(), 1) == alone


def test_rates_of_model_and_role_add_up() -> None:
    """Their sum, at most 1."""
    assert combined_rates({}, {"empty": 0.1}) == {"empty": 0.1}
    assert combined_rates({"empty": 0.7, "silent": 0.1}, {"empty": 0.6}) == {
        "empty": 1.0,
        "silent": 0.1,
    }


async def test_faults_of_attempts_are_asked_again() -> None:
    """Like real ones, without waiting: the reply comes, and every attempt is counted and told."""
    caller = ModelClients().client(
        ScriptedProvider(lambda _: OBJECT),
        alias="m",
        faults={"timeout": 0.3, "rate_limited": 0.2, "server_error": 0.2},
    )
    replies = [await caller.call(request(str(n)), Unguarded()) for n in range(40)]
    assert all(reply.text == OBJECT for reply in replies)
    assert max(reply.attempts for reply in replies) > 2
    for reply in replies:
        assert len(reply.notes) == reply.attempts - 1
        assert reply.cut == 0
        assert reply.waiting_seconds < 1.0
    kinds = {note.split()[2] for reply in replies for note in reply.notes}
    assert kinds == {"timeout", "rate_limited", "server_error"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [("timeout", Unavailable), ("rate_limited", RateLimited), ("server_error", Unavailable)],
)
async def test_faults_without_end(name: str, kind: type[Exception]) -> None:
    """Attempts that are all hit end as real ones do."""
    with pytest.raises(kind, match=f"planted fault: {name} at attempt 8; given up") as told:
        await called(OBJECT, {name: 1.0})
    assert told.value.attempts == 8  # type: ignore[attr-defined]


async def test_silence() -> None:
    """No attempt of a silent call is answered, and nothing is sent."""
    with pytest.raises(Unavailable, match="no attempt of this call is ever answered") as told:
        await called(None, {}, {"silent": 1.0})
    assert told.value.attempts == 8
    assert told.value.notes == ("planted fault: silent",)


async def test_silence_is_of_whole_calls() -> None:
    """Half of the calls are silent, and the others are answered at once."""
    caller = ModelClients().client(
        ScriptedProvider(lambda _: OBJECT), alias="m", faults={"silent": 0.5}
    )
    attempts = []
    for number in range(60):
        try:
            attempts.append((await caller.call(request(str(number)), Unguarded())).attempts)
        except Unavailable:
            attempts.append(8)
    assert set(attempts) == {1, 8}
    assert 15 < attempts.count(8) < 45


@given(st.text(min_size=1), st.sampled_from([OBJECT, "[1, 2]", '"a text"', "3", "{}", ""]))
def test_malformed_json_cannot_be_read(identity: str, text: str) -> None:
    """However kind the reader, there is no value in it."""
    for schema in (SCHEMA, {"type": ["array", "object", "string", "number"]}):
        asked = request(identity, schema)
        reply = InjectedFaults({"malformed": 1.0}, identity).after(
            Completion(text=text, native=True), asked, 1
        )
        reading = read_reply(reply.text, schema, stop=reply.stop, native=reply.native)
        assert reading.problem is not None
        assert reply.notes == ("planted fault: malformed",)


async def test_malformed_free_text_is_garbled() -> None:
    """A free text has no form to break: its words stand in another order."""
    text = "the battery lasts for ten hours and more"
    reply = await called(text, {"malformed": 1.0}, asked=request(schema=None))
    assert sorted(reply.text.split()) == sorted(text.split())
    assert reply.text != text


@pytest.mark.parametrize("name", ["malformed", "truncated"])
async def test_arguments_of_tools(name: str) -> None:
    """A call of a tool is hit in its arguments."""
    calls = [ToolCall(id="1", name="query", arguments='{"sql": "SELECT 1"}')]
    reply = await called(calls, {name: 1.0})
    assert reply.tool_calls[0].arguments
    assert '{"sql": "SELECT 1"}'.startswith(reply.tool_calls[0].arguments)
    assert reply.tool_calls[0].arguments != '{"sql": "SELECT 1"}'
    assert reply.stop == ("length" if name == "truncated" else "tool_calls")


async def test_truncated() -> None:
    """The beginning is left, as by a limit of tokens; the tokens were spent all the same."""
    reply = await called(
        Completion(text="one two three four", usage=TokenUsage(input=5, output=4)),
        {"truncated": 1.0},
    )
    assert "one two three four".startswith(reply.text)
    assert reply.text != "one two three four"
    assert (reply.stop, reply.usage) == ("length", TokenUsage(input=5, output=4))


async def test_empty() -> None:
    """Not a word, and no call of a tool."""
    calls = [ToolCall(id="1", name="query", arguments="{}")]
    for reply in (await called(OBJECT, {"empty": 1.0}), await called(calls, {"empty": 1.0})):
        assert (reply.text, reply.tool_calls, reply.stop) == ("", (), "stop")


async def test_without_faults_a_reply_is_as_it_was() -> None:
    """A rate of 0 plants nothing."""
    reply = await called(OBJECT, dict.fromkeys(FAULTS, 0.0))
    assert (reply.text, reply.notes, reply.attempts) == (OBJECT, (), 1)
