"""A loop whose time passes at once, and a provider that does what it is told."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, ClassVar

import pytest

from orglab.providers.base import Completion, Message, Provider, Request, TokenUsage


class Stuck(Exception):
    """Raised when nothing will ever happen again."""


class _Selector(selectors.SelectSelector):
    """Waits for nothing: time itself jumps to the next timer."""

    passed = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        events = super().select(0)
        if not events and timeout is None:
            raise Stuck("every task waits for another")
        if not events and timeout:
            self.passed += timeout
        return events


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.jumps = _Selector()
        super().__init__(self.jumps)

    def time(self) -> float:
        return 1000.0 + self.jumps.passed


@pytest.fixture
def virtual() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Runs a coroutine in a loop whose time passes at once."""

    def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
        with asyncio.Runner(loop_factory=_Loop) as runner:
            return runner.run(coroutine)

    return run


class Server(Provider):
    """Ends its calls one after another as told, each after some seconds; the last way again."""

    default_concurrency: ClassVar[int] = 256

    def __init__(self, *ends: Completion | Exception, seconds: float = 1.0) -> None:
        self.ends = list(ends) or [Completion(text="yes", usage=TokenUsage(input=10, output=5))]
        self.seconds = seconds
        self.sent: list[float] = []
        self.under_way = 0
        self.most = 0
        self.name: str | None = "https://host/v1 KEY"

    @classmethod
    def from_spec(cls, model: str, options: Mapping[str, Any]) -> Server:
        raise NotImplementedError

    def account(self) -> str | None:
        return self.name

    async def complete(self, request: Request) -> Completion:
        self.sent.append(asyncio.get_running_loop().time() - 1000.0)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.under_way -= 1
        end = self.ends.pop(0) if len(self.ends) > 1 else self.ends[0]
        if isinstance(end, Exception):
            raise _fresh(end)
        return end


def _fresh(fault: Exception) -> Exception:
    """The same fault as an object of its own; ``copy`` shares its fields once tblib is loaded."""
    again = type(fault).__new__(type(fault), *fault.args)
    again.__dict__.update(fault.__dict__)
    return again


@pytest.fixture
def server() -> type[Server]:
    """The class of the server, to be told how its calls end."""
    return Server


@pytest.fixture
def request_of() -> Callable[[str], Request]:
    """A request of this identity."""

    def make(identity: str = "one", **fields: Any) -> Request:
        return Request(
            model="m",
            messages=(Message(role="user", content="hello"),),
            identity=identity,
            **fields,
        )

    return make
