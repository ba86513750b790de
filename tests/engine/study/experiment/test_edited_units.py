"""Case 92: a unit that was edited under its id is another unit; its old runs are in no figure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from studies import run_experiment, write_experiment

from orglab.providers.scripted.provider import ScriptedProvider
from orglab.results.display.summary import summary
from orglab.results.report.experiment.data import Tables, read_tables
from orglab.results.report.experiment.findings import read_findings
from orglab.results.report.experiment.plan_history import frozen_plans
from orglab.results.report.experiment.sections.execution import deviations_section
from orglab.results.store.reader import Reader
from orglab.results.store.store import Store

TEAM = """\
kind: topology
version: 1
name: team
inputs: {topic: {type: string}}
models: {m: {provider: scripted, file: replies.jsonl}}
roles: {writer: {system: SYSTEM}}
output: writer
evaluators: [words]
"""
EXPERIMENT = """\
kind: experiment
version: 1
name: edited
arms: {one: team.yaml, two: {base: team.yaml, set: {roles.writer.system: B}}}
treatment: [roles.writer.system]
units: {file: units.csv}
evaluators: [words]
analysis: {contrasts: [[two, one]], primary: [words]}
"""
Run = Callable[..., Path]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs the experiment on units with these topics; answers have as many words as what is asked."""

    def ran(*topics: str) -> Path:
        rows = "".join(f"u{at},{topic}\n" for at, topic in enumerate(topics))
        team, units = TEAM.replace("SYSTEM", "A"), f"id,topic\n{rows}"
        files = {"team.yaml": team, "units.csv": units, "experiment.yaml": EXPERIMENT}
        answer = ScriptedProvider(lambda request: request.messages[-1].content)
        run_experiment(write_experiment(tmp_path, files), tmp_path / "study", answer)
        return tmp_path / "study"

    return ran


def tables(study: Path) -> Tables:
    """What the report is made of."""
    with Reader(study) as reader:
        return read_tables(reader, frozen_plans(reader)[-1])


def lengths(study: Path) -> dict[tuple[str, str], float]:
    """Words by arm and unit, as the report has it."""
    scores = tables(study).scores
    chosen = scores[scores["outcome"] == "words"]
    columns = zip(chosen["arm"], chosen["unit"], chosen["value"], strict=True)
    return {(str(arm), str(unit)): float(value) for arm, unit, value in columns}


def test_an_edited_unit_is_run_again_and_its_old_runs_are_left_out(run: Run) -> None:
    """Old and new are never averaged; the report and the summary say what they leave out."""
    study = run("tea", "mud")
    before = lengths(study)
    assert run("tea", "a very long topic") == study
    after = lengths(study)
    assert after["one", "u0"] == before["one", "u0"]
    assert after["one", "u1"] > before["one", "u1"]
    assert (len(after), tables(study).earlier, tables(study).outside) == (4, 2, 2)
    (group, other) = summary([study]).groups
    assert (group.runs, group.earlier, other.earlier) == (2, 1, 1)
    assert sorted(group.measures["words"].values) == sorted(
        [after["one", "u0"], after["one", "u1"]]
    )
    assert "Left out: 2 runs of units that were edited" in summary([study]).text()
    told = str(deviations_section(read_findings(study)))
    assert "2 runs in the store are of an earlier content of their unit" in told


def test_a_unit_that_is_as_it_was_is_not_run_again(run: Run) -> None:
    """Taking an edit back takes the old runs back."""
    study = run("tea", "mud")
    before = lengths(study)
    run("tea", "a very long topic")
    run("tea", "mud")
    assert lengths(study) == before
    with Reader(study) as reader:
        assert len(list(reader.runs())) == 6


def test_an_old_run_never_stands_in_for_one_that_is_not_there_yet(run: Run) -> None:
    """A pair has both arms on the same content, or it is no pair."""
    study = run("tea", "mud")
    run("tea", "a very long topic")
    with Store(study) as store:
        store._connection.execute(
            "DELETE FROM runs WHERE run=(SELECT MAX(run) FROM runs WHERE arm='two' AND unit='u1')"
        )
    assert ("two", "u1", 0) not in tables(study).rows
    assert ("one", "u1", 0) in tables(study).rows
