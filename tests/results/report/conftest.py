"""A small study, run once on simulated models, and copies of it that tests may bend."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orglab.engine.study.batch.executor import run_batch
from orglab.engine.study.batch.study_folder import open_experiment
from orglab.engine.study.experiment.load import load_experiment

TEAM = """\
kind: topology
version: 1
name: reviewed
inputs: {topic: {type: string}}
models:
  one: {provider: simulated, profile: {base: careful, verdicts: {revise: 2, approve: 1}, words: {mean: 80, sd: 20}}, price: {input: 2, output: 10}}
  two: {provider: simulated, profile: {base: lenient, words: {mean: 60, sd: 10}}, price: {input: 1, output: 5}}
pools: {both: {members: [one, two]}}
roles:
  writer: {model: {pool: both}, system: You write., prompt: "Write about {{ topic }}."}
  editor: {model: one, system: You judge., sees: [task]}
links:
  - {id: oversight, from: editor, to: writer, kind: authority, cap: 2}
output: writer
"""

PANEL = """\
rubric:
  instructions: Judge the report.
  criteria:
    depth: {asks: How deep is it?, levels: {"1": shallow, "3": fair, "5": deep}}
    order: {asks: How orderly is it?, levels: {"1": a jumble, "3": fair, "5": clear}}
judges:
  strict: {provider: simulated, profile: strict, price: {input: 1, output: 4}}
  mild: {provider: simulated, profile: lenient, price: {input: 1, output: 4}}
"""

EXPERIMENT = """\
kind: experiment
version: 1
name: sending-back
question: Does sending back help?
arms:
  free: {base: team.yaml, set: {links.oversight.cap: 0}}
  bound: team.yaml
treatment: [links.oversight.cap]
units: {file: units.jsonl, id: id}
seed: 3
evaluators:
  - usage
  - words: {role: writer, drafts: true}
  - hedges: {role: writer, drafts: true}
  - kept_share: {role: writer}
  - length: {max: 70}
  - judge_panel: {file: panel.yaml}
composites: {quality: [depth, order]}
analysis:
  contrasts: [[bound, free]]
  primary: [quality]
  followups: {outcomes: [depth, order], correct: holm}
  covariates: [words]
  leave_one_out: [judge, unit]
  mixed: {outcome: quality, random: unit}
  dose: {outcome: quality, dose: words, within: bound}
  drafts: {role: writer, measures: [words, kept_share], against: free}
  subsets: {unexercised: {arm: bound, where: "loops == 0"}}
  equivalence: {margin_dz: 0.5}
  by: [model.writer, region]
"""

UNITS = 8


def write_files(folder: Path) -> Path:
    """The files of the experiment; gives its document."""
    (folder / "team.yaml").write_text(TEAM, encoding="utf-8")
    (folder / "panel.yaml").write_text(PANEL, encoding="utf-8")
    rows = [
        {"id": f"u{at}", "topic": f"topic {at}", "region": ("north", "south")[at % 2]}
        for at in range(UNITS)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "units.jsonl").write_text(text, encoding="utf-8")
    path = folder / "experiment.yaml"
    path.write_text(EXPERIMENT, encoding="utf-8")
    return path


def run_experiment(path: Path, out: Path) -> Path:
    """Runs an experiment into ``out``."""
    experiment = load_experiment(path)
    store = open_experiment(out, experiment)
    try:
        asyncio.run(run_batch(experiment.batch(), store))
    finally:
        store.close()
    return out


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study: do not change it."""
    folder = tmp_path_factory.mktemp("study")
    return run_experiment(write_files(folder), folder / "runs")


@pytest.fixture
def study(made: Path, tmp_path: Path) -> Path:
    """A copy of the study that a test may bend."""
    folder = tmp_path / "copy"
    folder.mkdir()
    shutil.copy(made / "study.sqlite", folder / "study.sqlite")
    return folder


@pytest.fixture
def bend(study: Path) -> Callable[..., None]:
    """Runs SQL on the copy of the study."""

    def run(sql: str, *arguments: Any) -> None:
        connection = sqlite3.connect(study / "study.sqlite")
        with connection:
            connection.execute(sql, arguments)
        connection.close()

    return run


@pytest.fixture
def add_plan(study: Path) -> Callable[[dict[str, Any], str], None]:
    """Freezes another plan: the last one with some fields changed, at some time."""

    def add(changes: dict[str, Any], added: str) -> None:
        connection = sqlite3.connect(study / "study.sqlite")
        sql = "SELECT name, normal FROM specs WHERE kind='experiment' ORDER BY added DESC LIMIT 1"
        name, normal = connection.execute(sql).fetchone()
        plan = json.dumps({**json.loads(normal), **changes})
        row = (f"hash-{added}", "experiment", name, plan, added)
        with connection:
            connection.execute("INSERT INTO specs VALUES (?, ?, ?, ?, ?)", row)
        connection.close()

    return add


@pytest.fixture
def fresh(tmp_path: Path) -> Callable[..., Path]:
    """Runs the experiment with its text changed: pairs of old and new."""

    def run(*changes: tuple[str, str]) -> Path:
        path = write_files(tmp_path)
        text = EXPERIMENT
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
        return run_experiment(path, tmp_path / "runs")

    return run
