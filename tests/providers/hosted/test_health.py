"""Whether a server answers: words about it, never its own, and never the key."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from orglab.providers.anthropic.provider import AnthropicProvider
from orglab.providers.base import Provider
from orglab.providers.hosted import health as hosted_reach
from orglab.providers.llama.provider import LlamaProvider
from orglab.providers.openai.provider import OpenAIProvider
from orglab.providers.simulated.provider import SimulatedProvider

KEY = "sk-planted-key-0123456789"
LIST = '{"object": "list", "data": [{"id": "small"}, {"id": "large"}]}'

Serve = Callable[[str], Awaitable[str]]


@pytest.fixture
async def heard() -> list[str]:
    """The requests that the server heard."""
    return []


@pytest.fixture
async def serve(heard: list[str], monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Serve]:
    """A server on loopback that answers every request with one text; gives its address."""
    monkeypatch.setenv("PLANTED_KEY", KEY)
    servers: list[asyncio.Server] = []

    async def started(answer: str) -> str:
        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heard.append((await reader.readuntil(b"\r\n\r\n")).decode())
            writer.write(answer.encode())
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        servers.append(server)
        return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"

    yield started
    for server in servers:
        server.close()
        await server.wait_closed()


def answer(status: str, body: str) -> str:
    """An answer of HTTP."""
    size = len(body.encode())
    return f"HTTP/1.1 {status}\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n{body}"


def openai(base_url: str, model: str = "small") -> Provider:
    """The provider of a model there."""
    return OpenAIProvider.from_spec(model, {"base_url": base_url, "api_key_env": "PLANTED_KEY"})


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        ("200 OK", LIST, "answers, and has the model"),
        ("200 OK", '{"data": []}', "answers; its list lacks the model"),
        ("200 OK", "<html>", "answers, but not with a list of models"),
        ("200 OK", '{"data": [7]}', "answers, but not with a list of models"),
        ("200 OK", "[]", "answers, but not with a list of models"),
        ("401 No", f'{{"error": "bad key {KEY}"}}', "answers, and refuses the key"),
        ("404 No", "", "answers, and has no list of models"),
        ("429 No", "", "answers: too many requests, or an empty account"),
        ("302 Go", "", "answers with status 302"),
        ("500 Oh", KEY, "answers with status 500"),
    ],
)
async def test_what_a_server_says_in_our_words(
    serve: Serve, status: str, body: str, words: str
) -> None:
    """Its own text is never shown: it may hold anything, the key included."""
    assert await openai(await serve(answer(status, body))).reachable("small") == words


async def test_the_key_goes_in_the_header_of_its_kind(serve: Serve, heard: list[str]) -> None:
    """Each API has its own."""
    url = await serve(answer("200 OK", LIST))
    await openai(url).reachable("small")
    options = {"base_url": url.removesuffix("/v1"), "api_key_env": "PLANTED_KEY"}
    found = await AnthropicProvider.from_spec("large", options).reachable("large")
    assert found == "answers, and has the model"
    first, second = (text.lower() for text in heard)
    assert first.startswith("get /v1/models http/1.1")
    assert f"authorization: bearer {KEY}" in first
    assert second.startswith("get /v1/models?limit=1000 http/1.1")
    assert f"x-api-key: {KEY}" in second
    assert "anthropic-version: 2023-06-01" in second


async def test_who_does_not_answer(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken answer, a closed port, and silence."""
    broken = await openai(await serve("what?")).reachable("small")
    assert broken == "127.0.0.1 cannot be reached (RemoteProtocolError)"
    closed = await openai("http://127.0.0.1:1/v1").reachable("small")
    assert closed == "127.0.0.1 cannot be reached (ConnectError)"
    monkeypatch.setattr(hosted_reach, "SECONDS", 0.05)
    silent = await openai(await serve("")).reachable("small")
    assert "127.0.0.1" in silent


async def test_a_list_without_end_is_not_read_to_it(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stranger's server cannot fill the memory."""
    monkeypatch.setattr(hosted_reach, "LARGEST", 100)
    found = await openai(await serve(answer("200 OK", "x" * 1000))).reachable("small")
    assert found == "answers with a list of models that is too long to read"


async def test_models_without_a_server_say_so() -> None:
    """The simulated need nothing; of local ones the weights are there."""
    assert await SimulatedProvider.from_spec("", {}).reachable("") == "needs no server"
    try:
        local = LlamaProvider.from_spec("smollm2", {})
    except ValueError:
        pytest.skip("no weights here")
    assert (await local.reachable("smollm2")).startswith("weights found: ")
