"""A wire server for the provider ``openai``: on loopback, started and stopped for each test."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from orglab.providers.base import Message, Request
from orglab.providers.openai import provider as provider_module
from orglab.providers.openai.provider import OpenAIProvider

SERVER = Path(__file__).parents[3] / "benchmarks" / "wire" / "openai_server.py"


@pytest.fixture(scope="session")
def openai_wire() -> ModuleType:
    """The module of the wire server, loaded by its path: benchmarks are no package."""
    name = "orglab_wire_openai_server"
    spec = importlib.util.spec_from_file_location(name, SERVER)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def nothing_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a model refused in one test is not known in the next; no proxy stands between."""
    monkeypatch.setattr(provider_module, "_CAPABILITIES", {})
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


class Wire:
    """The server, and the provider of its model."""

    def __init__(self, module: ModuleType, server: Any) -> None:
        self.made = module
        self.server = server
        self.providers: list[OpenAIProvider] = []

    def answer(self, *replies: Any) -> None:
        """Sets what the next requests are answered, in turn; the last reply repeats."""
        at = self.server.counts.requests
        inner = self.made.in_turn(*replies)

        def shifted(call: Any) -> Any:
            return inner(self.made.Call(number=call.number - at, path="", headers={}, body=None))

        self.server.answer = shifted

    def provider(self, **options: Any) -> OpenAIProvider:
        """The provider of the model ``m`` at this server."""
        made = OpenAIProvider.from_spec("m", {"base_url": self.server.base_url, **options})
        self.providers.append(made)
        return made

    @property
    def bodies(self) -> list[Any]:
        """The bodies of all requests so far."""
        return [call.body for call in self.server.calls]

    def request(self, **fields: Any) -> Request:
        """A request of the model ``m``."""
        asked = (Message(role="system", content="Be brief."), Message(role="user", content="Hm?"))
        return Request(**{"model": "m", "messages": asked, **fields})


@pytest.fixture
async def wire(openai_wire: ModuleType) -> AsyncIterator[Wire]:
    """A server that answers OK until it is told otherwise."""
    answer = openai_wire.in_turn(openai_wire.chat())
    async with openai_wire.serving(answer) as server:
        made = Wire(openai_wire, server)
        yield made
        for provider in made.providers:
            await provider.aclose()
