"""A sweep on a Dask cluster whose parts die: same results, and nothing paid for twice unseen.

The same sweep (8 variants, 250 units: 2,000 runs) is run in one process, and on a cluster of two
worker processes. There one worker is killed with SIGKILL halfway, and another takes its place; later
the client is killed, and the same command is typed again. The model is a plugin that answers by a
hash of what it is asked and writes down each request before it answers, in a file of its own process:
what was asked twice is counted there, not believed.

    python benchmarks/cluster.py            # about 2 minutes
    python benchmarks/cluster.py --hosts    # workers in two network namespaces (root, Linux): they see
                                            # neither the client's files nor each other
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orglab.results.store.reader import Reader
from orglab.results.usage.spending import spending

UNITS = 250
PORT = 18786

PLUGIN = '''
import asyncio, hashlib, json, os
from orglab.providers.base import Completion, Provider, TokenUsage

class Counting(Provider):
    """Answers by a hash of what it is asked, and writes each request down before."""

    parameters = frozenset({"max_output_tokens"})
    options = frozenset()
    kept = False
    default_concurrency = 16

    @classmethod
    def from_spec(cls, model, options):
        return cls()

    async def complete(self, request):
        with open(os.path.join(os.environ["COUNTING"], f"{os.getpid()}.txt"), "a") as file:
            file.write(request.identity + "\\n")
        said = json.dumps([m.content for m in request.messages]) + str(request.seed)
        drawn = hashlib.sha256(said.encode()).hexdigest()
        await asyncio.sleep(0.02 + int(drawn[:4], 16) / 65536 * 0.08)
        text = f"Note {drawn[:12]} on what was asked."
        if request.schema is not None:
            actions = request.schema["properties"]["action"]["enum"]
            text = json.dumps({"action": actions[int(drawn[4], 16) % len(actions)], "reason": drawn[:8]})
        usage = TokenUsage(input=len(said) // 4, output=20)
        return Completion(text=text, model=request.model, usage=usage, simulated=True)
'''
BASE = """\
kind: topology
version: 1
name: pair
inputs: {product: {type: string}, prices: {type: string, format: file}}
models:
  m: {provider: counting, model: hash, params: {max_output_tokens: 50}, price: {input: 1, output: 4}}
tools:
  look: {use: head, with: {file: "{{ prices }}"}}
  notes: {use: head, with: {file: data/notes.csv}}
roles:
  writer:
    model: m
    tools: [look, notes]
    vars: {persona: plain}
    system: {file: prompts/writer.md}
    prompt: "{{ product }} {{ tool.look(n=2) }} {{ tool.notes(n=1) }}{% if directive %} {{ directive }}{% endif %}"
  boss: {model: m, system: "You judge."}
links:
  - {id: oversight, from: boss, to: writer, kind: authority, cap: 1}
output: writer
"""
SWEEP = """\
kind: sweep
version: 1
name: dose
base: pair.yaml
vary: {links.oversight.cap: [0, 1, 2, 4], roles.writer.vars.persona: [plain, cautious]}
design: grid
units: {file: units.jsonl, id: product}
seed: 11
evaluators: [usage, words, approvals]
"""


def say(words: str) -> None:
    print(words, flush=True)


# --- the study ----------------------------------------------------------------------------


def write_study(folder: Path, units: int) -> None:
    (folder / "prompts").mkdir(parents=True)
    (folder / "data").mkdir()
    (folder / "pair.yaml").write_text(BASE)
    (folder / "sweep.yaml").write_text(SWEEP)
    (folder / "prompts/writer.md").write_text("You write. Persona: {{ vars.persona }}.\n")
    (folder / "data/notes.csv").write_text("note,weight\ncheap,1\ndear,2\n")
    lines = []
    for number in range(units):
        with (folder / f"data/prices{number % 5}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["shop", "price"], ["a", number % 5], ["b", 7]])
        row = {"product": f"tea {number}", "prices": f"data/prices{number % 5}.csv"}
        lines.append(json.dumps(row))
    (folder / "units.jsonl").write_text("\n".join(lines) + "\n")


def write_plugin(folder: Path) -> None:
    about = folder / "counting-1.0.dist-info"
    about.mkdir(parents=True)
    (folder / "counting.py").write_text(PLUGIN)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: counting\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[orglab.providers]\ncounting = counting:Counting\n")


# --- processes ----------------------------------------------------------------------------


@dataclass
class Machines:
    """A scheduler, workers and clients of one trial."""

    root: Path
    hidden: Path | None = None
    stack: ExitStack = field(default_factory=ExitStack)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def environment(self, asked: str) -> dict[str, str]:
        (self.root / asked).mkdir(exist_ok=True)
        return {
            **os.environ,
            "PYTHONPATH": str(self.root / "plugin"),
            "COUNTING": str(self.root / asked),
        }

    def start(
        self, name: str, command: Sequence[str], asked: str, place: Path | None = None
    ) -> subprocess.Popen[bytes]:
        cwd = place or self.root / "at" / name
        cwd.mkdir(parents=True, exist_ok=True)
        log = self.stack.enter_context((self.root / f"{name}.log").open("wb"))
        process = subprocess.Popen(
            command, cwd=cwd, env=self.environment(asked), stdout=log, stderr=log
        )
        self.processes.append(process)
        return process

    def scheduler(self) -> None:
        dask = [sys.executable, "-m", "dask", "scheduler", "--port", str(PORT), "--no-dashboard"]
        self.start("scheduler", dask, "asked")

    def worker(self, name: str, host: str, *, within: str = "", via: str = "127.0.0.1") -> Any:
        dask = [sys.executable, "-m", "dask", "worker", f"tcp://{via}:{PORT}", "--no-nanny"]
        dask += ["--nthreads", "1", "--memory-limit", "0", "--no-dashboard", "--host", host]
        dask += ["--name", name, "--local-directory", str(self.root / "at" / name)]
        if within:
            hide = f"mount -t tmpfs none {self.hidden} && exec " + " ".join(dask)
            dask = ["ip", "netns", "exec", within, "unshare", "--mount", "sh", "-c", hide]
        return self.start(name, dask, "asked")

    def client(self, name: str, out: str, *, on: bool) -> Any:
        command = [
            sys.executable,
            "-m",
            "orglab",
            "run",
            "sweep.yaml",
            "--out",
            str(self.root / out),
        ]
        command += ["--on", f"tcp://127.0.0.1:{PORT}"] if on else []
        return self.start(name, command, "asked" if on else "asked alone", self.root / "study")

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        self.stack.close()


@contextmanager
def machines(root: Path, hidden: Path | None = None) -> Iterator[Machines]:
    made = Machines(root, hidden)
    try:
        yield made
    finally:
        made.close()


def done(folder: Path) -> int:
    """Runs that have ended."""
    file = folder / "study.sqlite"
    if not file.exists():
        return 0
    try:
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as study:
            rows = study.execute("SELECT COUNT(*) FROM runs WHERE status != 'running'")
            return int(rows.fetchone()[0])
    except sqlite3.OperationalError:  # it is being made
        return 0


def until(reached: Callable[[], bool], process: Any, seconds: float = 600) -> None:
    ends = time.monotonic() + seconds
    while not reached():
        if process.poll() is not None:
            raise SystemExit(f"a client ended early, with {process.returncode}: look at its log")
        if time.monotonic() > ends:
            raise SystemExit("it took too long")
        time.sleep(0.02)


def ended(process: Any) -> None:
    if process.wait(900) not in (0, 1):
        raise SystemExit(f"a client failed with {process.returncode}: look at its log")


# --- what came of it -------------------------------------------------------------------------

SAME = {  # all but times, and what deaths made ask again
    "runs": "SELECT id, arm, unit, replicate, seed, spec, status, reason, answer, turns, loops, calls,"
    " tokens_input, tokens_output, cost_usd FROM runs ORDER BY id",
    "events": "SELECT r.id, e.seq, e.tick, e.kind, e.body FROM events e JOIN runs r USING (run)"
    " ORDER BY r.id, e.seq",
    "calls": "SELECT r.id, c.position, c.identity, c.copy, c.role, c.purpose, c.visit, c.served, c.stop,"
    " c.error, c.tokens_input, c.tokens_output, c.cost_usd, c.seed, c.params, c.messages, c.schema,"
    " c.reply FROM calls c JOIN runs r USING (run) ORDER BY r.id, c.position",
    "tool calls": "SELECT r.id, t.position, t.tool, t.arguments, t.result, t.error FROM tool_calls t"
    " JOIN runs r USING (run) ORDER BY r.id, t.position",
    "scores": "SELECT r.id, s.evaluator, s.arguments, s.name, s.value, s.label, s.passed FROM scores s"
    " JOIN runs r USING (run) WHERE s.name NOT LIKE '%seconds%'"
    " AND s.name != 'asked_again' ORDER BY 1, 2, 3, 4",
}


def compared(one: Path, other: Path) -> None:
    with Reader(one) as alone, Reader(other) as cluster:
        for what, sql in SAME.items():
            rows = [[tuple(row) for row in each.rows(sql)] for each in (alone, cluster)]
            if rows[0] != rows[1]:
                unlike = sum(a != b for a, b in zip(*rows, strict=False))
                raise SystemExit(f"{what} differ: {len(rows[0])}, {len(rows[1])}; {unlike} unlike")
            say(f"  {what}: {len(rows[0])} rows, the same byte for byte")


def asked(folder: Path) -> Counter[str]:
    return Counter(line for file in folder.glob("*.txt") for line in file.read_text().split())


def accounted(root: Path) -> None:
    """What was asked twice, and what the store says of it."""
    often, alone = asked(root / "asked"), asked(root / "asked alone")
    twice = {identity for identity, count in often.items() if count > 1}
    say(f"  requests written down by models: {often.total()}; in one process: {alone.total()}")
    say(f"  asked twice: {len(twice)}; more than twice: {sum(n > 2 for n in often.values())}")
    with Reader(root / "cluster") as study:
        again = {
            json.loads(row["what"])["identity"]
            for row in study.rows("SELECT what FROM attempts WHERE again=1")
        }
        cut = [call for call in spending(study).cut if call.killed]
    say(f"  of them known to the store as under way when something died: {len(twice & again)}")
    say(f"  all that the store counts as asked again: {len(again)} (the rest had not been sent)")
    usd = sum(call.reserved_usd or 0.0 for call in cut)
    say(f"  listed with the money reserved for them: {len(cut)} calls, at most ${usd:.4f}")
    if twice - again or set(often) != set(alone) or max(alone.values()) > 1:
        raise SystemExit("a reply was paid for twice, and nothing tells it")


# --- trials ------------------------------------------------------------------------------------


def killed(root: Path, runs: int) -> None:
    with machines(root) as here:
        started = time.perf_counter()
        ended(here.client("alone", "alone", on=False))
        say(f"one process: {time.perf_counter() - started:.1f} s")
        here.scheduler()
        first = here.worker("w1", "127.0.0.2")
        here.worker("w2", "127.0.0.3")
        started = time.perf_counter()
        client = here.client("client1", "cluster", on=True)
        study = root / "cluster"
        until(lambda: done(study) >= runs * 0.4, client)
        first.send_signal(signal.SIGKILL)
        say(f"a worker killed after {done(study)} runs")
        here.worker("w3", "127.0.0.4")
        until(lambda: done(study) >= runs * 0.7, client)
        client.send_signal(signal.SIGKILL)
        client.wait()
        say(f"the client killed after {done(study)} runs")
        ended(here.client("client2", "cluster", on=True))
        say(f"the cluster, deaths and restart included: {time.perf_counter() - started:.1f} s")
        compared(root / "alone", study)
        accounted(root)


@contextmanager
def hosts() -> Iterator[list[tuple[str, str, str]]]:
    """Two network namespaces that reach this one and not each other: name, own address, ours."""
    made = []
    try:
        for number in (1, 2):
            name, ours, own = f"orglab{number}", f"10.77.{number}.1", f"10.77.{number}.2"
            shell(f"ip netns add {name}")
            made.append((name, own, ours))
            shell(f"ip link add og{number} type veth peer name og{number}p")
            shell(f"ip link set og{number}p netns {name}")
            shell(f"ip addr add {ours}/24 dev og{number}")
            shell(f"ip link set og{number} up")
            shell(f"ip netns exec {name} ip addr add {own}/24 dev og{number}p")
            shell(f"ip netns exec {name} ip link set og{number}p up")
            shell(f"ip netns exec {name} ip link set lo up")
        yield made
    finally:
        for name, _, _ in made:
            subprocess.run(["ip", "netns", "del", name], check=False)


def shell(command: str) -> None:
    subprocess.run(command.split(), check=True)


def apart(root: Path) -> None:
    with hosts() as namespaces, machines(root, root / "study") as here:
        ended(here.client("alone", "alone", on=False))
        here.scheduler()
        for name, own, ours in namespaces:
            here.worker(name, own, within=name, via=ours)
        started = time.perf_counter()
        ended(here.client("client", "cluster", on=True))
        say(f"two hosts without a shared file system: {time.perf_counter() - started:.1f} s")
        compared(root / "alone", root / "cluster")
        files = {path.stem: len(path.read_text().split()) for path in (root / "asked").glob("*")}
        say(f"  requests by process: {sorted(files.values())}")
        accounted(root)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", action="store_true")
    parser.add_argument("--units", type=int, default=UNITS)
    parser.add_argument("--keep", type=Path, help="a folder to work in, kept")
    wish = parser.parse_args()
    with ExitStack() as stack:
        root = wish.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        root.mkdir(exist_ok=True)
        write_study(root / "study", wish.units)
        write_plugin(root / "plugin")
        if wish.hosts:
            apart(root)
        else:
            killed(root, wish.units * 8)


if __name__ == "__main__":
    main()
