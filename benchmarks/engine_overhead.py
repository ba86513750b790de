"""What the engine costs: the same chain of five roles in orglab and in LangGraph, instant model.

The model is a function in this process that answers at once, so all that is measured is the engine:
preparing turns, keeping what was said, deciding who is next. The engines take turns (A B C … A B C)
and medians are reported, with the range, in µs a turn: wall clock, and CPU time of the process
(all threads) for machines that others use too.

    python benchmarks/engine_overhead.py             # the comparison
    python benchmarks/engine_overhead.py --memory    # 5,000 runs: does memory stay flat?
    python benchmarks/engine_overhead.py --profile   # where orglab's time goes
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import gc
import os
import platform
import pstats
import sqlite3
import statistics
import tempfile
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any, TypedDict

import aiosqlite
from jinja2 import Environment
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

from orglab.engine.graph.team import Team
from orglab.engine.run.engine import Unit
from orglab.engine.study.batch.batch import Arm, Batch
from orglab.engine.study.batch.executor import run_batch
from orglab.engine.study.batch.study_folder import load_team, open_study
from orglab.providers.base import Completion, Provider, Request, TokenUsage
from orglab.results.store.reader import Reader

ROLES = ("reader", "analyst", "writer", "critic", "editor")
AT_ONCE = 64
TASK = "What do the sales of the northern branches say about the third quarter?"
FIRST = "You are the {{ role }}. Begin.\nTask: {{ task }}"
LATER = "You are the {{ role }}. Go on from the text below.\nTask: {{ task }}\n\n{{ text }}"


def reply_to(prompt: str) -> str:
    """The model: 20 words at once, other words for another prompt."""
    return (
        f"Note {zlib.crc32(prompt.encode()):08x}: sales of the north rose in the third quarter, "
        "mostly in two branches; the others stood where they were."
    )


# --- orglab -------------------------------------------------------------------------------


class Instant(Provider):
    """A provider that answers at once."""

    free = True
    default_concurrency = AT_ONCE

    @classmethod
    def from_spec(cls, model: str, options: Mapping[str, Any]) -> Instant:  # noqa: ARG003 - the port's
        return cls()

    async def complete(self, request: Request) -> Completion:
        text = reply_to(request.messages[-1].content)
        return Completion(
            text=text, model=request.model, usage=TokenUsage(input=40, output=25), simulated=True
        )


def spec_text() -> str:
    later = LATER.replace("{{ text }}", "{{ inbox[0] }}")
    lines = ["kind: topology", "version: 1", "name: chain", "inputs: {task: {type: string}}"]
    lines += ["models: {m: {provider: simulated, profile: strict}}", "roles:"]
    for number, role in enumerate(ROLES):
        text = (later if number else FIRST).replace("\n", "\\n")
        lines.append(f'  {role}: {{model: m, sees: [task, inbox], prompt: "{text}"}}')
    lines.append("links:")
    lines += [f"  - {{from: {a}, to: {b}, kind: forward}}" for a, b in pairwise(ROLES)]
    return "\n".join([*lines, f"output: {ROLES[-1]}", ""])


def the_team(folder: Path) -> Team:
    path = folder / "chain.yaml"
    path.write_text(spec_text(), encoding="utf-8")
    return load_team(path)


def the_units(number: int) -> list[Unit]:
    return [
        Unit(id=f"u{index}", inputs={"task": f"{TASK} ({index})"}, index=index)
        for index in range(number)
    ]


def batch_of(team: Team, runs: int, at_once: int) -> Batch:
    return Batch(
        arms=[Arm.alone(team)],
        units=the_units(runs),
        providers={"*": Instant()},
        at_once=at_once,
    )


async def orglab_runs(folder: Path, runs: int, at_once: int, clock: Clock) -> None:
    """Runs the chain, everything kept."""
    team = the_team(folder)
    store = open_study(folder / "study", team)
    batch = batch_of(team, runs, at_once)
    with clock.running():
        tally = await run_batch(batch, store)
    store.close()
    if tally.completed != runs:
        raise SystemExit(f"{tally.completed} of {runs} runs were completed")


# --- LangGraph ----------------------------------------------------------------------------


class ChainState(TypedDict):
    task: str
    text: str


def graph_of(saver: BaseCheckpointSaver[Any] | None) -> Any:
    environment = Environment(autoescape=False)
    graph: Any = StateGraph(ChainState)
    for number, role in enumerate(ROLES):
        graph.add_node(role, _node(role, environment.from_string(LATER if number else FIRST)))
    for source, target in zip((START, *ROLES), (*ROLES, END), strict=True):
        graph.add_edge(source, target)
    return graph.compile(checkpointer=saver)


def _node(role: str, template: Any) -> Callable[[ChainState], Awaitable[dict[str, str]]]:
    async def speak(state: ChainState) -> dict[str, str]:
        prompt = template.render(role=role, task=state["task"], text=state["text"])
        return {"text": reply_to(prompt)}

    return speak


async def invoked(graph: Any, runs: int, at_once: int, clock: Clock, durability: str | None) -> str:
    """Invokes the graph for so many runs; the last answer."""
    options = {} if durability is None else {"durability": durability}
    waiting = iter(the_units(runs))
    answers: list[str] = []

    async def work() -> None:
        for unit in waiting:
            config = {"configurable": {"thread_id": unit.id}}
            start = {"task": unit.inputs["task"], "text": ""}
            answers.append((await graph.ainvoke(start, config, **options))["text"])

    with clock.running():
        await asyncio.gather(*(work() for _ in range(at_once)))
    return answers[-1]


async def langgraph_sqlite(
    folder: Path, runs: int, at_once: int, clock: Clock, durability: str
) -> None:
    async with aiosqlite.connect(folder / "checkpoints.sqlite") as connection:
        saver = AsyncSqliteSaver(connection)
        await saver.setup()
        await invoked(graph_of(saver), runs, at_once, clock, durability)


async def langgraph_memory(_: Path, runs: int, at_once: int, clock: Clock) -> None:
    await invoked(graph_of(InMemorySaver()), runs, at_once, clock, "sync")


async def langgraph_bare(_: Path, runs: int, at_once: int, clock: Clock) -> None:
    await invoked(graph_of(None), runs, at_once, clock, None)


# --- measuring ----------------------------------------------------------------------------


@dataclass
class Clock:
    """Wall and CPU seconds of one measurement."""

    wall: float = 0.0
    cpu: float = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.wall = time.perf_counter() - wall
        self.cpu = time.process_time() - cpu


Work = Callable[[Path, int, int, Clock], Awaitable[None]]


@dataclass
class Engine:
    """One engine, and what the chain took on it in each round."""

    name: str
    work: Work
    at_once: int
    runs: int
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    bytes_a_run: float = 0.0

    def measure(self, runs: int) -> None:
        clock = Clock()
        with tempfile.TemporaryDirectory(dir=scratch()) as folder:
            asyncio.run(self.work(Path(folder), runs, self.at_once, clock))
            size = sum(file.stat().st_size for file in Path(folder).rglob("*.sqlite*"))
        turns = runs * len(ROLES)
        self.wall.append(clock.wall / turns * 1e6)
        self.cpu.append(clock.cpu / turns * 1e6)
        self.bytes_a_run = size / runs

    def row(self) -> str:
        low, middle, high = min(self.wall), statistics.median(self.wall), max(self.wall)
        kept = f"{self.bytes_a_run:,.0f}" if self.bytes_a_run else "-"
        return (
            f"| {self.name} | {self.at_once} | {middle:,.0f} | {low:,.0f} to {high:,.0f} "
            f"| {statistics.median(self.cpu):,.0f} | {kept} |"
        )


def scratch() -> Path:
    """A folder on the disk of this project: a temporary folder may lie in memory."""
    place = Path("runs") / "benchmark"
    place.mkdir(parents=True, exist_ok=True)
    return place


def sqlite_arm(durability: str) -> Work:
    async def work(folder: Path, runs: int, at_once: int, clock: Clock) -> None:
        await langgraph_sqlite(folder, runs, at_once, clock, durability)

    return work


def engines(scale: float) -> list[Engine]:
    def engine(name: str, work: Work, at_once: int, runs: int) -> Engine:
        return Engine(name, work, at_once, max(AT_ONCE, int(runs * scale)))

    works: list[tuple[str, Work, int, int]] = [
        ("orglab, durable", orglab_runs, 640, 128),
        ("LangGraph, SQLite, sync", sqlite_arm("sync"), 64, 64),
        ("LangGraph, SQLite, async", sqlite_arm("async"), 64, 64),
        ("LangGraph, memory", langgraph_memory, 192, 128),
        ("LangGraph, keeps nothing", langgraph_bare, 256, 128),
    ]
    many = [engine(name, work, AT_ONCE, runs) for name, work, runs, _ in works]
    return many + [engine(name, work, 1, runs) for name, work, _, runs in works]


def sync_cost(rows: int = 200) -> float:
    """µs to make one row durable: a commit with ``synchronous=FULL`` in a write-ahead log."""
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        connection = sqlite3.connect(Path(folder) / "one.sqlite", isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE t (text TEXT)")
        took = []
        for _ in range(rows):
            started = time.perf_counter()
            connection.execute("INSERT INTO t VALUES ('a row of some length')")
            took.append(time.perf_counter() - started)
        connection.close()
    return statistics.median(took) * 1e6


def same_answers() -> None:
    """Both engines must have asked and answered the same."""
    with tempfile.TemporaryDirectory(dir=scratch()) as place:
        folder = Path(place)
        asyncio.run(orglab_runs(folder, 1, 1, Clock()))
        other = asyncio.run(invoked(graph_of(None), 1, 1, Clock(), None))
        with Reader(folder / "study") as reader:
            answer = reader.record(next(iter(reader.runs())).id).answer
    if answer is None or answer.text != other:
        raise SystemExit(f"the engines answered differently: {answer} / {other}")


def compare(rounds: int, scale: float) -> None:
    same_answers()
    measured = engines(scale)
    for engine in measured:
        engine.measure(AT_ONCE if engine.at_once > 1 else 8)  # warms up; not counted
        engine.wall.clear()
        engine.cpu.clear()
    syncs = []
    for number in range(rounds):
        syncs.append(sync_cost())
        for engine in measured:
            engine.measure(engine.runs)
        print(f"round {number + 1} of {rounds}, load {os.getloadavg()[0]:.1f}", flush=True)
    print(report(measured, statistics.median(syncs)))


def report(measured: list[Engine], sync: float) -> str:
    names = ("orglab", "langgraph", "langgraph-checkpoint-sqlite")
    lines = [
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, "
        + ", ".join(f"{name} {version(name)}" for name in names)
        + f", {os.cpu_count()} cores; one row made durable: {sync:,.0f} µs",
        "",
        "| engine | runs at once | µs a turn | rounds from, to | CPU µs a turn | bytes a run |",
        "|---|---|---|---|---|---|",
        *(engine.row() for engine in measured),
        "",
    ]
    half = len(measured) // 2
    for group in (measured[:half], measured[half:]):
        lines.append(f"{group[0].at_once} at once, times the cost of orglab, durable:")
        lines += [
            f"  {ratio(each.wall, group[0].wall):5.1f} (CPU {ratio(each.cpu, group[0].cpu):.1f})"
            f"  {each.name}"
            for each in group[1:]
        ]
    return "\n".join(lines)


def ratio(more: list[float], less: list[float]) -> float:
    """The median of the rounds' ratios: what slowed a round slowed both."""
    return statistics.median(a / b for a, b in zip(more, less, strict=True))


# --- memory, profile ----------------------------------------------------------------------


def resident() -> float:
    """MiB of memory in use now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def grow(folder: Path, runs: int) -> None:
    team = the_team(folder)
    store = open_study(folder / "study", team)
    batch = batch_of(team, runs, AT_ONCE)
    peaks: dict[int, float] = {}

    def look(tally: Any) -> None:
        thousand = (tally.done - 1) // 1000
        peaks[thousand] = max(peaks.get(thousand, 0.0), resident())

    await run_batch(batch, store, progress=look)
    store.close()
    for thousand, peak in peaks.items():
        print(f"runs {thousand * 1000 + 1:,} to {(thousand + 1) * 1000:,}: at most {peak:.1f} MiB")


def profile(runs: int, at_once: int) -> None:
    profiler = cProfile.Profile()
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        asyncio.run(orglab_runs(Path(folder), AT_ONCE, at_once, Clock()))
    with tempfile.TemporaryDirectory(dir=scratch()) as folder:
        profiler.enable()
        asyncio.run(orglab_runs(Path(folder), runs, at_once, Clock()))
        profiler.disable()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(45)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of runs")
    parser.add_argument("--memory", action="store_true", help="5,000 runs: is memory flat?")
    parser.add_argument("--profile", action="store_true", help="where orglab's time goes")
    chosen = parser.parse_args()
    if chosen.memory:
        with tempfile.TemporaryDirectory(dir=scratch()) as folder:
            asyncio.run(grow(Path(folder), 5000))
    elif chosen.profile:
        profile(640, AT_ONCE)
    else:
        compare(chosen.rounds, chosen.scale)


if __name__ == "__main__":
    main()
