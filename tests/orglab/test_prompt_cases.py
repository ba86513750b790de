"""Prompts of whole runs on specs that once went wrong."""

from __future__ import annotations

from pathlib import Path

from case_files import case_folder

import orglab
from orglab.results.records import RunRecord

CASE = case_folder("095-key-shadowed-by-method")


def only_run(spec: str, folder: Path, topic: str = "tea") -> RunRecord:
    """The one run of a spec of the case."""
    team = orglab.load(CASE / spec)
    (record,) = orglab.run(team, inputs={"topic": topic}, out=folder, seed=1).records()
    return record


def test_a_key_named_like_a_method_reaches_the_prompt(tmp_path: Path) -> None:
    """`inbox[0].value.items` is the list that was sent, in every process."""
    record = only_run("spec.yaml", tmp_path / "study")
    (prompt,) = [call.request["messages"] for call in record.calls if call.role == "writer"]
    assert "Write about " in prompt[-1]["content"]
    assert "method" not in prompt[-1]["content"]
    lister = next(output for output in record.outputs if output.role == "lister")
    assert all(item in prompt[-1]["content"] for item in lister.value["items"])


def test_a_variable_named_like_a_method_is_read(tmp_path: Path) -> None:
    """`vars.plan.copy` is what the author wrote."""
    record = only_run("copy.yaml", tmp_path / "study")
    assert record.status == "completed"
    assert record.calls[0].request["messages"][-1]["content"].startswith("tea two")
