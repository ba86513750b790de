"""What a model refuses is sent once the other way, remembered, and told in every record."""

from __future__ import annotations

from typing import Any

import pytest

from orglab.providers.base import BadRequest, ContextOverflow, ToolDefinition

SCHEMA = {
    "type": "object",
    "properties": {"code": {"type": "string"}},
    "required": ["code"],
    "additionalProperties": False,
}
TOOL = ToolDefinition(name="head", description="Rows.", parameters={"type": "object"})
OK = "OK"
UNSENT = "{} was not sent: this model does not take it"


@pytest.mark.parametrize(
    ("params", "words", "left"),
    [
        ({"temperature": 0.3}, "`temperature` is deprecated for this model.", set()),
        (
            {"temperature": 0.3, "top_p": 0.9},
            "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
            {"temperature"},
        ),
        (
            {"temperature": 0.3, "thinking": "adaptive"},
            "`temperature` may only be set to 1 when thinking is enabled.",
            {"thinking"},
        ),
        (
            {"top_p": 0.5, "thinking": "adaptive"},
            "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.",
            {"thinking"},
        ),
        ({"top_k": 5, "temperature": 1}, "top_k: Extra inputs are not permitted", {"temperature"}),
        ({"effort": "high"}, "This model does not support the effort parameter.", set()),
        ({"service_tier": "auto"}, "service_tier: not supported for this model", set()),
    ],
)
async def test_a_refused_parameter_is_left_out_from_then_on(
    wire: Any, made: Any, params: dict[str, Any], words: str, left: set[str]
) -> None:
    """The refusal costs one request; the next call knows, and every record tells."""
    wire.answer(made.error(400, words), made.message(OK))
    params = {"max_output_tokens": 9, **params}
    first = await wire.provider().complete(wire.request(params=params))
    again = await wire.provider().complete(wire.request(params=params))
    dropped = set(params) - left - {"max_output_tokens"}
    assert (first.attempts, again.attempts, len(wire.bodies)) == (2, 1, 3)
    assert first.notes == again.notes == tuple(UNSENT.format(name) for name in sorted(dropped))
    assert wire.bodies[1] == wire.bodies[2]
    assert all(name not in wire.bodies[1] for name in dropped)
    assert all(name in wire.bodies[1] for name in left)
    assert "output_config" not in wire.bodies[1]


async def test_other_models_are_asked_as_the_author_wrote(wire: Any, made: Any) -> None:
    """What one model refuses, another may take."""
    words = "`temperature` is deprecated for this model."
    wire.answer(made.error(400, words), made.message(OK))
    params = {"temperature": 0.3}
    await wire.provider("one").complete(wire.request(params=params))
    await wire.provider("two").complete(wire.request(params=params))
    assert "temperature" in wire.bodies[2]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"temperature": 7}, "temperature: Input should be less than or equal to 1"),
        ({"stop": []}, "stop_sequences: each must contain non-whitespace"),
        ({"thinking": 5000}, "`max_tokens` must be greater than `thinking.budget_tokens`."),
        ({"thinking": 10}, "thinking.enabled.budget_tokens: Input should be greater than 1023"),
        ({}, "messages: roles must alternate"),
    ],
)
async def test_a_wrong_value_is_the_author_s_to_mend(
    wire: Any, made: Any, params: dict[str, Any], words: str
) -> None:
    """Nothing is left out in silence."""
    fault = await wire.fault(made.error(400, words), params={"max_output_tokens": 9, **params})
    assert isinstance(fault, BadRequest)
    assert words in str(fault)
    assert (len(wire.bodies), fault.attempts, fault.cut) == (1, 1, 0)


async def test_a_budget_of_thinking_becomes_adaptive(wire: Any, made: Any) -> None:
    """Newer models take no budget."""
    words = (
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
        '"output_config.effort" to control thinking behavior.'
    )
    params = {"thinking": 2000, "max_output_tokens": 4000}
    reply = await wire.ask(made.error(400, words), made.message(OK), params=params)
    assert wire.bodies[1]["thinking"] == {"type": "adaptive"}
    assert reply.notes == ("thinking is adaptive: the model takes no budget (of 2000 tokens)",)


@pytest.mark.parametrize(
    "words",
    [
        "output_config.format: Extra inputs are not permitted",
        "This model does not support the output_config.format parameter.",
        "'claude-3-haiku-20240307' does not support output format.",
    ],
)
async def test_a_model_without_formats_is_asked_by_tool(wire: Any, made: Any, words: str) -> None:
    """For every schema from then on."""
    said = made.message(made.use("answer", '{"code": "x"}'), stop="tool_use")
    wire.answer(made.error(400, words), said)
    reply = await wire.provider().complete(wire.request(schema=SCHEMA))
    other = {**SCHEMA, "description": "another"}
    await wire.provider().complete(wire.request(schema=other))
    assert (reply.text, reply.native, reply.attempts) == ('{"code": "x"}', False, 2)
    assert "the answer is a tool's input: the server does not hold the schema" in reply.notes
    assert [("output_config" in body) for body in wire.bodies] == [True, False, False]


async def test_a_schema_that_cannot_be_held_is_the_exception(wire: Any, made: Any) -> None:
    """Other schemas are still held."""
    said = made.message(made.use("answer", '{"code": "x"}'), stop="tool_use")
    words = "output_config.format.schema: Schema is too complex for compilation."
    wire.answer(made.error(400, words), said)
    await wire.provider().complete(wire.request(schema=SCHEMA))
    await wire.provider().complete(wire.request(schema={**SCHEMA, "description": "another"}))
    await wire.provider().complete(wire.request(schema=SCHEMA))
    assert [("output_config" in body) for body in wire.bodies] == [True, False, True, False]


async def test_a_tool_that_cannot_be_forced_is_asked_for(wire: Any, made: Any) -> None:
    """The record says that nothing was forced."""
    words = "Thinking may not be enabled when tool_choice forces tool use."
    said = made.message(made.use("answer", '{"code": "x"}'), stop="tool_use")
    reply = await wire.ask(
        made.error(400, words), said, schema=SCHEMA, tools=(TOOL,), options={"structure": "tool"}
    )
    assert [("tool_choice" in body) for body in wire.bodies] == [True, False]
    assert "the answer's tool is asked for and not forced: the model thinks" in reply.notes


async def test_the_most_tokens_are_the_server_s_to_say(wire: Any, made: Any) -> None:
    """A limit above it is lowered, written or not: the model can write no more."""
    words = "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for m"
    wire.answer(made.error(400, words), made.message(OK))
    await wire.provider().complete(wire.request(params={"max_output_tokens": 128_000}))
    reply = await wire.provider().complete(wire.request(params={"max_output_tokens": 100_000}))
    assert [body["max_tokens"] for body in wire.bodies] == [128_000, 64_000, 64_000]
    assert reply.notes == ("max_tokens is 64000 in place of 100000: the server takes no more",)


async def test_a_default_limit_makes_room_for_a_long_prompt(wire: Any, made: Any) -> None:
    """An author's limit does not: that is an overflow, with its numbers."""
    words = "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease"
    wire.answer(made.error(400, words), made.message(OK))
    model = "claude-opus-4-20250514"
    reply = await wire.provider(model).complete(wire.request(model=model))
    assert [body["max_tokens"] for body in wire.bodies] == [32_000, 10_000]
    assert (reply.text, reply.attempts) == (OK, 2)
    fault = await wire.fault(made.error(400, words), params={"max_output_tokens": 32_000})
    assert isinstance(fault, ContextOverflow)
    assert (fault.needed, fault.window, fault.attempts) == (222_000, 200_000, 1)


async def test_several_things_may_be_refused_one_after_another(wire: Any, made: Any) -> None:
    """Each refusal settles one thing, and every request is counted."""
    params = {"temperature": 0.3, "effort": "low", "max_output_tokens": 9}
    said = made.message(made.use("answer", '{"code": "x"}'), stop="tool_use")
    reply = await wire.ask(
        made.error(400, "output_config: Extra inputs are not permitted"),
        made.error(400, "output_config: Extra inputs are not permitted"),
        made.error(400, "`temperature` is deprecated for this model."),
        said,
        schema=SCHEMA,
        params=params,
    )
    assert (reply.attempts, reply.text) == (4, '{"code": "x"}')
    assert len(reply.notes) == 3


async def test_a_server_that_refuses_for_ever_is_left(wire: Any, made: Any) -> None:
    """A refusal from which nothing new can be learned is the fault."""
    words = "`temperature` is deprecated for this model."
    fault = await wire.fault(made.error(400, words), params={"temperature": 0.3})
    assert isinstance(fault, BadRequest)
    assert (fault.attempts, len(wire.bodies)) == (2, 2)
    assert UNSENT.format("temperature") in fault.notes


async def test_a_refusal_may_have_been_learned_from_by_another_call(wire: Any, made: Any) -> None:
    """Calls under way together are all sent again."""
    import asyncio

    words = "`temperature` is deprecated for this model."

    def answer(call: Any) -> Any:
        refused = "temperature" in call.body
        return made.answering(made.error(400, words) if refused else made.message(OK), call)

    wire.server.answer = answer
    provider, request = wire.provider(), wire.request(params={"temperature": 0.3})
    replies = await asyncio.gather(*(provider.complete(request) for _ in range(4)))
    assert [(reply.text, reply.attempts) for reply in replies] == [(OK, 2)] * 4
