"""Teams written in a few words, and runs of them on replies written beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from orglab.engine.graph.compile import compile_topology
from orglab.engine.graph.team import Team
from orglab.engine.run.calls.model_registry import ModelRegistry
from orglab.engine.run.engine import run_team
from orglab.engine.run.outcome import Outcome, Unit
from orglab.engine.run.run_plan import RunPlan
from orglab.engine.spec.model import (
    AuthorityLink,
    EvaluatorUse,
    ForwardLink,
    InputField,
    Limits,
    Link,
    Model,
    Phase,
    Role,
    RoleLimits,
    Stake,
    Topology,
    Trigger,
)
from orglab.providers.base import Request
from orglab.providers.scripted.provider import ScriptedProvider
from orglab.results.store.journal.journal import MemoryJournal

NEXT = {
    "type": "object",
    "properties": {"next": {"type": "string"}},
    "required": ["next"],
    "additionalProperties": True,
}


def _role(name: str, fields: Mapping[str, Any]) -> Role:
    given = dict(fields)
    if not {"vote", "team"} & given.keys():
        given.setdefault("model", "m")
    if "with" in given:
        given["fill"] = given.pop("with")
    if "limits" in given:
        given["limits"] = RoleLimits(**given["limits"])
    return Role(name=name, **given)


def _link(fields: Mapping[str, Any]) -> Link:
    given = dict(fields)
    source, target = given.pop("from"), given.pop("to")
    if given.pop("kind", "forward") == "forward":
        when = given.pop("when", None)
        if isinstance(when, str) and when != "otherwise":
            when = {"next": (when,)}
        name = given.pop("id", f"{source}>{target}")
        return ForwardLink(id=name, source=source, target=target, when=when, **given)
    targets = (target,) if isinstance(target, str) else tuple(target)
    name = given.pop("id", f"{source}>{','.join(targets)}")
    if "review" in given:
        given["phases"] = tuple(Phase(actions=tuple(phase)) for phase in given.pop("review"))
    if "trigger" in given:
        trigger = dict(given["trigger"])
        trigger["checks"] = tuple(
            EvaluatorUse(use=use, arguments=arguments)
            for use, arguments in trigger.get("checks", ())
        )
        given["trigger"] = Trigger(**trigger)
    if "stake" in given:
        given["stake"] = Stake(**given["stake"])
    return AuthorityLink(id=name, source=source, targets=targets, **given)


def make_topology(
    roles: Mapping[str, Mapping[str, Any]] | Sequence[str],
    links: Sequence[Mapping[str, Any]],
    output: str | Sequence[str],
    **more: Any,
) -> Topology:
    """A topology of the given roles and links."""
    named = roles if isinstance(roles, Mapping) else {name: {} for name in roles}
    inputs = more.pop("inputs", {"topic": {"type": "string"}})
    limits = Limits(**more.pop("limits", {}))
    return Topology(
        name="team",
        hash="0" * 32,
        folder=Path(__file__).parent,
        inputs={name: InputField(name=name, schema=schema) for name, schema in inputs.items()},
        models=more.pop("models", {"m": Model(alias="m", provider="scripted")}),
        pools=more.pop("pools", {}),
        tools=more.pop("tools", {}),
        roles={name: _role(name, fields) for name, fields in named.items()},
        links=tuple(_link(link) for link in links),
        start=more.pop("start", None),
        output=(output,) if isinstance(output, str) else tuple(output),
        limits=limits,
        **more,
    )


def make_team(*parts: Any, **more: Any) -> Team:
    """Compiles a team of the given roles and links."""
    team, problems = compile_topology(make_topology(*parts, **more))
    assert team is not None, problems
    return team


@dataclass
class Played:
    """A run, with what was asked."""

    outcome: Outcome
    requests: list[Request]
    journal: MemoryJournal

    def turns(self) -> list[str]:
        """Replicas in the order of their own turns."""
        return [event.body["copy"] for event in self.outcome.events if event.kind == "turn"]

    def of(self, kind: str) -> list[Mapping[str, Any]]:
        """Bodies of the events of a kind."""
        return [event.body for event in self.outcome.events if event.kind == kind]

    def prompts(self, role: str) -> list[str]:
        """The last message of each request of a role."""
        return [
            request.messages[-1].content for request in self.requests if request.labels.role == role
        ]


Replies = Callable[[Request], Any] | Mapping[str, Sequence[Any]]


def replying(replies: Replies) -> Callable[[Request], Any]:
    """Replies by role, in order, the last again and again; roles left out say their name."""
    if callable(replies):
        return replies

    def reply(request: Request) -> Any:
        labels = request.labels
        said = replies.get(labels.copy, replies.get(labels.role, [f"by {labels.copy}"]))
        return said[min(len(labels.earlier), len(said) - 1)]

    return reply


async def play_team(
    team: Team,
    replies: Replies,
    *,
    journal: MemoryJournal | None = None,
    unit: Unit | None = None,
    seed: int = 1,
) -> Played:
    """Runs a team on replies."""
    requests: list[Request] = []
    answer = replying(replies)

    def record(request: Request) -> Any:
        requests.append(request)
        return answer(request)

    kept = journal or MemoryJournal()
    registry = ModelRegistry(team.topology.models, {"*": ScriptedProvider(record)})
    outcome = await run_team(
        RunPlan(team, registry),
        unit or Unit(id="u1", inputs={"topic": "tea"}),
        seed=seed,
        journal=kept,
    )
    return Played(outcome=outcome, requests=requests, journal=kept)


@pytest.fixture
def team() -> Callable[..., Team]:
    """Builds teams."""
    return make_team


@pytest.fixture
def build() -> Callable[..., Topology]:
    """Builds topologies, sound or not."""
    return make_topology


@pytest.fixture
def play() -> Callable[..., Any]:
    """Plays teams."""
    return play_team


@pytest.fixture
def next_schema() -> Mapping[str, Any]:
    """The schema of an output whose field ``next`` chooses the way."""
    return NEXT
