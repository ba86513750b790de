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
from collections.abc import Awaitable, Callable, Iterator
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

from orglab.engine.run import desk
from orglab.engine.run.run import Unit
from orglab.engine.study.batch import Arm, Batch, Tally, run_batch
from orglab.engine.study.session import load_team, open_study
from orglab.providers.caller import Lines

ROLES = ("researcher", "writer", "editor")
AT_ONCE = 256
LATENCY = 1.0
RUNS_UNDER_WAY = 512
"""Of orglab: twice the calls at once, so that none waits while another run writes."""
MODEL = "wire-model"
TASK = "What do the sales of the northern branches say about the third quarter?"
FIRST = "You are the {{ role }}. Begin.\nTask: {{ task }}"
LATER = "You are the {{ role }}. Go on from the text below.\nTask: {{ task }}\n\n{{ text }}"
WAYS = ("bare", "orglab", "langgraph", "langgraph-sqlite")


@dataclass
class Took:
    """What one way took."""

    calls: int = 0
    wall: float = 0.0
    cpu: float = 0.0
    mib: list[float] = field(default_factory=list)

    @contextmanager
    def running(self) -> Iterator[None]:
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.wall = time.perf_counter() - wall
        self.cpu = time.process_time() - cpu

    def look(self, done: int, runs: int) -> None:
        """Keeps the most memory in use in each eighth of the runs."""
        eighth = min(7, done * 8 // runs)
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


async def worked_off(
    chain: Callable[[str], Awaitable[None]], runs: int, took: Took, at_once: int = AT_ONCE
) -> None:
    """Runs the chain on every task, so many at once."""
    waiting, done = iter(tasks(runs)), 0

    async def work() -> None:
        nonlocal done
        for task in waiting:
            await chain(task)
            took.look(done, runs)
            done += 1

    with took.running():
        await asyncio.gather(*(work() for _ in range(at_once)))


async def bare(url: str, runs: int, took: Took) -> None:
    asker = Asker(url)

    async def chain(task: str) -> None:
        text = ""
        for role in ROLES:
            text = await asker.ask(role, task, text)

    await worked_off(chain, runs, took)


# --- orglab -------------------------------------------------------------------------------


def spec_text(url: str) -> str:
    later = LATER.replace("{{ text }}", "{{ inbox[0] }}")
    model = f"{{provider: openai, model: {MODEL}, base_url: {url}, max_concurrency: {AT_ONCE}}}"
    lines = ["kind: topology", "version: 1", "name: chain", "inputs: {task: {type: string}}"]
    lines += [f"models: {{m: {model}}}", "roles:"]
    for number, role in enumerate(ROLES):
        text = (later if number else FIRST).replace("\n", "\\n")
        lines.append(f'  {role}: {{model: m, sees: [task, inbox], prompt: "{text}"}}')
    lines.append("links:")
    lines += [f"  - {{from: {a}, to: {b}, kind: forward}}" for a, b in pairwise(ROLES)]
    return "\n".join([*lines, f"output: {ROLES[-1]}", ""])


async def orglab(url: str, runs: int, took: Took) -> None:
    desk.Lines = partial(Lines, start=AT_ONCE)  # type: ignore[misc,assignment]
    with tempfile.TemporaryDirectory(dir=scratch()) as place:
        folder = Path(place)
        (folder / "chain.yaml").write_text(spec_text(url), encoding="utf-8")
        team = load_team(folder / "chain.yaml")
        units = [
            Unit(id=f"u{index}", inputs={"task": task}, index=index)
            for index, task in enumerate(tasks(runs))
        ]
        store = open_study(folder / "study", team)
        batch = Batch(arms=[Arm.alone(team)], units=units, at_once=RUNS_UNDER_WAY)

        def look(tally: Tally) -> None:
            took.look(tally.done - 1, runs)

        with took.running():
            tally = await run_batch(batch, store, progress=look)
        store.close()
    if tally.completed != runs:
        raise SystemExit(f"{tally.completed} of {runs} runs were completed")


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


async def langgraph(
    url: str, runs: int, took: Took, saver: BaseCheckpointSaver[Any] | None = None
) -> None:
    graph = graph_of(Asker(url), saver)

    async def chain(task: str) -> None:
        config = {"configurable": {"thread_id": task}}
        await graph.ainvoke({"task": task, "text": ""}, config)

    await worked_off(chain, runs, took)


async def langgraph_sqlite(url: str, runs: int, took: Took) -> None:
    import aiosqlite
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    with tempfile.TemporaryDirectory(dir=scratch()) as place:
        async with aiosqlite.connect(Path(place) / "checkpoints.sqlite") as connection:
            saver = AsyncSqliteSaver(connection)
            await saver.setup()
            await langgraph(url, runs, took, saver)


# --- measuring ----------------------------------------------------------------------------

DONE: dict[str, Callable[[str, int, Took], Awaitable[None]]] = {
    "bare": bare,
    "orglab": orglab,
    "langgraph": langgraph,
    "langgraph-sqlite": langgraph_sqlite,
}


def one_way(name: str, url: str, runs: int) -> None:
    """Runs one way in this process and prints what it took."""
    took = Took(calls=runs * len(ROLES))
    asyncio.run(DONE[name](url, runs, took))  # type: ignore[arg-type]
    print(json.dumps(asdict(took)))


def in_its_own_process(name: str, url: str, runs: int) -> Took:
    command = [sys.executable, __file__, "--way", name, "--url", url, "--runs", str(runs)]
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
            asyncio.run(DONE[name](wire.base_url, 3, Took()))  # type: ignore[arg-type]
            asked[name] = sorted(json.dumps(call.body, sort_keys=True) for call in wire.calls)
    for name, calls in asked.items():
        if calls != asked["bare"]:
            raise SystemExit(f"{name} asks otherwise:\n{calls[0]}\n{asked['bare'][0]}")


def compare(rounds: int, runs: int) -> None:
    same_calls()
    found: dict[str, list[Took]] = {name: [] for name in WAYS}
    with server(LATENCY) as url:
        in_its_own_process("bare", url, AT_ONCE)  # warms up the server
        for number in range(rounds):
            for name in WAYS:
                found[name].append(in_its_own_process(name, url, runs))
            shares = ", ".join(
                f"{name} {took[-1].calls / took[-1].wall:.1f}/s" for name, took in found.items()
            )
            print(f"round {number + 1}, load {os.getloadavg()[0]:.1f}: {shares}", flush=True)
    print(report(found, runs))


def report(found: dict[str, list[Took]], runs: int) -> str:
    names = ("orglab", "openai", "langgraph")
    ideal = AT_ONCE / LATENCY
    lines = [
        f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {version(name)}" for name in names)
        + f", {os.cpu_count()} cores; {runs:,} runs of {len(ROLES)} calls, {AT_ONCE} at once, "
        f"{LATENCY:g} s each",
        "",
        "| way | calls a second | of the ideal | of bare, median (rounds) | CPU ms a call | MiB at most |",
        "|---|---|---|---|---|---|",
    ]
    for name, took in found.items():
        rates = [each.calls / each.wall for each in took]
        shares = [base.wall / each.wall for each, base in zip(took, found["bare"], strict=True)]
        listed = ", ".join(f"{share:.1%}" for share in shares)
        cpu = statistics.median(each.cpu / each.calls * 1e3 for each in took)
        most = max(max(each.mib) for each in took)
        rate = statistics.median(rates)
        lines.append(
            f"| {name} | {rate:.1f} | {rate / ideal:.1%} | {statistics.median(shares):.1%} "
            f"({listed}) | {cpu:.2f} | {most:.0f} |"
        )
    return "\n".join(lines)


def memory(runs: int) -> None:
    with server(LATENCY) as url:
        took = in_its_own_process("orglab", url, runs)
    for number, most in enumerate(took.mib):
        print(f"eighth {number + 1} of {runs:,} runs: at most {most:.1f} MiB")


def profile(runs: int) -> None:
    with server(LATENCY) as url:
        profiler = cProfile.Profile()
        took = Took(calls=runs * len(ROLES))
        profiler.enable()
        asyncio.run(orglab(url, runs, took))
        profiler.disable()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=1024)
    parser.add_argument("--memory", action="store_true", help="4,096 runs: is memory flat?")
    parser.add_argument("--profile", action="store_true", help="where orglab's time goes")
    parser.add_argument("--way", choices=WAYS, help="one way alone, in this process")
    parser.add_argument("--url", default="")
    chosen = parser.parse_args()
    if chosen.way:
        one_way(chosen.way, chosen.url, chosen.runs)
    elif chosen.memory:
        memory(4 * chosen.runs)
    elif chosen.profile:
        profile(chosen.runs)
    else:
        compare(chosen.rounds, chosen.runs)


if __name__ == "__main__":
    main()
