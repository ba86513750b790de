"""A sweep's figures are of its last plan: its variants, and its units as they are now."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from studies import write_files

from orglab.engine.study.batch.executor import run_batch
from orglab.engine.study.batch.study_folder import open_sweep
from orglab.engine.study.sweep.load import load_sweep
from orglab.providers.scripted.provider import ScriptedProvider
from orglab.results.display.summary import summary
from orglab.results.report.render.blocks import Paragraph
from orglab.results.report.sweep.findings import read_sweep_findings
from orglab.results.report.sweep.sections import execution_section
from orglab.results.tables.sweep_table import sweep_frame

TEAM = """\
kind: topology
version: 1
name: team
inputs: {topic: {type: string}}
models: {m: {provider: scripted, file: replies.jsonl}}
roles: {writer: {system: x, prompt: "{{ topic }}", vars: {persona: a}}}
output: writer
"""
SWEEP = """\
kind: sweep
version: 1
name: edited
base: team.yaml
vary: {roles.writer.vars.persona: [a, b]}
units: {file: units.csv}
evaluators: [words]
"""
Run = Callable[..., Path]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs the sweep on units with these topics; answers have as many words as the topic."""

    def ran(*topics: str) -> Path:
        rows = "".join(f"u{at},{topic}\n" for at, topic in enumerate(topics))
        files = {"units.csv": f"id,topic\n{rows}", "team.yaml": TEAM, "sweep.yaml": SWEEP}
        write_files(tmp_path, files)
        sweep = load_sweep(tmp_path / "sweep.yaml")
        answer = ScriptedProvider(lambda request: request.messages[-1].content)
        store = open_sweep(tmp_path / "study", sweep)
        try:
            asyncio.run(run_batch(sweep.batch(providers={"*": answer}), store))
        finally:
            store.close()
        return tmp_path / "study"

    return ran


def words(study: Path) -> list[tuple[str, str, float]]:
    """Variant, unit and words of every row of the table."""
    frame = sweep_frame(study)
    return sorted(zip(frame["variant"], frame["unit"], frame["words"], strict=True))


def told(study: Path) -> str:
    """What the report says of how it went."""
    blocks = execution_section(read_sweep_findings(study)).blocks
    return " ".join(block.text for block in blocks if isinstance(block, Paragraph))


def means(study: Path) -> list[float]:
    """Words by unit, as the report has them of the first variant."""
    (outcome,) = read_sweep_findings(study).outcomes
    return [float(value) for value in outcome.values[0]]


def test_old_contents_of_an_edited_unit_are_in_no_figure(run: Run) -> None:
    """Nor in the table; the report says what it leaves out, and what was edited."""
    run("one", "one two")
    study = run("one", "one two three")
    assert words(study) == [
        (f"persona={persona}", unit, number)
        for persona in "ab"
        for unit, number in (("u0", 1.0), ("u1", 3.0))
    ]
    assert means(study) == [1.0, 3.0]
    assert [group.earlier for group in summary([study]).groups] == [1, 1]
    assert "2 runs of the study, of an earlier content of their unit" in told(study)
    (changed,) = read_sweep_findings(study).changes
    assert changed.words == "1 unit edited under the same id"


def test_an_edit_taken_back_takes_the_old_runs_back(run: Run) -> None:
    """It is the content that counts, not which run came last."""
    run("one", "one two")
    run("one", "one two three")
    study = run("one", "one two")
    assert [number for _, _, number in words(study)] == [1.0, 2.0] * 2
    assert means(study) == [1.0, 2.0]
    groups = summary([study]).groups
    assert [sorted(group.measures["words"].values) for group in groups] == [[1, 2], [1, 2]]


def test_units_that_left_the_plan_are_in_no_figure(run: Run) -> None:
    """Neither in the table nor in the figures side by side."""
    run("one", "one two")
    study = run("one")
    assert [unit for _, unit, _ in words(study)] == ["u0", "u0"]
    assert [group.runs for group in summary([study]).groups] == [1, 1]
    assert "2 runs of the study, of values, units or replicates" in told(study)
