"""Experiments and sweeps from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import orglab
from orglab.engine.study.experiment.experiment import UndeclaredDifference

TEAM = """\
kind: topology
version: 1
name: team
inputs: {topic: {type: string}}
models: {m: {provider: simulated, profile: careful}}
roles:
  writer: {prompt: "Write about {{ topic }}."}
  editor: {system: You judge.}
links:
  - {id: oversight, from: editor, to: writer, kind: authority, cap: 0}
output: writer
"""
EXPERIMENT = """\
kind: experiment
version: 1
name: small
arms: {free: team.yaml, bound: {base: team.yaml, set: {links.oversight.cap: 1}}}
treatment: [links.oversight.cap]
units: {file: units.csv, id: id}
evaluators: [words]
"""
SWEEP = """\
kind: sweep
version: 1
name: caps
base: team.yaml
units: {file: units.csv, id: id}
vary: {links.oversight.cap: [0, 1]}
evaluators: [words]
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a team, units, an experiment."""
    texts = {"team.yaml": TEAM, "experiment.yaml": EXPERIMENT, "sweep.yaml": SWEEP}
    for name, text in {**texts, "units.csv": "id,topic\na,tea\nb,milk\n"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


async def test_an_experiment_is_run_with_its_report(files: Path) -> None:
    """Also in a running event loop; the same call again costs nothing."""
    study = orglab.run_experiment(files / "experiment.yaml", out=files / "out", seed=3)
    assert (study.tally.completed, len(study.runs)) == (4, 4)
    assert (files / "out/report.html").is_file()
    assert {record.arm for record in study.records()} == {"free", "bound"}
    again = orglab.run_experiment(
        files / "experiment.yaml", out=files / "out", seed=3, report=False
    )
    assert (again.tally.kept, again.tally.completed) == (4, 0)


def test_a_sweep_is_run_with_its_report(files: Path) -> None:
    """Every variant on every unit."""
    study = orglab.run_experiment(files / "sweep.yaml", out=files / "out")
    assert study.tally.completed == 4
    assert (files / "out/report.html").is_file()


def test_the_guard_comes_first_and_a_team_is_sent_elsewhere(files: Path) -> None:
    """Nothing is made where arms differ in what was not declared."""
    text = EXPERIMENT.replace("treatment: [links.oversight.cap]", "treatment: []")
    (files / "experiment.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UndeclaredDifference, match=r"links\.oversight\.cap"):
        orglab.run_experiment(files / "experiment.yaml", out=files / "out")
    assert not (files / "out").exists()
    with pytest.raises(ValueError, match=r"orglab\.run plays a team"):
        orglab.run_experiment(files / "team.yaml")
