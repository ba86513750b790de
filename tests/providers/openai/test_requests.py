"""What the provider ``openai`` sends, and what it sends again once the other way."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from orglab.providers.base import BadRequest, Message, ToolCall, ToolDefinition

STRICT = {
    "type": "object",
    "properties": {"code": {"type": "string"}},
    "required": ["code"],
    "additionalProperties": False,
}
LOOSE = {**STRICT, "properties": {**STRICT["properties"], "note": {"type": "string"}}}  # type: ignore[dict-item]
TOOL = ToolDefinition(name="describe", description="Describes a column.", parameters=STRICT)
ASKED = {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hm?"}


def refused(name: str, *, param: bool = True) -> dict[str, Any]:
    """How a server says that it does not take a parameter."""
    words = f"Unsupported parameter: '{name}' is not supported with this model."
    return {
        "status": 400,
        "message": words,
        "code": "unsupported_parameter",
        "param": name if param else None,
    }


async def test_only_what_was_written_is_sent(wire: Any) -> None:
    """A request without parameters has a model and messages, and nothing else."""
    await wire.provider().complete(wire.request(seed=77))
    assert wire.bodies == [{"model": "m", "messages": list(ASKED)}]


async def test_parameters_go_under_the_servers_names(wire: Any) -> None:
    """The limit is renamed, logprobs become two fields, extra_body is laid beside the rest."""
    params = {
        "max_output_tokens": 50,
        "temperature": 0,
        "logprobs": 3,
        "seed": 5,
        "extra_body": {"provider": {"order": ["one"]}},
    }
    await wire.provider().complete(wire.request(params=params, seed=77))
    sent = {k: v for k, v in wire.bodies[0].items() if k not in ("model", "messages")}
    assert sent == {
        "max_tokens": 50,
        "temperature": 0,
        "logprobs": True,
        "top_logprobs": 3,
        "seed": 77,  # each call's own, made of the written one
        "provider": {"order": ["one"]},
    }


@pytest.mark.parametrize("params", [{"n": 2}, {"extra_body": {"stream": True}}])
async def test_what_the_engine_sets_cannot_be_written(wire: Any, params: Any) -> None:
    """More than one choice, or a stream, would not be read."""
    with pytest.raises(BadRequest, match="is set by the engine"):
        await wire.provider().complete(wire.request(params=params))
    assert wire.server.counts.requests == 0


async def test_a_schema_is_strict_where_it_can_be(wire: Any) -> None:
    """Closed objects with all fields required are sent as strict, others are not."""
    provider = wire.provider()
    replies = [await provider.complete(wire.request(schema=each)) for each in (STRICT, LOOSE)]
    forms = [body["response_format"]["json_schema"] for body in wire.bodies]
    assert [form["strict"] for form in forms] == [True, False]
    assert forms[1]["schema"] == LOOSE
    assert all(reply.native for reply in replies)  # servers that hold at all hold to both


async def test_tools_and_a_schema_go_together_and_calls_come_back(wire: Any) -> None:
    """Tools are offered beside the schema; when the model must answer, none may be called."""
    provider = wire.provider()
    call = wire.made.tool_call("describe", '{"code": "a"}')
    wire.answer(wire.made.chat(None, finish="tool_calls", message=call), wire.made.chat("{}"))
    completion = await provider.complete(wire.request(tools=(TOOL,), schema=LOOSE))
    assert completion.tool_calls == (ToolCall(id="c1", name="describe", arguments='{"code": "a"}'),)
    assert completion.stop == "tool_calls"
    said = Message(role="assistant", content="", tool_calls=completion.tool_calls)
    result = Message(role="tool", content="{}", tool_call_id="c1")
    request = wire.request(tools=(TOOL,), schema=LOOSE, must_answer=True)
    asked = (*request.messages, said, result)
    await provider.complete(wire.request(tools=(TOOL,), must_answer=True, messages=asked))
    first, second = wire.bodies
    assert first["tools"][0]["function"]["strict"] is True
    assert "tool_choice" not in first
    assert second["tool_choice"] == "none"
    assert second["messages"][2]["content"] is None
    assert second["messages"][3] == {"role": "tool", "tool_call_id": "c1", "content": "{}"}


async def test_broken_arguments_go_back_in_a_form_that_servers_can_read(wire: Any) -> None:
    """A server that reads the arguments of earlier calls would fail on half an object."""
    call = ToolCall(id="c1", name="describe", arguments='{"code": "a')
    messages = (
        Message(role="user", content="Hm?"),
        Message(role="assistant", content="", tool_calls=(call,)),
        Message(role="tool", content='{"error": "no JSON"}', tool_call_id="c1"),
    )
    await wire.provider().complete(wire.request(messages=messages, tools=(TOOL,)))
    sent = wire.bodies[0]["messages"][1]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent) == {"unreadable": '{"code": "a'}


async def test_a_reasoning_model_settles_each_refusal_once(wire: Any) -> None:
    """Two refusals, three requests, all in the record; the next call needs one."""
    wire.answer(
        wire.made.error(**refused("max_tokens")),
        wire.made.error(
            400,
            "Unsupported value: 'temperature' does not support 0 with this model. "
            "Only the default (1) value is supported.",
            code="unsupported_value",
            param="temperature",
        ),
        wire.made.chat(),
    )
    provider = wire.provider()
    request = wire.request(params={"temperature": 0, "max_output_tokens": 9})
    first, second = await provider.complete(request), await provider.complete(request)
    assert (first.attempts, second.attempts) == (3, 1)
    assert first.notes[0] == "max_tokens was not taken, and was sent as max_completion_tokens"
    assert second.notes == ("temperature was not sent: this model does not take it",)
    assert wire.bodies[-1] == {"model": "m", "messages": list(ASKED), "max_completion_tokens": 9}


async def test_what_is_learnt_is_known_to_other_providers_of_the_model(wire: Any) -> None:
    """Remembered for the process, for this model on this server."""
    wire.answer(wire.made.error(**refused("temperature")), wire.made.chat())
    request = wire.request(params={"temperature": 0})
    await wire.provider().complete(request)
    assert (await wire.provider().complete(request)).attempts == 1


async def test_two_calls_at_once_learn_the_same_thing(wire: Any) -> None:
    """The second refusal finds the other way already found, and takes it."""

    def answer(call: Any) -> Any:
        if "max_tokens" in call.body:
            return wire.made.error(**refused("max_tokens"))
        return wire.made.Reply(body=wire.made.chat())

    wire.server.answer = answer
    provider, request = wire.provider(), wire.request(params={"max_output_tokens": 9})
    replies = await asyncio.gather(*(provider.complete(request) for _ in range(4)))
    assert [reply.text for reply in replies] == ["OK"] * 4
    assert all(reply.attempts <= 2 for reply in replies)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("temperature", "Invalid 'temperature': decimal above maximum value."),
        ("max_tokens", "max_tokens is too large: 100000. At most 16384 are supported."),
        ("top_k", "Unrecognized request argument supplied: top_k"),
    ],
)
async def test_a_wrong_value_is_the_authors_to_mend(wire: Any, name: str, message: str) -> None:
    """What is refused for its value, or has no other way, is not left out in silence."""
    wire.answer(wire.made.error(400, message, param=name))
    written = "max_output_tokens" if name == "max_tokens" else name
    with pytest.raises(BadRequest, match=message[:20]):
        await wire.provider().complete(wire.request(params={written: 5}))
    assert wire.server.counts.requests == 1


async def test_a_schema_goes_down_the_ladder_to_words(wire: Any) -> None:
    """json_schema, json_object with a schema, json_object, words; then the schema is in the text."""
    unknown = wire.made.error(422, "response_format: Input should be 'text'", param=None)
    wire.answer(unknown, unknown, unknown, wire.made.chat('{"code": "a"}'))
    completion = await wire.provider().complete(wire.request(schema=LOOSE))
    assert completion.attempts == 4
    assert not completion.native
    forms = [body.get("response_format") for body in wire.bodies]
    assert [form and form["type"] for form in forms] == [
        "json_schema",
        "json_object",
        "json_object",
        None,
    ]
    assert forms[1] is not None
    assert forms[1]["schema"] == LOOSE
    assert '"additionalProperties": false' in wire.bodies[-1]["messages"][0]["content"]
    assert wire.bodies[-1]["messages"][0]["content"].startswith("Be brief.")


async def test_long_bounds_are_shortened_where_they_end_the_server(wire: Any) -> None:
    """Beside json_object a text is held to 500 characters at most, which each reply says."""
    wire.answer(wire.made.error(422, "response_format: not supported"), wire.made.chat("{}"))
    fields = {"a": {"type": "string", "maxLength": 2000}, "maxLength": {"maxLength": 9}}
    request = wire.request(schema={**LOOSE, "properties": fields})
    provider = wire.provider()
    replies = [await provider.complete(request) for _ in range(2)]
    sent = wire.bodies[1]["response_format"]["schema"]["properties"]
    assert sent == {"a": {"type": "string", "maxLength": 500}, "maxLength": {"maxLength": 9}}
    assert all("held to 500 characters" in reply.notes[-1] for reply in replies)


async def test_one_bad_schema_does_not_spoil_the_others(wire: Any) -> None:
    """A schema that the server cannot hold to is sent as not strict; the next is strict again."""
    wire.answer(
        wire.made.error(400, "Invalid schema for response_format 'reply'", param="response_format"),
        wire.made.chat(),
    )
    other = {**STRICT, "title": "another"}
    provider = wire.provider()
    for schema in (STRICT, STRICT, other):
        await provider.complete(wire.request(schema=schema))
    strict = [body["response_format"]["json_schema"]["strict"] for body in wire.bodies]
    assert strict == [True, False, False, True]


async def test_tools_beside_a_schema_refused(wire: Any) -> None:
    """The schema goes in words while tools may be called, and as a schema for the answer."""
    wire.answer(
        wire.made.error(400, "Cannot use custom grammar constraints with tools."), wire.made.chat()
    )
    provider = wire.provider()
    await provider.complete(wire.request(tools=(TOOL,), schema=LOOSE))
    await provider.complete(wire.request(tools=(TOOL,), schema=LOOSE, must_answer=True))
    _, again, answer = wire.bodies
    assert "tools" in again
    assert "response_format" not in again
    assert "JSON Schema" in again["messages"][0]["content"]
    assert "tools" not in answer
    assert "response_format" in answer


async def test_a_model_without_tools_gets_them_as_an_action(wire: Any) -> None:
    """The same tools through one JSON object, read back into a call."""
    wire.answer(
        wire.made.error(400, "wire-model does not support tools"),
        wire.made.chat('{"tool": "describe", "arguments": {"code": "a"}}'),
    )
    completion = await wire.provider().complete(wire.request(tools=(TOOL,), schema=LOOSE))
    assert completion.tool_calls[0].name == "describe"
    assert json.loads(completion.tool_calls[0].arguments) == {"code": "a"}
    assert "tools" not in wire.bodies[1]
    assert "anyOf" in wire.bodies[1]["response_format"]["json_schema"]["schema"]
    assert completion.notes[0] == "tools were not taken, and were sent as a JSON action"


async def test_tool_choice_refused(wire: Any) -> None:
    """Where none may be called and that cannot be said, the tools are left out."""
    wire.answer(wire.made.error(**refused("tool_choice")), wire.made.chat())
    await wire.provider().complete(wire.request(tools=(TOOL,), must_answer=True))
    assert not {"tools", "tool_choice"} & wire.bodies[1].keys()


async def test_options_choose_the_way_from_the_start(wire: Any) -> None:
    """``tool_calls: actions`` and ``structure: words`` ask nothing of the server."""
    wire.answer(wire.made.chat('{"answer": {"code": "a"}}'))
    provider = wire.provider(tool_calls="actions", structure="words")
    completion = await provider.complete(wire.request(tools=(TOOL,), schema=LOOSE))
    assert json.loads(completion.text) == {"code": "a"}
    assert wire.bodies[0].keys() == {"model", "messages"}
    assert "describe(code: string)" in wire.bodies[0]["messages"][0]["content"]


async def test_no_headers_of_the_environment_go_to_other_servers(
    wire: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK reads keys, organisations and headers from the environment; none leaves by itself."""
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "planted-0123456789")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "x-secret: planted-0123456789")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    await wire.provider().complete(wire.request())
    assert "planted" not in json.dumps(dict(wire.server.calls[0].headers))
