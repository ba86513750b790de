"""How full a server is kept: a chain of three roles, 256 calls at once, each of which takes a second.

The server is on loopback, in a process of its own, and answers every request after a second; no
language model is behind it. Each way of asking it runs in a process of its own, on the same chain
and the same prompts (the script checks it):

- bare: the openai SDK's client in 256 loops, which keep nothing: what can be reached at best;
- orglab: the provider `openai` under `run_batch`, everything durable, the limit already open;
- LangGraph: the same client in its nodes, once without checkpoints, once with SQLite.

    python benchmarks/saturation.py                    # three rounds, about four minutes
    python benchmarks/saturation.py --memory           # orglab alone, 4,096 runs: is memory flat?
    python benchmarks/saturation.py --profile          # where orglab's time goes
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import json
import os
import platform
import pstats
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any, TypedDict

import openai
from jinja2 import Environment
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph

from orglab.engine.run.calls import model_registry
from orglab.engine.run.engine import Unit
from orglab.engine.study.batch.batch import Arm, Batch, BatchTally
from orglab.engine.study.batch.executor import run_batch
from orglab.engine.study.batch.study_folder import load_team, open_study
from orglab.providers.client.model_client import ModelClients

ROLES = ("researcher", "writer", "editor")
LATENCY = 1.0
RUNS_A_CALL = 2
"""Runs of orglab under way for each call at once, so that none waits while another run writes."""
MODEL = "wire-model"
TASK = "What do the sales of the northern branches say about the third quarter?"
FIRST = "You are the {{ role }}. Begin.\nTask: {{ task }}"
LATER = "You are the {{ role }}. Go on from the text below.\nTask: {{ task }}\n\n{{ text }}"
WAYS = ("bare", "orglab", "langgraph", "langgraph-sqlite")


@dataclass
class Took:
    """What one way took."""

    runs: int
    at_once: int
    wall: float = 0.0
    cpu: float = 0.0
    mib: list[float] = field(default_factory=list)

    @property
    def calls(self) -> int:
        return self.runs * len(ROLES)

    @contextmanager
    def running(self) -> Iterator[None]:
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.wall = time.perf_counter() - wall
        self.cpu = time.process_time() - cpu

    def look(self, done: int) -> None:
        """Keeps the most memory in use in each eighth of the runs."""
        eighth = min(7, done * 8 // self.runs)
        while len(self.mib) <= eighth:
            self.mib.append(0.0)
        self.mib[eighth] = max(self.mib[eighth], resident())


def resident() -> float:
    """MiB of memory in use now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def tasks(runs: int) -> list[str]:
    return [f"{TASK} ({index})" for index in range(runs)]


def prompts() -> dict[str, Any]:
    environment = Environment(autoescape=False)
    return {
        role: environment.from_string(LATER if number else FIRST)
        for number, role in enumerate(ROLES)
    }


# --- bare ---------------------------------------------------------------------------------


class Asker:
    """The SDK's client as it comes."""

    def __init__(self, url: str) -> None:
        self.client = openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
        self.prompts = prompts()

    async def ask(self, role: str, task: str, text: str) -> str:
        prompt = self.prompts[role].render(role=role, task=task, text=text)
        reply = await self.client.chat.completions.create(
            model=MODEL, messages=[{"role": "user", "content": prompt}]
        )
        return reply.choices[0].message.content or ""


async def worked_off(chain: Callable[[str], Awaitable[None]], took: Took) -> None:
    """Runs the chain on every task, so many at once."""
    waiting, done = iter(tasks(took.runs)), 0

    async def work() -> None:
        nonlocal done
        for task in waiting:
            await chain(task)
            took.look(done)
            done += 1

    with took.running():
        await asyncio.gather(*(work() for _ in range(took.at_once)))


async def bare(url: str, took: Took) -> None:
    asker = Asker(url)

    async def chain(task: str) -> None:
        text = ""
        for role in ROLES:
            text = await asker.ask(role, task, text)

    async with asker.client:
        await worked_off(chain, took)


# --- orglab -------------------------------------------------------------------------------


def spec_text(url: str, at_once: int) -> str:
    later = LATER.replace("{{ text }}", "{{ inbox[0] }}")
    model = f"{{provider: openai, model: {MODEL}, base_url: {url}, max_concurrency: {at_once}}}"
    lines = ["kind: topology", "version: 1", "name: chain", "inputs: {task: {type: string}}"]
    lines += [f"models: {{m: {model}}}", "roles:"]
    for number, role in enumerate(ROLES):
        text = (later if number else FIRST).replace("\n", "\\n")
        lines.append(f'  {role}: {{model: m, sees: [task, inbox], prompt: "{text}"}}')
    lines.append("links:")
    lines += [f"  - {{from: {a}, to: {b}, kind: forward}}" for a, b in pairwise(ROLES)]
    return "\n".join([*lines, f"output: {ROLES[-1]}", ""])


async def orglab(url: str, took: Took) -> None:
    model_registry.ModelClients = partial(ModelClients, start=took.at_once)  # type: ignore[misc,assignment]
    with tempfile.TemporaryDirectory(dir=scratch()) as place:
        folder = Path(place)
        (folder / "chain.yaml").write_text(spec_text(url, took.at_once), encoding="utf-8")
        team = load_team(folder / "chain.yaml")
        units = [
            Unit(id=f"u{index}", inputs={"task": task}, index=index)
            for index, task in enumerate(tasks(took.runs))
        ]
        store = open_study(folder / "study", team)
        under_way = RUNS_A_CALL * took.at_once
        batch = Batch(arms=[Arm.alone(team)], units=units, at_once=under_way)

        def look(tally: BatchTally) -> None:
            took.look(tally.done - 1)

        with took.running():
            tally = await run_batch(batch, store, progress=look)
        store.close()
    if tally.completed != took.runs:
        raise SystemExit(f"{tally.completed} of {took.runs} runs were completed")


def scratch() -> Path:
    """A folder on the disk of this project: a temporary folder may lie in memory."""
    place = Path("runs") / "benchmark"
    place.mkdir(parents=True, exist_ok=True)
    return place


# --- LangGraph ----------------------------------------------------------------------------


class ChainState(TypedDict):
    task: str
    text: str


def graph_of(asker: Asker, saver: BaseCheckpointSaver[Any] | None) -> Any:
    graph: Any = StateGraph(ChainState)
    for role in ROLES:
        graph.add_node(role, _node(asker, role))
    for source, target in zip((START, *ROLES), (*ROLES, END), strict=True):
        graph.add_edge(source, target)
    return graph.compile(checkpointer=saver)


def _node(asker: Asker, role: str) -> Callable[[ChainState], Awaitable[dict[str, str]]]:
    async def speak(state: ChainState) -> dict[str, str]:
        return {"text": await asker.ask(role, state["task"], state["text"])}

    return speak


async def langgraph(url: str, took: Took, saver: BaseCheckpointSaver[Any] | None = None) -> None:
    asker = Asker(url)
    graph = graph_of(asker, saver)

    async def chain(task: str) -> None:
        config = {"configurable": {"thread_id": task}}
        await graph.ainvoke({"task": task, "text": ""}, config)

    async with asker.client:
        await worked_off(chain, took)


async def langgraph_sqlite(url: str, took: Took) -> None:
    import aiosqlite
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    with tempfile.TemporaryDirectory(dir=scratch()) as place:
        async with aiosqlite.connect(Path(place) / "checkpoints.sqlite") as connection:
            saver = AsyncSqliteSaver(connection)
            await saver.setup()
            await langgraph(url, took, saver)


# --- measuring ----------------------------------------------------------------------------

DONE: dict[str, Callable[[str, Took], Coroutine[Any, Any, None]]] = {
    "bare": bare,
    "orglab": orglab,
    "langgraph": langgraph,
    "langgraph-sqlite": langgraph_sqlite,
}


def one_way(name: str, url: str, runs: int, at_once: int) -> None:
    """Runs one way in this process and prints what it took."""
    took = Took(runs=runs, at_once=at_once)
    asyncio.run(DONE[name](url, took))
    print(json.dumps(asdict(took)))


def in_its_own_process(name: str, url: str, runs: int, at_once: int) -> Took:
    numbers = ["--runs", str(runs), "--at-once", str(at_once)]
    command = [sys.executable, __file__, "--way", name, "--url", url, *numbers]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:] + done.stdout[-500:])
    return Took(**json.loads(done.stdout.splitlines()[-1]))


@contextmanager
def server(latency: float) -> Iterator[str]:
    """The wire server in a process of its own; its address."""
    script = Path(__file__).parent / "wire" / "openai_server.py"
    command = [sys.executable, str(script), "--latency", str(latency)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def same_calls() -> None:
    """All ways must ask the same."""
    sys.path.insert(0, str(Path(__file__).parent / "wire"))
    from openai_server import echo, serving_in_thread

    asked: dict[str, list[str]] = {}
    for name in WAYS:
        with serving_in_thread(echo()) as wire:
            asyncio.run(DONE[name](wire.base_url, Took(runs=3, at_once=2)))
            asked[name] = sorted(json.dumps(call.body, sort_keys=True) for call in wire.calls)
    for name, calls in asked.items():
        if calls != asked["bare"]:
            raise SystemExit(f"{name} asks otherwise:\n{calls[0]}\n{asked['bare'][0]}")


def compare(rounds: int, runs: int, at_once: int) -> None:
    same_calls()
    found: dict[str, list[Took]] = {name: [] for name in WAYS}
    with server(LATENCY) as url:
        in_its_own_process("bare", url, at_once, at_once)  # warms up the server
        for number in range(rounds):
            for name in WAYS:
                found[name].append(in_its_own_process(name, url, runs, at_once))
            rates = ", ".join(
                f"{name} {took[-1].calls / took[-1].wall:.1f}/s" for name, took in found.items()
            )
            print(f"round {number + 1}, load {os.getloadavg()[0]:.1f}: {rates}", flush=True)
    print(report(found, runs, at_once))


def report(found: dict[str, list[Took]], runs: int, at_once: int) -> str:
    names = ("orglab", "openai", "langgraph")
    lines = [
        f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {version(name)}" for name in names)
        + f", {os.cpu_count()} cores; {runs:,} runs of {len(ROLES)} calls, {at_once} at once, "
        f"{LATENCY:g} s each",
        "",
        "| way | calls a second | of the ideal | of bare: median (rounds) | CPU ms a call | MiB |",
        "|---|---|---|---|---|---|",
        *(row(name, took, found["bare"]) for name, took in found.items()),
    ]
    return "\n".join(lines)


def row(name: str, took: list[Took], base: list[Took]) -> str:
    rate = statistics.median(each.calls / each.wall for each in took)
    shares = [one.wall / each.wall for each, one in zip(took, base, strict=True)]
    listed = ", ".join(f"{share:.0%}" for share in shares)
    cpu = statistics.median(each.cpu / each.calls * 1e3 for each in took)
    return (
        f"| {name} | {rate:.1f} | {rate * LATENCY / took[0].at_once:.0%} "
        f"| {statistics.median(shares):.0%} ({listed}) | {cpu:.2f} "
        f"| {max(max(each.mib) for each in took):.0f} |"
    )


def memory(runs: int, at_once: int) -> None:
    with server(LATENCY) as url:
        took = in_its_own_process("orglab", url, runs, at_once)
    for number, most in enumerate(took.mib):
        print(f"eighth {number + 1} of {runs:,} runs: at most {most:.1f} MiB")


def profile(runs: int, at_once: int) -> None:
    with server(LATENCY) as url:
        profiler = cProfile.Profile()
        took = Took(runs=runs, at_once=at_once)
        profiler.enable()
        asyncio.run(orglab(url, took))
        profiler.disable()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=1024)
    parser.add_argument("--at-once", type=int, default=256)
    parser.add_argument("--memory", action="store_true", help="four times the runs: is it flat?")
    parser.add_argument("--profile", action="store_true", help="where orglab's time goes")
    parser.add_argument("--way", choices=WAYS, help="one way alone, in this process")
    parser.add_argument("--url", default="")
    chosen = parser.parse_args()
    if chosen.way:
        one_way(chosen.way, chosen.url, chosen.runs, chosen.at_once)
    elif chosen.memory:
        memory(4 * chosen.runs, chosen.at_once)
    elif chosen.profile:
        profile(chosen.runs, chosen.at_once)
    else:
        compare(chosen.rounds, chosen.runs, chosen.at_once)


if __name__ == "__main__":
    main()
