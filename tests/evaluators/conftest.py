"""Makers of outputs, runs and contexts, so that a test tells only what it is about."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest
import yaml

from orglab.evaluators.base import EvaluationError, Output, RunRecord
from orglab.results.records import CallEntry, Event, Verdict

Function = Callable[..., Awaitable[Any]]


@dataclass
class Tools:
    """A context whose tools are plain functions; it keeps the settings they were made with."""

    inputs: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    functions: Mapping[str, Function] = field(default_factory=dict)
    made: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    def tool(self, use: str, settings: Mapping[str, Any]) -> Function:
        if use not in self.functions:
            raise EvaluationError(f"no tool {use!r}")
        self.made.append((use, settings))
        return self.functions[use]

    def document(self, path: Path) -> Any:
        return yaml.safe_load(path.read_text(encoding="utf-8"))

    async def ask(
        self,
        model: str,
        *,
        system: str,
        prompt: str,
        schema: Mapping[str, Any] | None,
        repeat: int = 0,
    ) -> Any:
        raise EvaluationError("no model here")


class MakeOutput(Protocol):
    def __call__(self, value: Any = ..., **changes: Any) -> Output: ...


class MakeRun(Protocol):
    def __call__(self, *outputs: Output, **changes: Any) -> RunRecord: ...


def make_output(value: Any = "a text", **changes: Any) -> Output:
    """An output of the role ``writer``, delivered."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    role = changes.pop("role", "writer")
    copy = changes.pop("copy", role)
    visit = changes.pop("visit", 1)
    return Output(
        id=changes.pop("id", f"{copy}@{visit}"),
        role=role,
        copy=copy,
        visit=visit,
        tick=changes.pop("tick", visit),
        value=value,
        text=text,
        fate=changes.pop("fate", "delivered"),
        **changes,
    )


def make_run(*outputs: Output, **changes: Any) -> RunRecord:
    """A completed run whose answer is the last output."""
    fields: dict[str, Any] = {
        "id": "r1",
        "arm": "a",
        "unit": "u1",
        "inputs": {},
        "status": "completed",
        "outputs": outputs,
        "answer": outputs[-1] if outputs else None,
    }
    return RunRecord(**{**fields, **changes})


def make_verdict(output: str, action: str, **changes: Any) -> Verdict:
    """A verdict of the link ``review``."""
    fields: dict[str, Any] = {
        "link": "review",
        "superior": "boss",
        "output": output,
        "copy": output.split("@")[0],
        "by": "judgement",
        "action": action,
        "reason": "because",
        "obliged": action in {"question", "revise", "reject"},
    }
    return Verdict(**{**fields, **changes})


def make_call(**changes: Any) -> CallEntry:
    """A call of the role ``writer``."""
    fields: dict[str, Any] = {
        "position": "1.turn.0.0",
        "identity": "ab",
        "copy": "writer",
        "role": "writer",
        "purpose": "turn",
        "visit": 1,
        "provider": "scripted",
        "model": "m",
        "served": "m",
        "request": {},
        "text": "",
        "reasoning": "",
        "tool_calls": (),
        "stop": "stop",
        "read": {},
        "tokens": {"input": 10, "output": 5, "cached_input": 2, "reasoning": 0},
        "cost_usd": 0.5,
        "service_seconds": 2.0,
        "waiting_seconds": 1.0,
        "attempts": 1,
        "simulated": False,
    }
    return CallEntry(**{**fields, **changes})


def make_events(*bodies: tuple[str, Mapping[str, Any]]) -> Sequence[Event]:
    """Events of pairs of kind and body."""
    return [Event(seq=n, tick=1, kind=kind, body=body) for n, (kind, body) in enumerate(bodies)]


@pytest.fixture
def output() -> MakeOutput:
    """Makes an output of the role ``writer``, delivered."""
    return make_output


@pytest.fixture
def run() -> MakeRun:
    """Makes a completed run whose answer is the last of its outputs."""
    return make_run


@pytest.fixture
def verdict() -> Callable[..., Verdict]:
    """Makes a verdict on an output by the link ``review``."""
    return make_verdict


@pytest.fixture
def call() -> Callable[..., CallEntry]:
    """Makes a call of the role ``writer``."""
    return make_call


@pytest.fixture
def events() -> Callable[..., Sequence[Event]]:
    """Makes events of pairs of kind and body."""
    return make_events


@pytest.fixture
def context() -> Callable[..., Tools]:
    """Makes a context."""
    return Tools
