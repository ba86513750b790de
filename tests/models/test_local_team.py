"""A team on real data with the real local model: whole, valid, and the same again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from orglab.results.display.transcript import transcript_text
from orglab.results.records import RunRecord
from orglab.results.store.reader import Reader

pytest.importorskip("llama_cpp", reason="the local model needs orglab[llama]")

ROOT = Path(__file__).parents[2]
STUDY = "specs/insight-review"
REPLICATES = 2
SHORTER = (
    "roles.explorer.limits.tool_calls=1",
    "links.columns.cap=1",
    "links.review.cap=1",
)
"""What keeps four runs of a small model within minutes; the team is otherwise the study's own."""


def run(folder: Path) -> list[RunRecord]:
    """The README's command, as a person would type it; the records it left.

    Paths are as they stand in the project, since a unit without an id is known by its inputs, and
    seeds are drawn from it: elsewhere the same seed would be another one. Nothing is taken from
    the replies that studies keep for each other: each is computed.
    """
    command = [
        *(str(Path(sys.executable).parent / "orglab"), "run"),
        f"{STUDY}/skeptic-checked.yaml",
        *("--models", "specs/models/local.yaml"),
        *("--input", f"table={STUDY}/data/films.csv"),
        *("--input", "question=Which columns move together?"),
        *("--replicates", str(REPLICATES), "--seed", "7", "--out", str(folder), "--no-cache"),
        *(part for each in SHORTER for part in ("--set", each)),
    ]
    env = {**os.environ, "COLUMNS": "120"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr  # a stopped run is a true end
    with Reader(folder) as reader:
        return [reader.record(row.id) for row in list(reader.runs())]


@pytest.mark.models
@pytest.mark.timeout(2400)
def test_a_real_model_runs_the_team_and_the_same_seeds_give_the_same(tmp_path: Path) -> None:
    """Every reply is valid against its schema; two runs of the same seeds have equal events."""
    first, second = run(tmp_path / "first"), run(tmp_path / "second")
    assert len(first) == len(second) == REPLICATES
    for record, again in zip(first, second, strict=True):
        assert record.events == again.events
        assert [call.text for call in record.calls] == [call.text for call in again.calls]
        assert record.status in ("completed", "stopped"), record.reason
        assert not any(call.simulated for call in record.calls)
        for output in record.outputs:
            schema = next(
                call.request["schema"]
                for call in record.calls
                if call.role == output.role and call.request["schema"]
            )
            Draft202012Validator(schema).validate(output.value)
        page = transcript_text(record, width=100)
        assert "explorer" in page
        assert "SIMULATED" not in page
    seeds = {record.calls[0].request["seed"] for record in first}
    assert len(seeds) == REPLICATES
