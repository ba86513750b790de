"""Teams written as files, and providers that count what they are asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import orglab
from orglab.engine.graph.team import Team
from orglab.providers.base import Request
from orglab.providers.scripted.provider import ScriptedProvider
from orglab.results.store.reader import Reader

HEAD = """\
kind: topology
version: 1
name: team
inputs: {topic: {type: string}}
models: {worker: {provider: scripted, file: replies.jsonl}}
"""
PAIR = (
    HEAD
    + """\
roles:
  writer: {}
  critic: {}
links:
  - {from: writer, to: critic, kind: forward}
output: critic
"""
)


class Asked:
    """A provider's function that notes every call and answers by ``answer``, else by name."""

    def __init__(self, answer: Callable[[Request], Any] | None = None) -> None:
        self.requests: list[Request] = []
        self._answer = answer or (lambda request: f"by {request.labels.copy}")

    def __call__(self, request: Request) -> Any:
        """Notes and answers."""
        self.requests.append(request)
        return self._answer(request)

    @property
    def copies(self) -> list[str]:
        """Who was asked, in order."""
        return [request.labels.copy for request in self.requests]

    @property
    def providers(self) -> dict[str, ScriptedProvider]:
        """For ``orglab.run``."""
        return {"*": ScriptedProvider(self)}


def events(folder: Path) -> list[tuple[Any, ...]]:
    """Every event of a study as it stands in the file, by run."""
    sql = """SELECT r.id, e.seq, e.tick, e.kind, e.body FROM events e JOIN runs r USING (run)
             ORDER BY r.id, e.seq"""
    with Reader(folder) as reader:
        return [tuple(row) for row in reader.rows(sql)]


@pytest.fixture
def team(tmp_path: Path) -> Callable[..., Team]:
    """Loads a team from its text; the same text gives the same team."""

    def load(text: str, *, name: str = "team.yaml") -> Team:
        (tmp_path / "replies.jsonl").write_text('{"role": "x", "reply": "x"}\n', encoding="utf-8")
        (tmp_path / name).write_text(text, encoding="utf-8")
        return orglab.load(tmp_path / name)

    return load


@pytest.fixture
def pair(team: Callable[..., Team]) -> Team:
    """A writer, then a critic."""
    return team(PAIR)


@pytest.fixture
def head() -> str:
    """The first lines of a spec: one scripted model, one input."""
    return HEAD


@pytest.fixture
def asked() -> type[Asked]:
    """Makes providers that count."""
    return Asked


@pytest.fixture
def events_of() -> Callable[[Path], list[tuple[Any, ...]]]:
    """Reads the events of a study."""
    return events
