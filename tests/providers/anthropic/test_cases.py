"""The stored cases of hosted models, played by the wire server in the form of the Messages API."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from case_files import case_folder

from orglab.providers.anthropic.response import StreamedReply
from orglab.providers.base import ContextOverflow, RateLimited
from orglab.providers.pricing.pricing import cost
from orglab.providers.structured_output.parse import read_reply
from orglab.providers.structured_output.tool_arguments import read_arguments


def case(number: int, name: str) -> Any:
    """A JSON file of a case."""
    folder = case_folder(str(number))
    return json.loads((folder / name).read_text(encoding="utf-8"))


def replies(made: Any, number: int, name: str) -> list[Any]:
    """What the server answers: refusals as they stand, messages as streams."""
    found = case(number, "scripts.json")[name]["responses"]
    return [
        {**each["body"], "content": _blocks(made, each["body"])}
        if each["status"] == 200
        else made.Reply(**each)
        for each in found
    ]


def _blocks(made: Any, body: Any) -> list[Any]:
    return [each for each in body["content"] if each["type"] in ("text", "thinking")]


async def test_27_the_server_names_the_wait(wire: Any, made: Any) -> None:
    """One request, then the caller waits as long as was asked, then one more."""
    first, then = replies(made, 27, "f-anthropic")
    fault = await wire.fault(first)
    assert isinstance(fault, RateLimited)
    expected = case(27, "expected.json")["f-anthropic"]
    assert fault.retry_after == expected["min_wait_s"]
    assert (await wire.ask(then)).text == "OK"
    assert wire.server.counts.requests == expected["requests"]


@pytest.mark.parametrize("name", ["d-anthropic-empty-list", "e-anthropic-thinking-only"])
async def test_31_nothing_in_it_is_no_answer(wire: Any, made: Any, name: str) -> None:
    """The tokens count, the reasoning is no answer, and the limit is named."""
    [said] = replies(made, 31, name)
    reply = await wire.ask(said)
    reading = read_reply(reply.text, None, stop=reply.stop)
    assert reading.problem == case(31, "expected.json")[name] == "truncated"
    assert reply.usage.output == said["usage"]["output_tokens"]


@pytest.mark.parametrize("every", [1, 3, 50, 100_000])
async def test_34_tool_arguments_in_pieces(wire: Any, made: Any, every: int) -> None:
    """Joined by block, read once, wherever the bytes are cut."""
    data = (case_folder("34") / "anthropic.sse").read_bytes()
    chunks = [data[at : at + every] for at in range(0, len(data), every)]
    reply = await wire.ask(made.Streamed(chunks=chunks))
    expected = case(34, "expected.json")["anthropic.sse"]
    assert (reply.text, reply.stop) == (expected["text"], "tool_calls")
    calls = [
        {"id": c.id, "name": c.name, "input": read_arguments(c.arguments, {}).value}
        for c in reply.tool_calls
    ]
    assert calls == expected["calls"]
    assert reply.usage.output == expected["output_tokens"]
    assert reply.usage.input == 9


async def test_37_the_prompt_is_longer_than_the_window(wire: Any, made: Any) -> None:
    """One request, and both numbers."""
    fault = await wire.fault(*replies(made, 37, "c-anthropic"))
    assert isinstance(fault, ContextOverflow)
    assert (fault.needed, fault.window) == (210_000, 200_000)
    assert wire.server.counts.requests == case(37, "expected.json")["requests"]


@dataclass(frozen=True)
class CasePrice:
    """A price of the case."""

    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None


def test_41_tokens_of_the_cache_stand_beside_the_input() -> None:
    """Read and written ones have prices of their own; an unknown one makes the cost unknown."""
    gathered = StreamedReply()
    usage = case(41, "usages.json")["b-anthropic"]["usage"]
    gathered.take({"type": "message_delta", "usage": usage, "delta": {}})
    written = case(41, "prices_per_million.json")["m-anthropic"]
    price = CasePrice(
        input=written["input"],
        output=written["output"],
        cached_input=written["cache_read"],
        cache_write=written["cache_write"],
    )
    expected = case(41, "expected.json")["b-anthropic"]
    assert cost(gathered.usage, price) == pytest.approx(expected, abs=1e-12)
    unknown = CasePrice(input=3.0, output=15.0, cached_input=0.3)
    assert cost(gathered.usage, unknown) is None
