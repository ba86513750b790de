"""The stored cases of hosted models, played by the wire server in the form of Chat Completions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from case_files import case_folder

from orglab.providers.base import (
    AuthenticationFailed,
    BadRequest,
    ContextOverflow,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    ToolDefinition,
    Unavailable,
)
from orglab.providers.openai.response import usage_of
from orglab.providers.pricing.pricing import cost
from orglab.providers.structured_output.parse import read_reply


def case(number: int, name: str) -> Any:
    """A JSON file of a case."""
    folder = case_folder(str(number))
    return json.loads((folder / name).read_text(encoding="utf-8"))


def scripts(number: int) -> list[Any]:
    """The scripts of a case in this form, as pytest parameters."""
    found = case(number, "scripts.json").items()
    return [pytest.param(name, id=name) for name, s in found if s["dialect"] == "openai-chat"]


def play(wire: Any, number: int, name: str) -> Any:
    """Has the server play a script; its expectation."""
    replies = case(number, "scripts.json")[name]["responses"]
    wire.answer(*(wire.made.Reply(**_dated(each)) for each in replies))
    return case(number, "expected.json")


def _dated(reply: dict[str, Any]) -> dict[str, Any]:
    from datetime import UTC, datetime, timedelta
    from email.utils import format_datetime

    later = format_datetime(datetime.now(UTC) + timedelta(seconds=3), usegmt=True)
    headers = {k: v.replace("{HTTP_DATE+3}", later) for k, v in reply["headers"].items()}
    return {**reply, "headers": headers}


@pytest.mark.parametrize("name", scripts(27))
async def test_case_27_retry_after(wire: Any, name: str) -> None:
    """The first answer names the wait in any form, or none; the second is the reply."""
    expected = play(wire, 27, name)[name]
    provider, request = wire.provider(), wire.request()
    with pytest.raises((RateLimited, Unavailable)) as caught:
        await provider.complete(request)
    least = expected.get("min_wait_s", expected.get("never_wait_below_s"))
    assert isinstance(caught.value, RateLimited | Unavailable)
    waits = caught.value.retry_after
    assert waits is None if least is None else least <= waits <= least + 1
    assert caught.value.cut == 0
    assert wire.server.counts.requests == 1
    assert (await provider.complete(request)).text == "OK"


@pytest.mark.parametrize("name", scripts(28))
async def test_case_28_quota_differs_from_rate(
    wire: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty account and a wrong key end it at once; a rate in the same words waits."""
    monkeypatch.setenv("WIRE_KEY", "sk-planted-key-0123456789-1234")
    requests = play(wire, 28, name)[name]
    kind = AuthenticationFailed if "401" in name else QuotaExhausted
    provider = wire.provider(api_key_env="WIRE_KEY")
    with pytest.raises(RateLimited if requests == 2 else kind) as caught:
        await provider.complete(wire.request())
    assert wire.server.counts.requests == 1
    assert "1234" not in str(caught.value)


@pytest.mark.parametrize("name", scripts(31))
async def test_case_31_nothing_in_it(wire: Any, name: str) -> None:
    """Empty content is no answer; reasoning is not used as one; the tokens are counted."""
    expected = play(wire, 31, name)[name]
    completion = await wire.provider().complete(wire.request())
    reading = read_reply(completion.text, None, stop=completion.stop, usage=completion.usage)
    assert reading.problem == expected
    assert completion.usage.output > 0
    if name == "a-all-reasoning":
        assert "200 of 200 tokens went to reasoning" in completion.notes
        assert "raise it, or answer more briefly (200 of 200 tokens" in reading.message
    if name == "c-reasoning-field":
        assert completion.reasoning == "I thought about it for a while."


@pytest.mark.parametrize("every", [0, 1, 7])
async def test_case_34_streamed_tool_arguments(wire: Any, every: int) -> None:
    """Pieces are joined by index, wherever the bytes are cut; the last chunk's usage counts."""
    data = (case_folder("34") / "openai.sse").read_bytes()
    expected = case(34, "expected.json")["openai.sse"]
    wire.answer(wire.made.stream(data, every=every))
    tool = ToolDefinition(name="describe", description="", parameters={"type": "object"})
    completion = await wire.provider(stream=True).complete(wire.request(tools=(tool,)))
    calls = [
        {"id": call.id, "name": call.name, "input": json.loads(call.arguments)}
        for call in completion.tool_calls
    ]
    assert calls == expected["calls"]
    assert completion.usage.output == expected["completion_tokens"]
    assert completion.stop == "tool_calls"


@pytest.mark.parametrize("name", scripts(37))
async def test_case_37_context_overflow(wire: Any, name: str) -> None:
    """One request, its own kind, and the numbers where the server gives them."""
    expected = play(wire, 37, name)
    with pytest.raises(ContextOverflow) as caught:
        await wire.provider().complete(wire.request())
    assert caught.value.kind == expected["kind"]
    assert wire.server.counts.requests == expected["requests"]
    if name == "a-openai":
        assert (caught.value.needed, caught.value.window) == (9001, 8192)


@pytest.mark.parametrize("name", ["a-ignored", "b-whitespace-run", "c-endless-string", "d-ok"])
async def test_case_40_a_schema_that_was_not_held_to(wire: Any, name: str) -> None:
    """Whatever was asked of the server, the reply is validated."""
    expected, schema = play(wire, 40, name)[name], case(40, "schema.json")
    completion = await wire.provider().complete(wire.request(schema=schema))
    reading = read_reply(completion.text, schema, stop=completion.stop, native=completion.native)
    if isinstance(expected, dict):
        assert reading.value == expected
    else:
        assert reading.problem in (expected, "no json")
        assert (reading.problem == "truncated") == (expected == "truncated")


async def test_case_40_response_format_is_not_known(wire: Any) -> None:
    """The request is sent the other way, and the reply says so."""
    play(wire, 40, "e-unsupported-400")
    completion = await wire.provider().complete(wire.request(schema=case(40, "schema.json")))
    assert completion.attempts == 2
    assert "was not taken as json_schema" in completion.notes[0]


@pytest.mark.parametrize("name", ["a-openai", "c-unknown-model", "e-reasoning"])
def test_case_41_cost_with_cached_and_reasoning_tokens(name: str) -> None:
    """Cached tokens are inside the prompt's, reasoning inside the reply's; unknown is None."""
    from orglab.engine.spec.model import Price

    used, prices = case(41, "usages.json")[name], case(41, "prices_per_million.json")
    price = Price(**prices["m-openai"]) if used["model"] in prices else None
    expected = case(41, "expected.json")[name]
    assert cost(usage_of(used["usage"]), price) == pytest.approx(expected)


async def test_no_case_is_another_error(wire: Any) -> None:
    """A fault outside the cases is still one of the typed errors."""
    wire.answer(wire.made.error(418, "teapot"))
    with pytest.raises(BadRequest, match="answered 418") as caught:
        await wire.provider().complete(wire.request())
    assert isinstance(caught.value, ProviderError)
