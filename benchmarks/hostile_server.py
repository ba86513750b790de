"""A study against a server that fails at random, killed again and again: what is kept, what is paid.

    python benchmarks/hostile_server.py [--runs 1000] [--kills 10] [--seed 1]

The server (``wire/openai_server.py``, on loopback) answers 429 and 500, drops the connection before,
within and after the headers, stalls, cuts its JSON, and answers with text that is no JSON where JSON was
asked for. The study is the command line's own, in a process of its own that is killed with SIGKILL at
random moments and started again. In the end it is held against the server's ledger:

- every run ended, in a true state;
- each kept reply is one that the server sent whole, with the server's tokens, and is kept once;
- the tokens of the study are the server's, to the token, for the replies that arrived;
- each reply that the server sent whole and that was not kept belongs to a request that the study lists as
  cut: so no reply that was durable has been asked for again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from wire.openai_server import Call, Reply, Server, SpecIssue, chat, error

from orglab.results.store.reader import Reader
from orglab.results.usage.spending import spending

TEAM = """\
kind: topology
version: 1
name: hostile
inputs: {topic: {type: string}}
models: {file: models.yaml}
roles:
  writer: {system: You are the writer., prompt: "Write about {{ topic }}."}
  critic:
    system: You are the critic.
    output: {type: object, properties: {score: {type: integer}}, required: [score], additionalProperties: false}
  editor: {system: You are the editor., on_error: skip}
links:
  - {from: writer, to: critic, kind: forward}
  - {from: critic, to: editor, kind: forward}
output: [critic, editor]
"""
MODELS = """\
worker:
  provider: openai
  model: wire-model
  base_url: %s
  max_concurrency: 64
  timeout_seconds: 2
  price: {input: 1.0, output: 4.0}
  params: {max_output_tokens: 200}
"""
RATE = 0.25
"""Share of requests that meet a fault."""
FAULTS = ("429", "500", "503", "before", "headers", "body", "truncated", "stall", "malformed")


@dataclass
class Ledger:
    """What the server did, by the number of the reply.

    Attributes:
        random: Draws faults.
        sent: Name of each reply sent whole -> tokens read, tokens written.
        faults: How often each fault was played.
    """

    random: random.Random
    sent: dict[str, tuple[int, int]] = field(default_factory=dict)
    faults: Counter[str] = field(default_factory=Counter)

    def answer(self, call: Call) -> Reply:
        """Answers, or plays a fault."""
        fault = self.random.choice(FAULTS) if self.random.random() < RATE else ""
        self.faults[fault or "none"] += 1
        if fault == "429":
            return error(
                429, "slow down", code="rate_limit_exceeded", headers={"retry-after": "0.05"}
            )
        if fault in ("500", "503"):
            return error(int(fault), "an accident")
        text = "made up"
        if call.body.get("response_format"):
            text = "no JSON at all" if fault == "malformed" else '{"score": 3}'
        body = chat(
            text,
            read=self.random.randint(10, 90),
            written=self.random.randint(1, 100),
            system_fingerprint=f"reply-{call.number}",
        )
        kind: SpecIssue = (
            fault if fault in ("before", "headers", "body", "truncated", "stall") else ""
        )  # type: ignore[assignment]
        return Reply(body=body, fault=kind, latency=self.random.random() * 0.05)


class Bank(Server):
    """A server that notes in the ledger what it sent whole."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger.answer, keep=False)
        self.ledger = ledger

    def _count(self, reply: Reply, whole: bool) -> None:
        super()._count(reply, whole)
        if whole and reply.status == 200:
            name, usage = reply.body["system_fingerprint"], reply.body["usage"]
            tokens = usage["prompt_tokens"], usage["completion_tokens"]
            self.ledger.sent[name] = tokens


@contextmanager
def study(folder: Path, address: str, runs: int) -> Iterator[list[str]]:
    """The files of the study; the command that runs it."""
    (folder / "team.yaml").write_text(TEAM, encoding="utf-8")
    (folder / "models.yaml").write_text(MODELS % address, encoding="utf-8")
    lines = [json.dumps({"id": f"u{n}", "topic": f"topic {n}"}) for n in range(runs)]
    (folder / "units.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    yield [
        str(Path(sys.executable).with_name("orglab")),
        *("run", str(folder / "team.yaml"), "--units", str(folder / "units.jsonl")),
        *("--out", str(folder / "study"), "--at-once", "64"),
    ]


def play(command: list[str], kills: int, draw: random.Random) -> int:
    """Runs the study, killed at random moments; the exit code of the last process."""
    for _ in range(kills):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=3 + draw.random() * 6)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
    return subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode


def judge(folder: Path, ledger: Ledger, runs: int) -> list[str]:
    """Holds the study against the ledger; what is wrong."""
    wrong: list[str] = []
    with Reader(folder / "study") as reader:
        statuses = Counter(reader.statuses().values())
        kept = Counter[str]()
        tokens = [0, 0]
        for row in list(reader.runs()):
            entries = [*reader.entries(row.run), *reader.entries(row.run, superseded=True)]
            for entry in entries:
                usage = entry.body.get("usage") or {}
                if not usage.get("output"):
                    continue
                name = entry.body["fingerprint"]
                kept[name] += 1
                tokens[0] += usage["input"]
                tokens[1] += usage["output"]
                if ledger.sent.get(name) != (usage["input"], usage["output"]):
                    wrong.append(
                        f"{name} is kept with {usage}; the server sent {ledger.sent.get(name)}"
                    )
        spent = spending(reader)
    listed = sum(cut.requests for cut in spent.cut)
    arrived = [
        sum(ledger.sent[name][side] for name in kept if name in ledger.sent) for side in (0, 1)
    ]
    lost = len(ledger.sent.keys() - kept.keys())
    print(f"runs: {dict(statuses)}")
    print(f"requests: {dict(ledger.faults)}")
    print(
        f"replies sent whole {len(ledger.sent)}, kept {len(kept)}, lost {lost}; listed as cut {listed} requests in {len(spent.cut)} calls, at most ${spent.reserved_usd:.4f}"
    )
    print(f"tokens of the study {tokens}, of the server for the replies that arrived {arrived}")
    price = (tokens[0] * 1.0 + tokens[1] * 4.0) / 1e6
    print(f"dollars of the study {spent.paid_usd:.6f}, at the server's prices {price:.6f}")
    if sum(statuses.values()) != runs or statuses.keys() - {"completed", "stopped", "failed"}:
        wrong.append(f"runs are not all ended: {dict(statuses)}")
    if tokens != arrived or abs(price - spent.paid_usd) > 1e-9:
        wrong.append("tokens or dollars differ")
    if max(kept.values(), default=0) > 1:
        wrong.append("a reply is kept twice")
    if lost > listed:
        wrong.append(f"{lost} replies were lost, and only {listed} requests are listed as cut")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    draw, begun = random.Random(args.seed), time.perf_counter()
    ledger = Ledger(random.Random(args.seed + 1))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        with serving(ledger) as bank, study(folder, bank.base_url, args.runs) as command:
            code = play(command, args.kills, draw)
        wrong = judge(folder, ledger, args.runs)
    print(f"{time.perf_counter() - begun:.0f} s, {args.kills} kills, exit code {code}")
    print("\n".join(wrong[:20]) or "nothing is wrong")
    sys.exit(bool(wrong))


@contextmanager
def serving(ledger: Ledger) -> Iterator[Bank]:
    """The server on an event loop of its own."""
    bank = Bank(ledger)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(bank.start(), loop).result(10)
    try:
        yield bank
    finally:
        asyncio.run_coroutine_threadsafe(bank.stop(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


if __name__ == "__main__":
    main()
