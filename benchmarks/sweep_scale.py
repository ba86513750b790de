"""A sweep of many runs on one machine: throughput, memory, the store's size, resuming, the report.

    python benchmarks/sweep_scale.py [--runs 1000,10000,100000] [--variants 10]

A team of two roles on scripted replies, a sweep of ten variants over a tenth as many units as there are
runs, everything kept durable. Each step is a process of its own, so that its memory is its own:

- `run`: all runs, from an empty folder; memory is sampled by runs done;
- `resume`: the same again on the finished study, which has nothing left to do.
- `report`: tables and report.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TEAM = """\
kind: topology
version: 1
name: two
inputs: {topic: {type: string}}
models: {worker: {provider: scripted, file: none.jsonl}}
roles:
  writer:
    system: "You write. {{ vars.manner }}"
    prompt: "Write about {{ topic }}."
    vars: {manner: "0"}
  critic: {system: You judge the drafts of the writer.}
links:
  - {from: writer, to: critic, kind: forward}
output: critic
"""
SWEEP = """\
kind: sweep
version: 1
name: scale
base: team.yaml
vary: {roles.writer.vars.manner: %s}
units: {file: units.jsonl, id: id}
evaluators: [words]
"""


def write(folder: Path, runs: int, variants: int) -> None:
    """The files of the sweep."""
    (folder / "team.yaml").write_text(TEAM, encoding="utf-8")
    (folder / "none.jsonl").write_text('{"role": "writer", "reply": "x"}\n', encoding="utf-8")
    manners = json.dumps([f"manner {n}" for n in range(variants)])
    (folder / "sweep.yaml").write_text(SWEEP % manners, encoding="utf-8")
    with (folder / "units.jsonl").open("w", encoding="utf-8") as file:
        for number in range(runs // variants):
            file.write(json.dumps({"id": f"u{number}", "topic": f"topic {number}"}) + "\n")


def resident() -> float:
    """Megabytes that this process holds now."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def step(folder: Path, what: str) -> dict[str, Any]:
    """One step, in this process."""
    from orglab.engine.study.batch.executor import run_batch
    from orglab.engine.study.batch.study_folder import open_sweep
    from orglab.engine.study.sweep.load import load_sweep
    from orglab.providers.base import Request
    from orglab.providers.scripted.provider import ScriptedProvider
    from orglab.results.report.write import write_report

    def answer(request: Request) -> str:
        return f"{request.labels.copy} says a few words on {request.labels.unit}"

    began = time.perf_counter()
    if what == "report":
        write_report(folder / "study")
        return {"seconds": time.perf_counter() - began}
    sweep = load_sweep(folder / "sweep.yaml")
    loaded = time.perf_counter() - began
    memory: dict[int, float] = {}

    def watch(tally: Any) -> None:
        done = tally.done - tally.kept
        if done in (1000, 2000, 5000) or (done and done % 10_000 == 0):
            memory[done] = round(resident(), 1)

    store = open_sweep(folder / "study", sweep)
    opened = time.perf_counter() - began
    batch = sweep.batch(providers={"*": ScriptedProvider(answer)}, at_once=64)
    try:
        tally = asyncio.run(run_batch(batch, store, progress=watch))
    finally:
        store.close()
    return {
        "loaded": loaded,
        "opened": opened,
        "seconds": time.perf_counter() - began,
        "completed": tally.completed,
        "kept": tally.kept,
        "memory": memory,
    }


def played(folder: Path, what: str) -> dict[str, Any]:
    """One step in a process of its own, with its largest memory in megabytes."""
    command = [sys.executable, __file__, "--step", what, "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure(runs: int, variants: int) -> None:
    """All steps for a number of runs."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write(folder, runs, variants)
        first = played(folder, "run")
        size = sum(file.stat().st_size for file in (folder / "study").rglob("*") if file.is_file())
        files = sum(file.is_file() for file in (folder / "study").rglob("*"))
        again = played(folder, "resume")
        report = played(folder, "report")
    assert first["completed"] == again["kept"] == runs, (first, again)
    print(f"{runs} runs, {variants} variants")
    rate = runs / first["seconds"]
    print(
        f"  run      {first['seconds']:8.1f} s  {rate:7.0f} runs/s  peak {first['peak']:.0f} MB  {first['memory']}"
    )
    print(f"  store    {size / runs:8.0f} bytes a run, {files} files")
    print(
        f"  resume   {again['seconds']:8.1f} s  (sweep loaded {again['loaded']:.1f}, study open {again['opened']:.1f})  peak {again['peak']:.0f} MB"
    )
    print(f"  report   {report['seconds']:8.1f} s  peak {report['peak']:.0f} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", default="1000,10000,100000")
    parser.add_argument("--variants", type=int, default=10)
    parser.add_argument("--step", choices=["run", "resume", "report"])
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    if args.step:
        found = step(args.folder, args.step)
        found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(found))
        return
    for runs in args.runs.split(","):
        measure(int(runs), args.variants)


if __name__ == "__main__":
    main()
