"""Streams of the Messages API, whole and broken, through the real SDK."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from anthropic.types import Message as SdkMessage
from anthropic.types import RawMessageStreamEvent
from pydantic import TypeAdapter

from orglab.providers.base import RateLimited, ToolCall, Unavailable


async def test_a_reply_is_read_whole(wire: Any, made: Any) -> None:
    """Text, model, reason and tokens come from the stream; nothing is noted but the limit."""
    reply = await wire.ask(made.message("Good day.", read=20, written=5))
    assert (reply.text, reply.stop, reply.model) == ("Good day.", "stop", "wire-model-1")
    assert (reply.usage.input, reply.usage.output, reply.attempts, reply.cut) == (20, 5, 1, 0)
    assert reply.notes == ("max_tokens is 4096, the most known for the model: none is written",)
    assert reply.service_seconds > 0


async def test_one_connection_serves_many_calls(wire: Any, made: Any) -> None:
    """A stream is read to its end, so that its connection can be used again."""
    wire.answer(made.message("OK"))
    provider = wire.provider()
    seen: set[object] = set()
    serve, tasks = wire.server.send, seen

    async def noted(reply: Any, writer: Any) -> bool:
        tasks.add(writer)
        return bool(await serve(reply, writer))

    wire.server.send = noted
    for _ in range(3):
        await provider.complete(wire.request())
    assert len(seen) == 1


async def test_pieces_cut_inside_letters_are_joined(wire: Any, made: Any) -> None:
    """Bytes may be cut anywhere, inside a letter and inside an event."""
    whole = b"".join(made.streamed(made.message("Grüße, 👩‍🔬: “ja”.")).chunks)
    bytes_one_by_one = made.Streamed(chunks=[whole[i : i + 1] for i in range(len(whole))])
    reply = await wire.ask(bytes_one_by_one)
    assert reply.text == "Grüße, 👩‍🔬: “ja”."


async def test_reasoning_is_kept_apart(wire: Any, made: Any) -> None:
    """Thinking blocks are reasoning; what only the server can read is left out, with a note."""
    blocks = (made.thinking("Let me see."), made.redacted("secret"), made.text("42"))
    reply = await wire.ask(made.message(*blocks, thought=9, written=12))
    assert (reply.text, reply.reasoning, reply.usage.reasoning) == ("42", "Let me see.", 9)
    assert "some reasoning came encrypted and is not kept" in reply.notes
    assert "secret" not in repr(reply)


async def test_a_tool_input_cut_by_the_limit_stays_as_it_was_written(wire: Any, made: Any) -> None:
    """Arguments that the limit cut are not mended."""
    call = made.use("describe", '{"column": "ag')
    reply = await wire.ask(made.message(call, stop="max_tokens"))
    assert reply.tool_calls == (
        ToolCall(id="toolu_1", name="describe", arguments='{"column": "ag'),
    )
    assert reply.stop == "length"


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "length"),
        ("refusal", "refusal"),
        ("something_new", "stop"),
    ],
)
async def test_each_reason_to_stop_has_its_outcome(
    wire: Any, made: Any, reason: str, stop: str
) -> None:
    """A reason that is not known is a stop, with a note."""
    reply = await wire.ask(made.message("Hm", stop=reason))
    assert reply.stop == stop
    unusual = reason in ("model_context_window_exceeded", "pause_turn", "something_new")
    assert (len(reply.notes) > 1) is unusual


async def test_what_is_said_of_a_refusal_is_noted(wire: Any, made: Any) -> None:
    """The category and the explanation of a refusal stand in the notes."""
    details = {"type": "refusal", "category": "bio", "explanation": "Not this."}
    reply = await wire.ask(made.message(stop="refusal", stop_details=details))
    assert (reply.text, reply.stop) == ("", "refusal")
    assert "refusal: bio: Not this." in reply.notes


async def test_tokens_of_the_cache_are_part_of_the_input(wire: Any, made: Any) -> None:
    """The API counts them beside its input; here they are inside it, and told apart."""
    said = made.message("OK", read=3, written=81, cache_read=9000, cache_written=2000)
    usage = (await wire.ask(said)).usage
    assert (usage.input, usage.cached_input, usage.cache_write) == (11003, 9000, 2000)


async def test_overload_inside_a_stream_is_reported_and_counted_as_interrupted(
    wire: Any, made: Any
) -> None:
    """The server may bill what it had begun; the tokens it had counted are kept."""
    busy = {"type": "overloaded_error", "message": "Overloaded"}
    fault = await wire.fault(made.streamed(made.message("Good day.", read=33), first=3, then=busy))
    assert isinstance(fault, Unavailable)
    assert (fault.overloaded, fault.cut, fault.attempts) == (True, 1, 1)
    assert fault.usage is not None
    assert fault.usage.input == 33


async def test_a_rate_limit_inside_a_stream_is_one(wire: Any, made: Any) -> None:
    """An error's type counts where the status is 200."""
    limit = {"type": "rate_limit_error", "message": "Too many. Please try again in 3 seconds."}
    fault = await wire.fault(made.streamed(made.message("Good"), first=0, then=limit))
    assert isinstance(fault, RateLimited)
    assert (fault.retry_after, fault.cut, fault.usage) == (3.0, 1, None)


@pytest.mark.parametrize("end", ["drop", "end"])
async def test_a_stream_that_breaks_off_is_cut(wire: Any, made: Any, end: str) -> None:
    """A lost connection and an end without an end are the same: the reply is not whole."""
    fault = await wire.fault(made.streamed(made.message("Good day.", read=33), first=4, end=end))
    assert isinstance(fault, Unavailable)
    assert (fault.cut, fault.overloaded) == (1, False)
    assert fault.usage is not None
    assert fault.usage.input == 33
    assert wire.server.counts.requests == 1


@pytest.mark.parametrize("end", ["drop", "end"])
async def test_a_reply_whose_end_was_reported_is_kept_though_the_connection_is_lost(
    wire: Any, made: Any, end: str
) -> None:
    """It is paid for and whole: only the last event is missing."""
    reply = await wire.ask(made.streamed(made.message("Good day."), first=-1, end=end))
    assert (reply.text, reply.stop) == ("Good day.", "stop")


async def test_a_connection_lost_before_the_reply_is_cut(wire: Any, made: Any) -> None:
    """The request had gone out."""
    fault = await wire.fault(made.Reply(fault="before"))
    assert isinstance(fault, Unavailable)
    assert fault.cut == 1


async def test_a_server_out_of_reach_is_not_cut(wire: Any) -> None:
    """Nothing was sent, so nothing can be billed."""
    provider = wire.provider()
    await wire.server.stop()
    with pytest.raises(Unavailable, match=r"the connection to 127\.0\.0\.1 failed") as raised:
        await provider.complete(wire.request())
    assert raised.value.cut == 0
    await wire.server.start()


async def test_who_waits_no_longer_closes_the_connection(wire: Any, made: Any) -> None:
    """A stream that stalls ends with the caller's own limit."""
    wire.answer(made.streamed(made.message("Good day."), first=3, end="hang"))
    provider = wire.provider()
    with pytest.raises(TimeoutError, match=r"^$"):
        async with asyncio.timeout(0.05):
            await provider.complete(wire.request())


async def test_a_whole_reply_is_not_waited_on_when_its_connection_stays_open(
    wire: Any, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes after the end of a message is nobody's."""
    monkeypatch.setattr("orglab.providers.anthropic.transport._END_SECONDS", 0.01)
    reply = await wire.ask(made.streamed(made.message("Good day."), end="hang"))
    assert reply.text == "Good day."


async def test_a_server_that_does_not_stream_is_read_all_the_same(wire: Any, made: Any) -> None:
    """A reply in one piece is paid for too."""
    said = made.message("Looking.", made.use("describe", ""), stop="tool_use")
    said["content"][1]["input"] = {"column": "age"}
    reply = await wire.ask(made.Reply(body=said))
    assert reply.text == "Looking."
    assert reply.tool_calls[0].arguments == '{"column": "age"}'
    assert (reply.stop, reply.usage.input) == ("tool_calls", 10)


@pytest.mark.parametrize("body", [b"event: message_start\ndata: {oh\n\n", b"", b"data: []\n\n"])
async def test_nonsense_in_a_stream_is_a_fault(wire: Any, made: Any, body: bytes) -> None:
    """No crash of a parser reaches the engine."""
    fault = await wire.fault(made.Streamed(chunks=[body] if body else []))
    assert isinstance(fault, Unavailable)
    assert fault.cut == 1


def test_the_wire_speaks_the_sdk_s_own_types(made: Any) -> None:
    """Each event and message of the wire server is valid by the SDK's pydantic models."""
    blocks = (made.thinking("hm"), made.redacted(), made.text("Look."), made.use("a", '{"b": 1}'))
    refusal = {"type": "refusal", "category": "cyber", "explanation": "no"}
    said = made.message(*blocks, stop="tool_use", thought=3, stop_details=refusal)
    adapter: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
    kinds = set()
    for event in made.events(said):
        if event["type"] != "ping":  # the SDK keeps it to itself
            kinds.add(adapter.validate_json(json.dumps(event), strict=True).type)
    assert len(kinds) == 6
    whole = SdkMessage.model_validate_json(json.dumps(said), strict=True)
    assert whole.usage.output_tokens_details is not None
