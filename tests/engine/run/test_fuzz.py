"""Thousands of random teams: none hangs, runs away, or differs by delays or by a crash."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from orglab.engine.graph.compile import compile_topology
from orglab.engine.graph.team import Team
from orglab.engine.run.desk import Desk
from orglab.engine.run.run import Outcome, RunPlan, Unit, run_team
from orglab.engine.spec.model import AuthorityLink, ForwardLink
from orglab.providers.base import Request
from orglab.providers.scripted import ScriptedProvider
from orglab.results.journal import Entry, MemoryJournal

TEAMS = int(os.environ.get("ORGLAB_FUZZ_TEAMS", "1500"))
"""Teams tried by the quick test; raise it to try more."""

OBLIGING = ("question", "revise", "reject")
PHASES = [
    [["approve", "comment", "revise"]],
    [["question", "reject"], ["approve", "reject"]],
    [["approve", "reject", "question"]],
    [["revise"], ["approve", "revise"]],
]
STEPS = ("again", "left", "right", "done")


def random_parts(rng: random.Random) -> tuple[dict[str, Any], list[dict[str, Any]], list[str]]:
    """Roles, links and outputs of a random team; not all are sound."""
    size = rng.randint(1, 6)
    names = [f"r{number}" for number in range(size)]
    bosses = [f"b{number}" for number in range(rng.randint(0, 2))]
    schema = {
        "type": "object",
        "properties": {"next": {"enum": list(STEPS)}},
        "required": ["next"],
    }
    roles: dict[str, Any] = {}
    for name in names:
        fields: dict[str, Any] = {"join": rng.choice(["all", "all", "any"])}
        if rng.random() < 0.5:
            fields["output"] = schema
        if rng.random() < 0.2:
            fields["replicas"] = rng.randint(2, 3)
        if rng.random() < 0.2:
            fields["on_error"] = "skip"
        if rng.random() < 0.3:
            fields["sees"] = rng.choice([("task",), ("blackboard",), ("inbox", "latest")])
        roles[name] = fields
    roles |= {boss: {"on_error": rng.choice(["skip", "fail"])} for boss in bosses}
    links = forward_links(rng, names, roles)
    links += [authority_link(rng, boss, names, number) for number, boss in enumerate(bosses)]
    rng.shuffle(links)
    return roles, links, rng.sample(names, rng.randint(1, size))


def forward_links(
    rng: random.Random, names: list[str], roles: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Forward links down the list of names, and closing links up it."""
    links: list[dict[str, Any]] = []
    link: dict[str, Any]
    for at, name in enumerate(names):
        for later in names[at + 1 :]:
            if rng.random() < 0.45:
                links.append({"from": name, "to": later, "id": f"f{len(links)}"})
        for earlier in names[: at + 1]:
            if rng.random() < 0.15:
                link = {"from": name, "to": earlier, "cap": rng.randint(0, 3)}
                links.append(
                    {**link, "id": f"f{len(links)}", "on_cap": rng.choice(["stop", "accept"])}
                )
    for link in links:
        if "output" in roles[link["from"]] and rng.random() < 0.6:
            link["when"] = rng.choice([*STEPS, "otherwise"])
    return links


def authority_link(rng: random.Random, boss: str, names: list[str], number: int) -> dict[str, Any]:
    """An authority link with a random trigger."""
    to = rng.sample(names, rng.randint(1, len(names)))
    link: dict[str, Any] = {
        "id": f"o{number}",
        "from": boss,
        "to": to,
        "kind": "authority",
        "cap": rng.randint(0, 4),
        "sees": rng.choice(["latest", "blackboard"]),
        "review": rng.choice(PHASES),
        "on_cap": rng.choice(["accept", "accept", "fail"]),
    }
    if rng.random() < 0.3:
        link["reviews"] = rng.randint(1, 3)
    kind = rng.choice(["judgement", "judgement", "coin", "checks", "never"])
    if kind == "coin":
        link["trigger"] = {"kind": "coin", "probability": rng.random()}
        if rng.random() < 0.5:
            link["directive"] = "Again."
    elif kind == "checks":
        checks = [("length", {"unit": "characters", "max": rng.randint(1, 40)})]
        voice = rng.choice(["findings", "superior"])
        action = rng.choice(["revise", "reject"])
        link["trigger"] = {"kind": "checks", "checks": checks, "voice": voice, "action": action}
        if rng.random() < 0.3:
            link["target"] = rng.choice(names)
    elif kind == "never":
        link["trigger"] = {"kind": "never"}
    return link


def reply_to(request: Request) -> Any:
    """A reply drawn from the identity of the call alone."""
    rng = random.Random(request.identity)
    if rng.random() < 0.04:
        return "" if request.labels.purpose == "turn" else "no verdict"
    if request.schema is None:
        return "word " * rng.randint(1, 9)
    properties = request.schema["properties"]
    if "next" in properties:
        return {"next": rng.choice(STEPS)}
    verdict = {"action": rng.choice(properties["action"]["enum"]), "reason": "so"}
    if "target" in properties and rng.random() < 0.5:
        verdict["target"] = rng.choice(properties["target"]["enum"])
    return verdict


async def play(
    team: Team, number: int, journal: MemoryJournal, delays: random.Random | None
) -> tuple[Outcome, int]:
    """A run and how many calls it made, each after a random delay."""
    calls = 0

    async def answer(request: Request) -> Any:
        nonlocal calls
        calls += 1
        for _ in range(delays.randint(0, 7) if delays else 0):
            await asyncio.sleep(0)
        return reply_to(request)

    desk = Desk(team.topology.models, {"*": ScriptedProvider(answer)})
    unit = Unit(id=f"u{number}", inputs={"topic": "tea"})
    outcome = await asyncio.wait_for(
        run_team(RunPlan(team, desk), unit, seed=number, journal=journal), timeout=30
    )
    return outcome, calls


def caps_hold(team: Team, outcome: Outcome) -> None:
    """No link is used more often than its cap, in any run."""
    for link in team.topology.links:
        if isinstance(link, AuthorityLink):
            used = sum(v.obliged for v in outcome.verdicts if v.link == link.id)
            assert used <= link.cap
            reviewed: dict[str, int] = {}
            for verdict in outcome.verdicts:
                if verdict.link == link.id:
                    reviewed[verdict.copy] = reviewed.get(verdict.copy, 0) + 1
            assert link.reviews is None or max(reviewed.values(), default=0) <= link.reviews
        elif isinstance(link, ForwardLink) and link.cap is not None:
            uses = {
                event.body["use"]
                for event in outcome.events
                if event.kind == "delivered" and event.body["link"] == link.id
            }
            assert len(uses) <= link.cap


@pytest.mark.timeout(240)
async def test_random_teams(build: Callable[..., Any]) -> None:
    """Same spec, unit, seed and replies give the same events, whatever the delays or crashes."""
    sound = ends = 0
    statuses: dict[str, int] = {}
    for number in range(TEAMS):
        rng = random.Random(number)
        roles, links, output = random_parts(rng)
        team, _ = compile_topology(build(roles, links, output))
        if team is None:
            continue
        sound += 1
        journal = MemoryJournal()
        outcome, calls = await play(team, number, journal, None)
        statuses[outcome.status] = statuses.get(outcome.status, 0) + 1
        ends += outcome.events[-1].kind == "ended"
        assert outcome.turns <= team.bounds.turns, number
        assert calls <= team.bounds.calls, number
        caps_hold(team, outcome)
        delayed, _ = await play(team, number, MemoryJournal(), rng)
        assert delayed.events == outcome.events, number
        await crashed(team, number, journal, outcome, calls, rng)
    assert ends == sound
    assert sound > TEAMS / 3
    assert (
        min(statuses.get(status, 0) for status in ("completed", "stopped", "failed")) > sound / 50
    )


async def crashed(
    team: Team,
    number: int,
    journal: MemoryJournal,
    outcome: Outcome,
    calls: int,
    rng: random.Random,
) -> None:
    """A run resumed from a part of its replies gives the same events and asks for the rest."""
    entries = list(journal.entries.values())
    kept: list[Entry] = entries[: rng.randint(0, len(entries))]
    again, asked = await play(team, number, MemoryJournal.of(kept), rng)
    assert again.events == outcome.events, number
    assert asked == calls - sum(entry.kind == "call" for entry in kept), number
