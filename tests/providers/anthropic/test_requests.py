"""What is sent to the Messages API, and how structured answers are asked for and read."""

from __future__ import annotations

from typing import Any

import pytest

from orglab.providers.anthropic.provider import AnthropicProvider
from orglab.providers.base import BadRequest, Message, ToolCall, ToolDefinition
from orglab.providers.structured_output.parse import read_reply

SCHEMA = {
    "type": "object",
    "properties": {"code": {"type": "string"}},
    "required": ["code"],
    "additionalProperties": False,
}
LOOSE = {**SCHEMA, "properties": {"code": {"type": "string", "maxLength": 9}}}
OPEN = {"type": "object", "additionalProperties": {"type": "number"}}
TOOL = ToolDefinition(
    name="head",
    description="First rows.",
    parameters={"type": "object", "properties": {}, "additionalProperties": False},
)
LIMIT = {"max_output_tokens": 50}


async def test_only_what_was_written_is_sent(wire: Any, made: Any) -> None:
    """And the limit, which the API wants; its default is told."""
    reply = await wire.ask(made.message("OK"), params={"max_output_tokens": 50})
    assert wire.bodies == [
        {
            "model": "wire-model",
            "max_tokens": 50,
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Hm?"}]}],
            "system": "Be brief.",
            "stream": True,
        }
    ]
    assert reply.notes == ()
    assert wire.server.calls[0].headers["anthropic-version"] != "2023-06-01"


@pytest.mark.parametrize(
    ("model", "most"),
    [
        ("claude-3-haiku-20240307", 4096),
        ("claude-3-5-sonnet-20241022", 8192),
        ("claude-opus-4-20250514", 32_000),
        ("claude-opus-4-1-20250805", 32_000),
        ("claude-sonnet-4-20250514", 64_000),
        ("claude-haiku-4-5", 64_000),
        ("claude-haiku-4-5-20251001", 64_000),
        ("anthropic/claude-sonnet-4.5", 64_000),
        ("claude-opus-4-6", 128_000),
        ("claude-sonnet-5", 128_000),
        ("some-other", 4096),
    ],
)
async def test_the_default_limit_is_the_model_s_own(
    wire: Any, made: Any, model: str, most: int
) -> None:
    """As far as it is known; it is written into the record."""
    reply = await wire.provider(model).complete(wire.request(model=model))
    assert wire.bodies[0]["max_tokens"] == most
    assert reply.notes[0].startswith(f"max_tokens is {most},")


async def test_parameters_are_named_as_the_api_names_them(wire: Any, made: Any) -> None:
    """Sampling parameters go with the API version that takes them."""
    params = {
        "max_output_tokens": 9,
        "temperature": 0,
        "stop": "END",
        "thinking": "adaptive",
        "effort": "low",
        "extra_body": {"metadata": {"user_id": "u"}},
    }
    await wire.ask(made.message("OK"), params=params)
    body = wire.bodies[0]
    assert body["temperature"] == 0
    assert body["stop_sequences"] == ["END"]
    assert body["thinking"] == {"type": "adaptive"}
    assert body["output_config"] == {"effort": "low"}
    assert body["metadata"] == {"user_id": "u"}
    assert wire.server.calls[0].headers["anthropic-version"] == "2023-06-01"


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"presence_penalty": 1}, "unknown parameter `presence_penalty` for provider `anthropic`"),
        ({"thinking": 1.5}, "thinking must be a word"),
        ({"extra_body": {"model": "x"}}, "model is set by the engine"),
        ({"extra_body": 3}, "extra_body must be a mapping"),
    ],
)
async def test_wrong_parameters_are_refused_unsent(wire: Any, params: Any, words: str) -> None:
    """In words, before anything is paid."""
    with pytest.raises(BadRequest, match=words):
        await wire.provider().complete(wire.request(params=params))
    assert wire.bodies == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cache": "yes"}, "cache of provider anthropic must be true or false"),
        ({"structure": "xml"}, "must be one of format, tool"),
        ({"basé": 1}, "unknown field"),
        ({}, "ANTHROPIC_API_KEY is not set"),
    ],
)
def test_wrong_options_are_reported(options: Any, words: str) -> None:
    """When the provider is made."""
    with pytest.raises(ValueError, match=words):
        AnthropicProvider.from_spec("m", options)


def test_a_model_needs_a_name() -> None:
    """There is no default model."""
    with pytest.raises(ValueError, match="needs `model`"):
        AnthropicProvider.from_spec("", {})


async def test_the_cache_is_asked_for_where_the_author_wants_it(wire: Any, made: Any) -> None:
    """What was written to it is noted, since it costs more."""
    said = made.message("OK", cache_written=120)
    reply = await wire.ask(said, options={"cache": True}, params=LIMIT)
    assert wire.bodies[0]["cache_control"] == {"type": "ephemeral"}
    assert reply.notes == ("120 tokens were written to the server's cache",)


# -- structured answers


async def test_the_server_holds_the_reply_to_a_schema(wire: Any, made: Any) -> None:
    """By its output format; only what it is known to hold, whole, is native."""
    said, known = made.message('{"code": "a"}'), {"structure": "format"}
    reply = await wire.ask(said, schema=SCHEMA, params=LIMIT, options=known)
    sent = wire.bodies[0]["output_config"]["format"]
    assert sent == {"type": "json_schema", "schema": SCHEMA}
    assert (reply.native, reply.notes) == (True, ())
    assert read_reply(reply.text, SCHEMA, stop=reply.stop, native=True).value == {"code": "a"}
    unknown = await wire.ask(said, schema=SCHEMA, params=LIMIT)
    loose = await wire.ask(said, schema=LOOSE, params=LIMIT, options=known)
    assert (unknown.native, loose.native) == (False, False)
    assert loose.notes == ("the server does not hold the reply to: maxLength",)


async def test_tools_stay_beside_a_format(wire: Any, made: Any) -> None:
    """Where the model must answer none may be called, and they are still sent."""
    await wire.ask(made.message("{}"), schema=SCHEMA, tools=(TOOL,))
    await wire.ask(made.message("{}"), schema=SCHEMA, tools=(TOOL,), must_answer=True)
    free, must = wire.bodies
    assert free["tools"] == must["tools"]
    assert free["tools"][0]["input_schema"]["type"] == "object"
    assert ("tool_choice" in free, must["tool_choice"]) == (False, {"type": "none"})


async def test_free_text_after_the_last_tool_call(wire: Any, made: Any) -> None:
    """Without a schema, too, a model that must answer may call nothing."""
    await wire.ask(made.message("x"), tools=(TOOL,), must_answer=True)
    assert wire.bodies[0]["tool_choice"] == {"type": "none"}


async def test_an_open_schema_is_asked_for_as_a_tool_s_input(wire: Any, made: Any) -> None:
    """The input is the reply, exactly as the model wrote it."""
    written = '{"b": 1,   "a": 2.50}'
    said = made.message("Here.", made.use("answer", written), stop="tool_use")
    reply = await wire.ask(said, schema=OPEN, params=LIMIT)
    assert wire.bodies[0]["tool_choice"] == {"type": "tool", "name": "answer"}
    assert wire.bodies[0]["tools"][0]["input_schema"] == OPEN
    assert (reply.text, reply.tool_calls, reply.stop) == (written, (), "stop")
    assert (reply.native, reply.reasoning) == (False, "Here.")
    assert len(reply.notes) == 1


async def test_an_answer_that_is_no_object_is_unwrapped(wire: Any, made: Any) -> None:
    """The reply is the member as it was written."""
    said = made.message(made.use("answer", '{"answer": [ 1, 2 ]}'), stop="tool_use")
    schema = {"type": "array", "items": {"type": "integer"}}
    reply = await wire.ask(said, schema=schema, options={"structure": "tool"}, params=LIMIT)
    assert (reply.text, reply.notes) == ("[ 1, 2 ]", ())


@pytest.mark.parametrize(
    ("wrapped", "written", "text"),
    [(False, '{"code": "ab', '{"code": "ab'), (True, '{"answer": [1, ', '{"answer": [1, ')],
)
async def test_an_answer_cut_by_the_limit_is_truncated(
    wire: Any, made: Any, wrapped: bool, written: str, text: str
) -> None:
    """Nothing is completed; the reader is told that the limit cut it."""
    schema = {"type": "array", "items": {"type": "integer"}} if wrapped else SCHEMA
    said = made.message(made.use("answer", written), stop="max_tokens")
    reply = await wire.ask(said, schema=schema, options={"structure": "tool"})
    assert (reply.text, reply.stop) == (text, "length")
    assert read_reply(reply.text, schema, stop=reply.stop).problem == "truncated"


@pytest.mark.parametrize("must_answer", [False, True])
async def test_the_answer_is_one_tool_among_the_others(
    wire: Any, made: Any, must_answer: bool
) -> None:
    """Some tool must be called; where the model must answer, this one."""
    call = made.use("head", '{"n": 1}')
    said = made.message(call, stop="tool_use")
    options = {"structure": "tool"}
    reply = await wire.ask(
        said, schema=SCHEMA, tools=(TOOL,), must_answer=must_answer, options=options
    )
    body = wire.bodies[0]
    assert [tool["name"] for tool in body["tools"]] == ["head", "answer"]
    forced = {"type": "tool", "name": "answer"}
    assert body["tool_choice"] == (forced if must_answer else {"type": "any"})
    assert reply.tool_calls == (ToolCall(id="toolu_1", name="head", arguments='{"n": 1}'),)


async def test_an_answer_beside_tool_calls_came_too_early(wire: Any, made: Any) -> None:
    """The calls count: the answer was given before their results."""
    said = made.message(
        made.use("answer", "{}"), made.use("head", "", identity="t2"), stop="tool_use"
    )
    options = {"structure": "tool"}
    reply = await wire.ask(said, schema=SCHEMA, tools=(TOOL,), options=options)
    assert [call.name for call in reply.tool_calls] == ["head"]
    assert (reply.text, reply.stop) == ("", "tool_calls")
    assert "an answer was given beside calls of tools: left out" in reply.notes


async def test_two_different_answers_are_a_conflict(wire: Any, made: Any) -> None:
    """None of them is chosen."""
    answers = [made.use("answer", f'{{"code": "{c}"}}', identity=c) for c in "ab"]
    said = made.message(*answers, stop="tool_use")
    reply = await wire.ask(said, schema=SCHEMA, options={"structure": "tool"})
    assert read_reply(reply.text, SCHEMA).problem == "conflict"


async def test_the_answer_s_tool_takes_no_name_that_is_taken(wire: Any, made: Any) -> None:
    """A spec may have a tool `answer` of its own."""
    own = ToolDefinition(name="answer", description="x", parameters=TOOL.parameters)
    said = made.message(made.use("final_answer", '{"code": "x"}'), stop="tool_use")
    options = {"structure": "tool"}
    reply = await wire.ask(said, schema=SCHEMA, tools=(own,), options=options)
    assert reply.text == '{"code": "x"}'


async def test_a_model_that_thinks_by_budget_is_asked_and_not_forced(wire: Any, made: Any) -> None:
    """The API takes no forced tool there; the system text asks for it, and the record says so."""
    params = {"max_output_tokens": 4000, "thinking": 2000}
    said = made.message(made.thinking("hm"), made.use("answer", '{"code": "x"}'), stop="tool_use")
    reply = await wire.ask(said, schema=SCHEMA, params=params, options={"structure": "tool"})
    body = wire.bodies[0]
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert "tool_choice" not in body
    assert body["system"].startswith("Be brief.\n\nGive your final answer by calling")
    assert (reply.text, reply.reasoning) == ('{"code": "x"}', "hm")
    assert reply.notes == ("the answer's tool is asked for and not forced: the model thinks",)


# -- reasoning that belongs to tool calls


def looped(wire: Any, call: ToolCall) -> Any:
    """The request that brings a tool's result."""
    messages = (
        Message(role="user", content="Hm?"),
        Message(role="assistant", content="Look.", tool_calls=(call,)),
        Message(role="tool", content="7", tool_call_id=call.id),
    )
    params = {"max_output_tokens": 4000, "thinking": 2000}
    return wire.request(messages=messages, tools=(TOOL,), params=params)


async def test_reasoning_goes_back_with_its_tool_calls(wire: Any, made: Any) -> None:
    """Unchanged, signature and all, as the API demands."""
    blocks = (made.thinking("why", "sig"), made.redacted("r"), made.text("Look."))
    call = made.use("head", '{"n": 1}', identity="toolu_9")
    wire.answer(made.message(*blocks, call, stop="tool_use"), made.message("7 it is"))
    provider = wire.provider()
    first = await provider.complete(wire.request(tools=(TOOL,)))
    await provider.complete(looped(wire, first.tool_calls[0]))
    assert wire.bodies[1]["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "why", "signature": "sig"},
        {"type": "redacted_thinking", "data": "r"},
        {"type": "text", "text": "Look."},
        {"type": "tool_use", "id": "toolu_9", "name": "head", "input": {"n": 1}},
    ]


async def test_half_a_character_is_refused_unsent(wire: Any) -> None:
    """JSON cannot carry it in UTF-8."""
    asked = wire.request(messages=(Message(role="user", content="a\ud800"),))
    with pytest.raises(BadRequest, match="lone surrogate"):
        await wire.provider().complete(asked)
    assert wire.bodies == []


async def test_where_it_is_lost_the_call_goes_on_without_reasoning(wire: Any, made: Any) -> None:
    """A run resumed in another process has not kept it; this call alone is bent."""
    words = (
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`."
    )
    wire.answer(made.error(400, words), made.message("7 it is"))
    provider = wire.provider()
    reply = await provider.complete(looped(wire, ToolCall(id="t", name="head", arguments="{}")))
    assert [body["thinking"]["type"] for body in wire.bodies] == ["enabled", "disabled"]
    assert (reply.text, reply.attempts) == ("7 it is", 2)
    assert reply.notes == ("no thinking in this call: what belongs to its tool calls is lost",)


async def test_whether_the_server_answers_costs_nothing(
    wire: Any, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its list of models is asked for, with the key, and nothing else."""
    monkeypatch.setenv("SOME_KEY", "k-123456789")
    wire.answer(made.Reply(body={"data": [{"type": "model", "id": "wire-model"}]}))
    provider = wire.provider(api_key_env="SOME_KEY")
    assert await provider.reachable("wire-model") == "answers, and has the model"
    [call] = wire.server.calls
    assert call.path == "/v1/models?limit=1000"
    assert call.headers["x-api-key"] == "k-123456789"
