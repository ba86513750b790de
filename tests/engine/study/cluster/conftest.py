"""A cluster of two workers in this process, and an experiment whose files they need."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from orglab.engine.study.batch.batch import Batch
from orglab.engine.study.batch.executor import run_batch
from orglab.engine.study.batch.study_folder import open_experiment
from orglab.engine.study.experiment.experiment import Experiment
from orglab.engine.study.experiment.load import load_experiment
from orglab.providers.base import Request
from orglab.providers.scripted.provider import ScriptedProvider
from orglab.results.store.reader import Reader
from orglab.results.store.store import Store

distributed = pytest.importorskip("distributed")

TEAM = """\
kind: topology
version: 1
name: pair
inputs: {topic: {type: string}, table: {type: string, format: file}}
models:
  m:
    provider: scripted
    file: replies.jsonl
    params: {max_output_tokens: 5}
    price: {input: 10, output: 10}
tools:
  look: {use: head, with: {file: "{{ table }}"}}
  known: {use: head, with: {file: data/known.csv}}
  by_topic: {use: head, with: {file: "data/{{ topic }}.csv"}}
roles:
  writer:
    system: {file: prompts/writer.md}
    prompt: "{{ tool.look(n=1) }} {{ tool.known(n=1) }} {{ tool.by_topic(n=1) }} {{ directive or '' }}"
    tools: [look, known, by_topic]
  boss: {system: You judge.}
links:
  - {id: oversight, from: boss, to: writer, kind: authority, cap: 0}
output: writer
"""
EXPERIMENT = """\
kind: experiment
version: 1
name: right
arms:
  free: pair.yaml
  bound: {base: pair.yaml, set: {links.oversight.cap: 1}}
treatment: [links.oversight.cap]
units: {file: units.jsonl, id: topic}
seed: 5
pairing: {share_prefix: true}
evaluators: [usage, words]
"""
ROWS = [
    """SELECT id, arm, unit, status, answer, turns, loops, calls, tokens_input, cost_usd FROM runs
       ORDER BY id""",
    """SELECT r.id, e.seq, e.tick, e.kind, e.body FROM events e JOIN runs r USING (run)
       ORDER BY r.id, e.seq""",
    """SELECT r.id, c.position, c.identity, c.copy, c.seed, c.messages, c.reply FROM calls c
       JOIN runs r USING (run) ORDER BY r.id, c.position""",
    """SELECT r.id, t.position, t.tool, t.result FROM tool_calls t JOIN runs r USING (run)
       ORDER BY r.id, t.position""",
    # which arm pays for a shared call is a race, everywhere
    """SELECT r.id, s.evaluator, s.name, s.value FROM scores s JOIN runs r USING (run)
       WHERE s.name NOT LIKE '%seconds%' AND s.name NOT LIKE '%paid%' AND s.name != 'asked_again'
       ORDER BY 1, 2, 3""",
]


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    """Two arms on four units: prompts, tables of the spec and of units, a script."""
    services = tmp_path / "home"
    for folder in ("prompts", "data"):
        (services / folder).mkdir(parents=True)
    units = [{"topic": f"tea{n}", "table": f"data/t{n}.csv"} for n in range(4)]
    revise = json.dumps({"action": "revise", "reason": "again"})
    approve = json.dumps({"action": "approve", "reason": "good"})
    replies = [
        {"role": "writer", "reply": "by hand"},
        {"role": "writer", "visit": 2, "reply": "by heart"},
        {"role": "boss", "unit": "tea1", "visit": 1, "reply": approve},
        {"role": "boss", "visit": 1, "reply": revise},
        {"role": "boss", "reply": approve},
    ]
    files = {
        "pair.yaml": TEAM,
        "experiment.yaml": EXPERIMENT,
        "prompts/writer.md": "You write.",
        "data/known.csv": "a,b\n1,2\n",
        "units.jsonl": "".join(f"{json.dumps(unit)}\n" for unit in units),
        "replies.jsonl": "".join(f"{json.dumps(reply)}\n" for reply in replies),
    }
    for number in range(4):
        files[f"data/t{number}.csv"] = f"x\n{number}\n"
        files[f"data/tea{number}.csv"] = f"y\n{number}\n"
    for name, text in files.items():
        (services / name).write_text(text, encoding="utf-8")
    return load_experiment(services / "experiment.yaml")


@pytest.fixture
async def cluster() -> AsyncIterator[Any]:
    """Two workers, in this process: they share nothing with the client but the code."""
    async with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        asynchronous=True,
        dashboard_address=":0",  # any port: 8787 may be taken
        memory_limit=0,
        silence_logs=logging.CRITICAL,
    ) as made:
        yield made


@pytest.fixture
def run(experiment: Experiment, tmp_path: Path) -> Any:
    """Runs the experiment into a folder; on a cluster, or in this process."""

    async def ran(name: str, on: str | None = None, **more: Any) -> Any:
        waits = {key: more.pop(key) for key in ("progress", "stop") if key in more}
        batch: Batch = experiment.batch(**more)
        store = open_elsewhere(tmp_path / name, experiment)
        try:
            return await run_batch(batch, store, on=on, **waits)
        finally:
            store.close()

    return ran


def open_elsewhere(folder: Path, experiment: Experiment) -> Any:
    """The study, opened where no event loop runs, as the command line does."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(lambda: open_experiment(folder, experiment).close()).result()
    return Store(folder)


@pytest.fixture
def rows(tmp_path: Path) -> Callable[[str], list[list[tuple[Any, ...]]]]:
    """All that a study holds, less times."""

    def read(name: str) -> list[list[tuple[Any, ...]]]:
        with Reader(tmp_path / name) as reader:
            return [[tuple(row) for row in reader.rows(sql)] for sql in ROWS]

    return read


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """Every request that scripted models are asked, by whichever worker; not in dry runs."""
    requests: list[Request] = []
    complete = ScriptedProvider.complete

    async def counted(self: ScriptedProvider, request: Request) -> Any:
        if threading.current_thread() is threading.main_thread():
            requests.append(request)
        return await complete(self, request)

    monkeypatch.setattr(ScriptedProvider, "complete", counted)
    return requests
