"""A package by someone else brings a provider, an evaluator and a tool by entry points alone."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).parent / "plugin_package"

USE_THEM = """
import asyncio, json
from orglab.engine.spec.plugin_settings import short_field
from orglab.engine.tools.factory import make, make_plugin
from orglab.evaluators.base import Output
from orglab.evaluators.evaluate import evaluate_run
from orglab.providers.base import Message, Request
from orglab.providers.registry import load_plugin, plugin_names, plugin_version
from orglab.results.records import RunRecord

async def main():
    echo = load_plugin("orglab.providers", "echo").from_spec("parrot", {"prefix": "> "})
    said = await echo.complete(Request(
        model="parrot", messages=(Message(role="user", content="hi"),), params={"upper": True}))
    answer = Output(
        id="w@1", role="w", copy="w", visit=1, tick=1, value=said.text, text=said.text,
        fate="delivered")
    run = RunRecord(
        id="r", arm="a", unit="u", inputs={}, status="completed", outputs=[answer], answer=answer)
    arguments = {short_field(load_plugin("orglab.evaluators", "shouting")): "x"}
    shouting = make_plugin("orglab.evaluators", "shouting", {**arguments, "max": 0.5}, None)
    (measured,) = await evaluate_run(run, [("shouting", shouting)], None)
    dice = make("dice", {"seed": 7}, resolve=None)
    throw = {"dice": 3}
    return {
        "names": {
            group: plugin_names(f"orglab.{group}") for group in ("providers", "evaluators", "tools")
        },
        "versions": [plugin_version("orglab.tools", "dice"), plugin_version("orglab.evaluators", "usage")],
        "said": said.text,
        "arguments": arguments,
        "error": measured.error,
        "scores": [[s.name, s.value, s.scale, s.passed, s.reason] for s in measured.scores],
        "throws": [await dice.call(throw), await dice.call(throw)],
        "parameters": dice.parameters["required"],
    }

print(json.dumps(asyncio.run(main())))
"""


TEAM = """\
kind: topology
version: 1
name: parrots
inputs: {topic: {type: string}}
models: {parrot: {provider: echo, model: parrot, prefix: "> ", params: {upper: true}}}
tools: {dice: {use: dice, with: {seed: 7}}}
roles:
  writer: {prompt: "{{ topic }}: {{ tool.dice(dice=2) }}", tools: [dice]}
output: writer
evaluators: [{shouting: {max: 1}}]
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, installed apart from ours."""
    folder = tmp_path_factory.mktemp("plugin")
    source = shutil.copytree(
        PACKAGE, folder / "source", ignore=shutil.ignore_patterns("build", "*.egg-info")
    )
    target = folder / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--target", str(target)]
    _run([*pip, *offline, str(source)], folder)
    return target


@pytest.fixture(scope="module")
def used(installed: Path) -> Any:
    """What using the package's plugins gave."""
    return json.loads(_run([sys.executable, "-c", USE_THEM], installed.parent, str(installed)))


def test_a_spec_uses_them(installed: Path, tmp_path: Path) -> None:
    """A team on the foreign model, tool and measure, from the command line alone."""
    (tmp_path / "team.yaml").write_text(TEAM, encoding="utf-8")
    orglab = [sys.executable, "-m", "orglab"]
    _run([*orglab, "check", "team.yaml"], tmp_path, str(installed))
    ran = [*orglab, "run", "team.yaml", "--input", "topic=tea", "--out", "study"]
    assert "shouting" in _run(ran, tmp_path, str(installed))
    shown = _run([*orglab, "export", "study", "--to", "jsonl"], tmp_path, str(installed))
    outputs = next(line for line in shown.splitlines() if line.endswith("outputs.jsonl"))
    text = (tmp_path / outputs).read_text(encoding="utf-8")
    assert "> TEA:" in text


def _run(command: list[str], folder: Path, *first: str) -> str:
    path = os.pathsep.join([*first, os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_its_names_stand_beside_ours(used: Any) -> None:
    """Installing is all: nothing is registered by hand."""
    assert {"echo", "scripted", "simulated"} <= set(used["names"]["providers"])
    assert {"shouting", "usage", "contains"} <= set(used["names"]["evaluators"])
    assert {"dice", "query"} <= set(used["names"]["tools"])


def test_versions_name_the_package_that_brings_a_plugin(used: Any) -> None:
    """A record can say whose plugin it was."""
    dice, usage = used["versions"]
    assert dice == "orglab-plugin-example 1.2.0"
    assert usage.startswith("orglab 0.")


def test_its_provider_answers(used: Any) -> None:
    """Options of the spec and parameters of the request reach it."""
    assert used["said"] == "> HI"


def test_its_evaluator_measures_and_checks(used: Any) -> None:
    """The short form sets its own first field; min and max come from the port."""
    assert used["arguments"] == {"ignore": "x"}
    assert used["error"] is None
    reason = "shouting is 1, at most 0.5 is asked for; 2 of 2 letters are capitals"
    assert used["scores"] == [["shouting", 1.0, "ratio", False, reason]]


def test_its_tool_works_and_is_deterministic(used: Any) -> None:
    """The same seed and arguments give the same result."""
    first, second = used["throws"]
    assert first == second
    assert first["sum"] == sum(first["faces"])
    assert len(first["faces"]) == 3


def test_it_imports_the_two_ports_alone() -> None:
    """The author of a plugin needs providers.base and evaluators.base, no more."""
    imported = set()
    for file in (PACKAGE / "orglab_plugin_example").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("orglab."):
                imported.add(node.module)
            assert not (isinstance(node, ast.Import) and "orglab" in node.names[0].name)
    assert imported == {"orglab.providers.base", "orglab.evaluators.base"}
