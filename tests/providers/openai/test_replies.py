"""What the provider ``openai`` makes of replies, whole and broken."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from orglab.providers.base import BadRequest, ProviderError, RateLimited, TokenUsage, Unavailable
from orglab.providers.structured_output.parse import read_reply

KEY = "sk-planted-key-0123456789-wxyz"


async def test_a_reply_is_read_whole(wire: Any) -> None:
    """Text, tokens, the model that served, its fingerprint, log probabilities, times."""
    best = [{"token": "OK", "logprob": -0.1}, {"token": "No", "logprob": -2.0}]
    content = [{"token": "OK", "logprob": -0.1, "top_logprobs": best}]
    body = wire.made.chat(read=30, written=7, model="m-2026-01-01", system_fingerprint="fp_1")
    body["choices"][0]["logprobs"] = {"content": content}
    body["usage"]["prompt_tokens_details"] = {"cached_tokens": 20}
    body["usage"]["completion_tokens_details"] = {"reasoning_tokens": 3}
    wire.answer(body)
    completion = await wire.provider().complete(wire.request())
    assert completion.text == "OK"
    assert completion.usage == TokenUsage(input=30, output=7, cached_input=20, reasoning=3)
    assert (completion.model, completion.fingerprint) == ("m-2026-01-01", "fp_1")
    assert completion.logprobs == [{"token": "OK", "logprob": -0.1, "top": best}]
    assert completion.service_seconds > 0
    assert completion.attempts == 1
    assert completion.notes == ()


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 10, "completion_tokens": 1e300},
        {"prompt_tokens": 10**25, "completion_tokens": 2},
        {"prompt_tokens": 10, "completion_tokens": -2, "total_tokens": 8},
        {"prompt_tokens": 10, "completion_tokens": "2"},
    ],
)
async def test_counts_that_are_none_are_unknown(wire: Any, usage: Any) -> None:
    """The reply is kept and its cost unknown: half a count would be half a price."""
    wire.answer({**wire.made.chat(), "usage": usage})
    completion = await wire.provider().complete(wire.request())
    assert (completion.text, completion.usage) == ("OK", TokenUsage())
    assert "counted no tokens" in completion.notes[0]


async def test_a_mark_before_the_json_is_no_fault(wire: Any) -> None:
    """Some gateways begin their UTF-8 with a byte order mark."""
    wire.answer(wire.made.Reply(body="\ufeff" + json.dumps(wire.made.chat())))
    assert (await wire.provider().complete(wire.request())).text == "OK"


async def test_this_machine_is_reached_without_a_proxy(
    wire: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy could not reach it, and would be told the prompts and the key."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    wire.answer(wire.made.chat())
    assert (await wire.provider().complete(wire.request())).text == "OK"


@pytest.mark.parametrize(
    ("text", "message", "finish"),
    [
        (None, {"refusal": "I cannot help with that."}, "stop"),
        ("I cannot help with that.", {}, "content_filter"),
    ],
)
async def test_a_refusal_is_an_outcome(wire: Any, text: Any, message: Any, finish: str) -> None:
    """Neither an error nor an empty answer; its words are kept, its tokens counted."""
    wire.answer(wire.made.chat(text, message=message, finish=finish))
    completion = await wire.provider().complete(wire.request())
    assert (completion.stop, completion.text) == ("refusal", "I cannot help with that.")
    assert completion.usage.output == 2
    assert read_reply(completion.text, None, stop=completion.stop).problem == "refusal"


@pytest.mark.parametrize(("status", "code"), [(400, "content_filter"), (400, "invalid_prompt")])
async def test_a_refused_prompt_is_a_refusal(wire: Any, status: int, code: str) -> None:
    """A filter before the model answers 400; that too is a refusal."""
    wire.answer(wire.made.error(status, "your prompt was flagged", code=code))
    completion = await wire.provider().complete(wire.request())
    assert (completion.stop, completion.text) == ("refusal", "your prompt was flagged")
    assert "counted no tokens" in completion.notes[0]


async def test_truncated_tool_arguments_stay_as_written(wire: Any) -> None:
    """The reply was cut: nothing is mended, the stop says so."""
    message = wire.made.tool_call("describe", '{"column": "ag')
    wire.answer(wire.made.chat(None, message=message, finish="length"))
    completion = await wire.provider().complete(wire.request())
    assert completion.stop == "length"
    assert completion.tool_calls[0].arguments == '{"column": "ag'


async def test_tool_calls_without_ids_and_with_read_arguments(wire: Any) -> None:
    """Servers differ: no id, the same id twice, arguments as an object, none at all."""
    calls = [
        {"function": {"name": "a", "arguments": {"x": 1}}},
        {"id": "", "function": {"name": "b"}},
        {"id": "c", "function": {"name": "c", "arguments": ""}},
        {"id": "c", "function": {"name": "d", "arguments": "{}"}},
        {"id": "e", "function": None},
        "nonsense",
    ]
    wire.answer(wire.made.chat(None, message={"tool_calls": calls}))
    found = (await wire.provider().complete(wire.request())).tool_calls
    assert [call.name for call in found] == ["a", "b", "c", "d"]
    assert [json.loads(call.arguments) for call in found] == [{"x": 1}, {}, {}, {}]
    assert len({call.id for call in found}) == 4


async def test_content_in_parts_and_reasoning_apart(wire: Any) -> None:
    """Text may come in a list, thinking among it."""
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "O"},
        {"type": "text", "text": "K"},
    ]
    wire.answer(wire.made.chat(None, message={"content": parts}))
    completion = await wire.provider().complete(wire.request())
    assert (completion.text, completion.reasoning) == ("OK", "hm")


async def test_reasoning_counted_in_the_total_alone(wire: Any) -> None:
    """Some servers leave reasoning out of the reply's tokens; it is billed all the same."""
    body = wire.made.chat(read=10, written=2)
    body["usage"]["total_tokens"] = 42
    wire.answer(body)
    usage = (await wire.provider().complete(wire.request())).usage
    assert usage == TokenUsage(input=10, output=32, reasoning=30)


async def test_a_server_that_counts_no_tokens_is_noted(wire: Any) -> None:
    """Unknown is said, not taken for nothing."""
    body = wire.made.chat()
    del body["usage"]
    wire.answer(body)
    completion = await wire.provider().complete(wire.request())
    assert "not known" in completion.notes[0]


@pytest.mark.parametrize("fault", ["before", "headers", "body", "truncated"])
async def test_a_reply_that_did_not_come_whole_is_cut(wire: Any, fault: str) -> None:
    """The server may have worked and billed; the error says so, and the server's count shows it."""
    wire.answer(wire.made.Reply(body=wire.made.chat("x" * 200), fault=fault))
    with pytest.raises(Unavailable, match=r"broke off|incomplete JSON") as caught:
        await wire.provider().complete(wire.request())
    assert (caught.value.cut, caught.value.attempts) == (1, 1)
    assert (wire.server.counts.whole, wire.server.counts.lost) == (0, 1)


async def test_a_stalled_call_can_be_given_up(wire: Any) -> None:
    """The deadline is the caller's: a call that is cancelled lets go of its connection."""
    wire.answer(wire.made.Reply(body=wire.made.chat(), fault="stall"))
    task = asyncio.ensure_future(wire.provider().complete(wire.request()))
    while not wire.server.counts.at_once:  # noqa: ASYNC110 - the server tells nobody
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_no_connection_is_not_cut(wire: Any) -> None:
    """A request that never went out cannot be billed."""
    provider = wire.provider()
    await wire.server.stop()
    with pytest.raises(Unavailable, match=r"the connection to 127\.0\.0\.1 failed") as caught:
        await provider.complete(wire.request())
    assert caught.value.cut == 0
    await wire.server.start()


@pytest.mark.parametrize(
    ("status", "cut", "busy"),
    [(500, 0, False), (503, 0, True), (529, 0, True), (502, 0, False), (504, 1, False)],
)
async def test_server_errors(wire: Any, status: int, cut: int, busy: bool) -> None:
    """Overload is told apart; a gateway that gave up waiting may leave a bill."""
    wire.answer(wire.made.Reply(status=status, body="<html>oops</html>"))
    with pytest.raises(Unavailable, match=f"answered {status}") as caught:
        await wire.provider().complete(wire.request())
    assert (caught.value.cut, caught.value.overloaded) == (cut, busy)


@pytest.mark.parametrize(
    ("body", "kind", "cut"),
    [
        ({"error": {"code": 429, "message": "slow down"}}, RateLimited, 1),
        ({"error": {"code": 502, "message": "upstream"}, "usage": {"prompt_tokens": 3}}, None, 0),
        ({"choices": []}, Unavailable, 1),
        ({"choices": [{"error": {"code": 503, "message": "overloaded"}}]}, Unavailable, 1),
        ([], Unavailable, 1),
        ("<!DOCTYPE html><html></html>", BadRequest, 0),
    ],
)
async def test_an_error_inside_a_good_status(wire: Any, body: Any, kind: Any, cut: int) -> None:
    """Brokers answer 200 before they know; what is inside counts, and tokens that were counted."""
    wire.answer(wire.made.Reply(body=body))
    with pytest.raises(kind or Unavailable) as caught:
        await wire.provider().complete(wire.request())
    assert caught.value.cut == cut
    if kind is None:
        assert caught.value.usage == TokenUsage(input=3)


async def test_a_redirection_is_not_followed(wire: Any) -> None:
    """Prompts and key go where the spec says, and nowhere else."""
    wire.answer(wire.made.Reply(status=307, headers={"Location": "http://127.0.0.1:9/v1"}))
    with pytest.raises(BadRequest, match="sends elsewhere"):
        await wire.provider().complete(wire.request())


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 400, "body": {"error": {"message": f"bad header Bearer {KEY}"}}},
        {"status": 401, "body": {"error": {"message": f"wrong key {KEY[:6]}******wxyz"}}},
        {"status": 403, "body": {"error": {"message": f"{KEY[3:20]} may not"}}},
        {"status": 500, "body": f"trace: {KEY}"},
        {"body": {"error": {"message": f"boom {KEY}", "code": 500}}},
    ],
)
async def test_no_error_shows_the_key(
    wire: Any, answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Servers quote what they were sent; neither the key nor a part of it comes through."""
    monkeypatch.setenv("WIRE_KEY", KEY)
    wire.answer(wire.made.Reply(**answer))
    provider = wire.provider(api_key_env="WIRE_KEY")
    with pytest.raises(ProviderError) as caught:
        await provider.complete(wire.request())
    shown = f"{caught.value} {caught.value.__cause__} {provider._account!r} {provider.account()}"
    assert wire.server.calls[0].headers["authorization"] == f"Bearer {KEY}"
    assert not any(part in shown for part in (KEY, KEY[3:12], "wxyz"))


async def test_no_reply_shows_the_key(wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that writes the key into its reply does not get it into the record."""
    monkeypatch.setenv("WIRE_KEY", KEY)
    wire.answer(wire.made.chat(f"your key is {KEY}"))
    completion = await wire.provider(api_key_env="WIRE_KEY").complete(wire.request())
    assert completion.text == "your key is [key]"


def event(**fields: Any) -> bytes:
    """One server-sent event."""
    return b"data: " + json.dumps(fields).encode() + b"\n\n"


def piece(finish: str | None = None, **delta: Any) -> bytes:
    """One piece of a reply."""
    return event(model="m", choices=[{"index": 0, "delta": delta, "finish_reason": finish}])


async def test_a_streamed_reply_equals_a_whole_one(wire: Any) -> None:
    """Text, reasoning and tokens, with ``stream: true``."""
    usage = {"prompt_tokens": 9, "completion_tokens": 4}
    data = piece(role="assistant", reasoning_content="hm") + piece(content="O") + piece(content="K")
    data += b": keep-alive\n\n" + piece("stop") + event(choices=[], usage=usage)
    wire.answer(wire.made.stream(data + b"data: [DONE]\n\n"))
    completion = await wire.provider(stream=True).complete(wire.request())
    assert (completion.text, completion.reasoning, completion.stop) == ("OK", "hm", "stop")
    assert completion.usage == TokenUsage(input=9, output=4)
    assert wire.bodies[0]["stream_options"] == {"include_usage": True}


async def test_a_server_that_does_not_stream_is_read_all_the_same(wire: Any) -> None:
    """``stream: true`` and a whole reply: it is taken."""
    assert (await wire.provider(stream=True).complete(wire.request())).text == "OK"


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (piece(content="O"), "closed the connection within the reply"),
        (piece(content="O") + b"data: {\n\n", "not JSON"),
        (piece(content="O") + event(error={"code": 503, "message": "overloaded"}), "overloaded"),
    ],
)
async def test_a_stream_that_breaks_off_is_cut(wire: Any, data: bytes, match: str) -> None:
    """Half a reply is no reply; an overload inside a stream is told as one."""
    wire.answer(wire.made.stream(data))
    with pytest.raises(Unavailable, match=match) as caught:
        await wire.provider(stream=True).complete(wire.request())
    assert caught.value.cut == 1
    assert caught.value.overloaded == (match == "overloaded")
