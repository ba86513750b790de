"""A key that is used is found nowhere: not in store, log, report, transcript or error."""

from __future__ import annotations

import importlib.util
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import ModuleType

KEY = "sk-planted-4f9a7c31e2d84b06"
WIRE = Path(__file__).parents[2] / "benchmarks/wire"

TEAM = """\
kind: topology
version: 1
name: keyed
inputs: {{topic: {{type: string}}}}
models:
  worker: {{provider: {provider}, model: m, base_url: "{url}", api_key_env: PLANTED, timeout_seconds: 5}}
roles:
  writer: {{prompt: "Write about {{{{ topic }}}}."}}
  critic: {{on_error: skip}}
links: [{{from: writer, to: critic, kind: forward}}]
output: [writer, critic]
"""


def _wire(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"wire_{name}", WIRE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _texts(folder: Path) -> dict[str, str]:
    """Every file under a folder as text; databases as the dump of all their rows too."""
    found: dict[str, str] = {}
    for file in folder.rglob("*"):
        if not file.is_file():
            continue
        found[str(file)] = file.read_bytes().decode("utf-8", "replace")
        if file.suffix == ".sqlite":
            with sqlite3.connect(file) as connection:
                found[f"{file} dumped"] = "\n".join(connection.iterdump())
            connection.close()
    return found


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("orglab")), *arguments]
    env = {**os.environ, "PLANTED": KEY, "COLUMNS": "200"}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_a_planted_key_is_found_nowhere(tmp_path: Path) -> None:
    """The server says the key back in its refusals and its replies, as hostile ones do."""
    wire = _wire("openai_server")

    def answer(call: object) -> object:
        told = call.headers["authorization"]  # type: ignore[attr-defined]
        assert KEY in told
        if "team of" in json.dumps(call.body) or call.number % 2 == 0:  # type: ignore[attr-defined]
            return wire.error(401, f"Incorrect API key provided: {told}", code="invalid_api_key")
        return wire.Reply(body=wire.chat(f"I was asked with {told}"))

    with wire.serving_in_thread(answer) as server:
        spec = TEAM.format(provider="openai", url=server.base_url)
        (tmp_path / "a.yaml").write_text(spec, encoding="utf-8")
        other = spec.replace("writer: {", 'writer: {system: "Be short.", ')
        (tmp_path / "b.yaml").write_text(other, encoding="utf-8")
        (tmp_path / "u.csv").write_text("id,topic\n1,tea\n2,milk\n", encoding="utf-8")
        said = [
            _run(tmp_path, "models", "a.yaml", "--check", "--json"),
            _run(tmp_path, "run", "a.yaml", "b.yaml", "--units", "u.csv", "--out", "s/x"),
            _run(tmp_path, "show", "s/x"),
        ]
    words = "\n".join(each.stdout + each.stderr for each in said)
    assert server.counts.requests > 4
    assert "asked with" in words or any("asked with" in text for text in _texts(tmp_path).values())
    assert KEY not in words
    assert [name for name, text in _texts(tmp_path).items() if KEY in text] == []


def test_a_missing_key_is_reported_by_its_variable(tmp_path: Path) -> None:
    """The words name the variable; no other part of the environment is told."""
    spec = TEAM.format(provider="anthropic", url="http://127.0.0.1:9")
    (tmp_path / "a.yaml").write_text(spec.replace("PLANTED", "NOT_SET_KEY"), encoding="utf-8")
    done = _run(tmp_path, "run", "a.yaml", "--input", "topic=tea")
    assert done.returncode == 2
    assert "NOT_SET_KEY" in done.stderr
    assert KEY not in done.stdout + done.stderr
