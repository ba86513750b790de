"""A wire server that speaks the Messages API: on loopback, started and stopped for each test."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from orglab.providers.anthropic import capabilities as anthropic_manners
from orglab.providers.anthropic.provider import AnthropicProvider
from orglab.providers.base import Completion, Message, ProviderError, Request

SERVERS = Path(__file__).parents[3] / "benchmarks" / "wire"


def _loaded(name: str) -> ModuleType:
    """A module of the folder of wire servers, which is no package."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, SERVERS / f"{name}.py")
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def made() -> ModuleType:
    """What makes replies: the module of the wire server."""
    _loaded("openai_server")
    return _loaded("anthropic_server")


@pytest.fixture(autouse=True)
def nothing_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a model refused in one test is not known in the next; no proxy stands between."""
    monkeypatch.setattr(anthropic_manners, "_KNOWN", {})
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


class Wire:
    """The server, and providers of models at it."""

    def __init__(self, made: ModuleType, server: Any) -> None:
        self.made = made
        self.server = server
        self.providers: list[AnthropicProvider] = []

    def answer(self, *replies: Any) -> None:
        """Sets what the next requests are answered, in turn; the last reply repeats."""
        begun = self.server.counts.requests

        def answer(call: Any) -> Any:
            at = min(call.number - begun, len(replies)) - 1
            return self.made.answering(replies[at], call)

        self.server.answer = answer

    def provider(self, model: str = "wire-model", **options: Any) -> AnthropicProvider:
        """The provider of a model at this server."""
        options = {"base_url": self.server.base_url, **options}
        provider = AnthropicProvider.from_spec(model, options)
        self.providers.append(provider)
        return provider

    def request(self, **fields: Any) -> Request:
        """A request."""
        asked = (Message(role="system", content="Be brief."), Message(role="user", content="Hm?"))
        return Request(**{"model": "wire-model", "messages": asked, **fields})

    async def ask(self, *replies: Any, options: Any = None, **fields: Any) -> Completion:
        """The completion of one request that the server answers so."""
        self.answer(*replies)
        return await self.provider(**(options or {})).complete(self.request(**fields))

    async def fault(self, *replies: Any, options: Any = None, **fields: Any) -> ProviderError:
        """The fault of one request that the server answers so."""
        with pytest.raises(ProviderError, match=r".") as raised:
            await self.ask(*replies, options=options, **fields)
        return raised.value

    @property
    def bodies(self) -> list[Any]:
        """The bodies of all requests so far."""
        return [call.body for call in self.server.calls]


@pytest.fixture
async def wire(made: ModuleType) -> AsyncIterator[Wire]:
    """A server that answers OK until it is told otherwise."""
    server = made.MessagesServer(made.in_turn(made.message("OK")))
    await server.start()
    kept = Wire(made, server)
    yield kept
    for provider in kept.providers:
        await provider.aclose()
    await server.stop()
