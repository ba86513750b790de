"""Thousands of random teams: none hangs, runs away, or differs by delays or by a crash."""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from collections.abc import Callable, Mapping
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
from orglab.engine.spec.model import AuthorityLink, ForwardLink, Model, Price, ToolUse, Topology
from orglab.engine.study.plan.upper_bounds import upper_bounds
from orglab.providers.base import Request, ToolCall
from orglab.providers.scripted.provider import ScriptedProvider
from orglab.results.records import CallEntry, JournalEntry
from orglab.results.store.journal.journal import MemoryJournal

TEAMS = int(os.environ.get("ORGLAB_FUZZ_TEAMS", "600"))
"""Teams tried by the quick test; raise it to try more."""

OBLIGING = ("question", "revise", "reject")
PHASES = [
    [["approve", "comment", "revise"]],
    [["question", "reject"], ["approve", "reject"]],
    [["approve", "reject", "question"]],
    [["revise"], ["approve", "revise"]],
]
STEPS = ("again", "left", "right", "done")
LONGEST_REPLY = 40  # tokens
MODELS = {
    "m": Model(
        alias="m",
        provider="scripted",
        params={"max_output_tokens": LONGEST_REPLY},
        price=Price(input=1e6, output=3e6),
    )
}
TOOLS = {"head": ToolUse(name="head", use="head", settings={"file": "table.csv"})}

MOST_ITEMS = 2
ITEMS = {"type": "array", "maxItems": MOST_ITEMS, "items": {"type": "integer"}}
DEEPEST = 2

Build = Callable[..., Any]


def random_team(rng: random.Random, build: Build, depth: int = 0) -> Any:
    """A random topology, teams within it too; not all are sound."""
    roles, links, output = random_parts(rng, 6 if depth == 0 else 3)
    votes(rng, roles, links)
    hand_out(rng, roles, links)
    if depth < DEEPEST:
        nest(rng, build, roles, links, depth)
    return build(roles, links, output, limits=random_limits(rng), models=MODELS, tools=TOOLS)


def random_limits(rng: random.Random) -> dict[str, int]:
    """Limits of a run, most often none."""
    limits = {"turns": rng.randint(1, 25)} if rng.random() < 0.15 else {}
    return limits | ({"tokens": rng.randint(1, 3000)} if rng.random() < 0.15 else {})


def votes(rng: random.Random, roles: dict[str, Any], links: list[dict[str, Any]]) -> None:
    """Turns some roles that hear structured outputs alone into votes."""
    forward = [link for link in links if link.get("kind") != "authority"]
    for name, fields in roles.items():
        senders = {link["from"] for link in forward if link["to"] == name}
        told = senders and all("output" in roles[sender] for sender in senders)
        if told and name.startswith("r") and rng.random() < 0.4:
            kept = {key: fields[key] for key in ("join", "on_error", "output") if key in fields}
            roles[name] = {**kept, "vote": "next"}


def hand_out(rng: random.Random, roles: dict[str, Any], links: list[dict[str, Any]]) -> None:
    """Lets some links hand out the items of a list."""
    for link in links:
        source = roles[link["from"]]
        if link.get("kind") == "authority" or "cap" in link or "vote" in source:
            continue
        copies = roles[link["to"]].get("replicas", 1)
        if copies >= MOST_ITEMS and "output" in source and rng.random() < 0.6:
            source["output"] = listing(source["output"])
            link["each"] = "items"


def listing(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with a list of items."""
    properties = {**schema["properties"], "items": ITEMS}
    return {**schema, "properties": properties, "required": ["next", "items"]}


def nest(
    rng: random.Random,
    build: Build,
    roles: dict[str, Any],
    links: list[dict[str, Any]],
    depth: int,
) -> None:
    """Turns some roles into teams, and leaves out the conditions on what they say."""
    for name, fields in roles.items():
        if not name.startswith("r") or "vote" in fields or rng.random() > 0.15:
            continue
        inner = random_team(rng, build, depth + 1)
        reads = [link for link in links if link["from"] == name and {"when", "each"} & link.keys()]
        heard = [link["to"] for link in links if link["from"] == name and "cap" not in link]
        if reads or compile_topology(inner)[0] is None or is_counted(heard, roles):
            continue
        kept = ("join", "on_error", "replicas", "sees")
        roles[name] = {**{key: fields[key] for key in kept if key in fields}, "team": inner}


def is_counted(names: list[Any], roles: Mapping[str, Any]) -> bool:
    """Whether a vote is among these roles: it needs to know what its senders write."""
    return any("vote" in roles[name] for name in names if isinstance(name, str))


def random_parts(
    rng: random.Random, most: int
) -> tuple[dict[str, Any], list[dict[str, Any]], list[str]]:
    """Roles, links and outputs of a random team; not all are sound."""
    size = rng.randint(1, most)
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
            fields["tools"], fields["limits"] = ("head",), {"tool_calls": rng.randint(0, 3)}
        if rng.random() < 0.2:
            fields["on_error"] = "skip"
        if rng.random() < 0.3:
            fields["sees"] = rng.choice([("task",), ("blackboard",), ("inbox", "latest")])
        roles[name] = fields
    for boss in bosses:
        copies = {"replicas": rng.randint(2, 3)} if rng.random() < 0.3 else {}
        roles[boss] = {"on_error": rng.choice(["skip", "fail"]), **copies}
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
    if request.tools and rng.random() < 0.7:
        return [ToolCall(id="c", name="head", arguments='{"n": 1}')] * rng.randint(1, 2)
    if request.schema is None:
        return "word " * rng.randint(1, 9)
    properties = request.schema["properties"]
    if "next" in properties:
        items = {"items": [7] * rng.randint(0, MOST_ITEMS)} if "items" in properties else {}
        return {"next": rng.choice(STEPS), **items}
    verdict = {"action": rng.choice(properties["action"]["enum"]), "reason": "so"}
    if "target" in properties and rng.random() < 0.5:
        verdict["target"] = rng.choice(properties["target"]["enum"])
    return verdict


def unit_of(number: int) -> Unit:
    """A unit with a table to look at."""
    files = {"table.csv": Path(__file__).with_name("table.csv")}
    return Unit(id=f"u{number}", inputs={"topic": "tea"}, files=files)


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

    registry = ModelRegistry(team.topology.models, {"*": ScriptedProvider(answer)})
    unit = unit_of(number)
    outcome = await asyncio.wait_for(
        run_team(RunPlan(team, registry), unit, seed=number, journal=journal), timeout=30
    )
    return outcome, calls


def caps_hold(team: Team, outcome: Outcome) -> None:
    """No link is used more often than its cap, in any run."""
    for link in team.topology.links:
        if isinstance(link, AuthorityLink):
            used = sum(v.obliged for v in outcome.verdicts if v.link == link.id)
            assert used <= link.cap
            outputs = {(v.copy, v.output) for v in outcome.verdicts if v.link == link.id}
            reviews = Counter(copy for copy, _ in outputs)  # of one by all replicas of a superior
            assert link.reviews is None or max(reviews.values(), default=0) <= link.reviews
        elif isinstance(link, ForwardLink) and link.cap is not None:
            uses = {
                event.body["use"]
                for event in outcome.events
                if event.kind == "delivered" and event.body["link"] == link.id
            }
            assert len(uses) <= link.cap


def caps_hold_within(team: Team, outcome: Outcome) -> None:
    """The caps of a team within hold in each turn of its role."""
    used: dict[tuple[str, str], int] = {}
    caps = {
        f"{name}/{link.id}": link.cap
        for name, inner in team.teams.items()
        for link in inner.topology.authority
    }
    for event in outcome.events:
        body = event.body
        if event.kind == "team_started":
            ended = [one for one in used if one[0].startswith(f"{body['copy']}/")]
            used = {key: number for key, number in used.items() if key not in ended}
        if event.kind == "verdict" and body["obliged"] and body["link"] in caps:
            key = (body["copy"].rpartition("/")[0] + "/", body["link"])
            used[key] = used.get(key, 0) + 1
            assert used[key] <= caps[body["link"]]


def kinds_of(topology: Topology) -> set[str]:
    """Which of a vote, a list handed out and a team within a topology has."""
    roles, links = topology.roles.values(), topology.forward
    found = {"vote"} if any(role.vote for role in roles) else set()
    found |= {"team"} if any(role.team for role in roles) else set()
    return found | ({"each"} if any(link.each for link in links) else set())


def counts_agree(outcome: Outcome) -> None:
    """Turns are counted as they are told, and no output has the name of another."""
    told = sum(event.kind in ("turn", "review") for event in outcome.events)
    assert told == outcome.turns
    names = [output.id for output in outcome.outputs]
    assert len(names) == len(set(names))
    posted = [event.body["id"] for event in outcome.events if event.kind == "output"]
    assert sorted(posted) == sorted(names)


@dataclass(frozen=True, kw_only=True)
class Examined:
    """What one random team showed.

    Attributes:
        kinds: Which of a vote, a list handed out and a team within it has.
        status: How its run ended.
        used: Turns, calls and US dollars of the run.
        bounds: Their upper bounds; dollars may be unknown.
    """

    kinds: set[str]
    status: str
    used: tuple[int, int, float]
    bounds: tuple[int, int, float | None]


async def examine(number: int, build: Build) -> Examined | None:
    """Run random team ``number``, delayed and resumed too; None if it is not sound."""
    rng = random.Random(number)
    team, _ = compile_topology(random_team(rng, build))
    if team is None:
        return None
    journal = MemoryJournal()
    outcome, calls = await play(team, number, journal, None)
    assert outcome.events[-1].kind == "ended", number
    dollars = (await upper_bounds(team, [unit_of(number)], seed=number)).writing.usd
    used = outcome.turns, calls, outcome.cost_usd
    bounds = team.bounds.turns, team.bounds.calls, dollars
    for figure, bound in zip(used, bounds, strict=True):
        assert bound is None or figure <= bound, number
    caps_hold(team, outcome)
    caps_hold_within(team, outcome)
    counts_agree(outcome)
    delayed, _ = await play(team, number, MemoryJournal(), rng)
    assert delayed.events == outcome.events, number
    await crashed(team, number, journal, outcome, calls, rng)
    return Examined(kinds=kinds_of(team.topology), status=outcome.status, used=used, bounds=bounds)


@pytest.mark.timeout(max(240, TEAMS // 5))
async def test_random_teams(build: Build) -> None:
    """Same spec, unit, seed and replies give the same events, whatever the delays or crashes."""
    found = [await examine(number, build) for number in range(TEAMS)]
    sound = [each for each in found if each is not None]
    assert len(sound) > TEAMS / 3
    assert sum(each.bounds[2] is not None for each in sound) > len(sound) / 2
    for kind in ("vote", "each", "team"):
        assert sum(kind in each.kinds for each in sound) > len(sound) / 50, kind
    for status in ("completed", "stopped", "failed"):
        assert sum(each.status == status for each in sound) > len(sound) / 50, status


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
    kept: list[JournalEntry] = entries[: rng.randint(0, len(entries))]
    again, asked = await play(team, number, MemoryJournal.of(kept), rng)
    assert again.events == outcome.events, number
    assert asked == calls - sum(isinstance(entry, CallEntry) for entry in kept), number
