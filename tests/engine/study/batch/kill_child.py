"""Runs the batch of ``test_kill.py`` in processes that may be killed at any moment.

For each line on standard input a process is forked that runs the batch of that folder and seed. What
is written: ``P<pid>``, a dot for each call of the provider, ``T<tally>`` where the batch ended, and
``D<status>``.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
import os
import random
import sys
from pathlib import Path

import orglab
from orglab.engine.graph.team import Team
from orglab.engine.run.outcome import Unit
from orglab.providers.base import JSON, Request, ToolCall
from orglab.providers.scripted.provider import ScriptedProvider

__all__: list[str] = []

UNITS = 12
AT_ONCE = 16


def say(text: str) -> None:
    """Writes at once: nothing of it is lost when the process dies."""
    os.write(1, text.encode())


def reply(request: Request) -> JSON:
    """A reply that follows from the call alone: tools, faults, objections, loops."""
    number = hashlib.blake2b(request.identity.encode(), digest_size=2).digest()[0]
    labels = request.labels
    if request.tools and labels.call < number % 3:
        return [
            ToolCall(id=f"c{labels.call}", name="value_counts", arguments='{"column": "price"}')
        ]
    if request.schema is None:
        return f"{labels.copy} says {number} on {labels.unit}"
    if labels.purpose == "review":
        actions = request.schema["properties"]["action"]["enum"]
        return {"action": actions[number % len(actions)], "reason": f"because {number}"}
    if number % 5 == 0 and labels.call < 2:
        return "no JSON at all"
    return {"words": f"{labels.copy} {number}", "again": number % 2 == 0}


def provider(asked: int) -> ScriptedProvider:
    """Counts each call in the file ``asked`` before it answers, in whatever order."""
    order = random.Random(os.getpid())

    async def answer(request: Request) -> JSON:
        os.write(asked, (json.dumps([request.identity, request.labels.unit]) + "\n").encode())
        say(".")
        for _ in range(order.randrange(6)):
            await asyncio.sleep(0)
        return reply(request)

    return ScriptedProvider(answer)


def run(team: Team, folder: Path, seed: int) -> None:
    """Runs the batch and tells its tally."""
    folder.mkdir(exist_ok=True)
    asked = os.open(folder / "asked.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    study = orglab.run(
        team,
        units=[Unit(id=f"u{n}", inputs={"topic": f"tea {n}"}, index=n) for n in range(UNITS)],
        seed=seed,
        out=folder,
        providers={"*": provider(asked)},
        at_once=AT_ONCE,
    )
    say(f"T{json.dumps(dataclasses.asdict(study.tally))}\n")


def main() -> None:
    """Forks one process for each line ``[folder, seed]``; what they need is loaded once."""
    team = orglab.load(Path(__file__).with_name("kill_team.yaml"))
    for line in sys.stdin:
        folder, seed = json.loads(line)
        child = os.fork()
        if child == 0:
            run(team, Path(folder), seed)
            os._exit(0)
        say(f"P{child}\n")
        say(f"D{os.waitpid(child, 0)[1]}\n")


if __name__ == "__main__":
    main()
