"""The Python API: check, load, run, records, scores."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import orglab
from orglab.engine.run.outcome import Unit
from orglab.engine.spec.errors import SpecError
from orglab.engine.study.batch.units import UnitError
from orglab.providers.base import Request
from orglab.providers.scripted.provider import ScriptedProvider


@pytest.fixture
def file(tmp_path: Path, spec: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spec, in the working folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "pair.yaml"
    path.write_text(spec, encoding="utf-8")
    return path


def test_a_sound_spec_has_no_faults(file: Path) -> None:
    """``check`` gives an empty list, for a path or its text."""
    assert orglab.check(file) == []
    assert orglab.check(str(file)) == []


def test_faults_are_collected(file: Path) -> None:
    """``check`` gives every fault; ``load`` and ``run`` raise them all."""
    wrong = {"links.oversight.cap": -1, "output": "wrter"}
    issues = orglab.check(file, overrides=wrong)
    assert len(issues) == 2
    with pytest.raises(SpecError, match="wrter") as raised:
        orglab.load(file, overrides=wrong)
    assert [str(issue) for issue in raised.value.issues] == [str(issue) for issue in issues]


def test_overrides_change_the_team(file: Path) -> None:
    """A value set by its path is another spec."""
    plain, flat = orglab.load(file), orglab.load(file, overrides={"links.oversight.cap": 0})
    assert plain.topology.hash != flat.topology.hash
    assert flat.topology.authority[0].cap == 0


def test_a_run_is_kept_with_records_and_scores(file: Path) -> None:
    """``run`` by a path: the default folder, whole records, scores by run."""
    study = orglab.run(file, inputs={"topic": "tea"}, replicates=2, seed=3)
    assert study.folder.parent == Path("runs")
    assert study.tally.completed == 2
    records = list(study.records())
    assert [record.replicate for record in records] == [0, 1]
    assert all(record.status == "completed" and record.answer for record in records)
    assert {record.inputs["topic"] for record in records} == {"tea"}
    scores = list(study.scores())
    assert {run for run, _ in scores} == {record.id for record in records}
    assert {"first_try_approval", "words", "cost_usd"} <= {score.name for _, score in scores}


def test_units_come_as_a_file_or_as_objects(file: Path, tmp_path: Path) -> None:
    """Both give the same runs."""
    (tmp_path / "units.csv").write_text("id,topic\na,tea\n", encoding="utf-8")
    first = orglab.run(file, units=tmp_path / "units.csv", out="here")
    unit = Unit(id="a", inputs={"topic": "tea"}, extra={"id": "a"})
    second = orglab.run(file, units=[unit], out="here")
    assert (first.tally.completed, second.tally.kept) == (1, 1)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [({}, "topic: missing"), ({"topic": 3}, "topic"), ({"t": ""}, "t: no such")],
)
def test_inputs_that_do_not_fit_are_refused(
    file: Path, inputs: dict[str, object], words: str
) -> None:
    """``UnitError`` names the input; nothing is written."""
    with pytest.raises(UnitError, match=words):
        orglab.run(file, inputs=inputs)
    assert not Path("runs").exists()


def test_a_unit_given_twice_is_refused(file: Path) -> None:
    """Two units of one id would be two runs of one name."""
    unit = Unit(id="a", inputs={"topic": "tea"})
    with pytest.raises(UnitError, match="'a' is given more than once"):
        orglab.run(file, units=[unit, unit])


def test_providers_are_replaced_by_alias(file: Path) -> None:
    """A function of one's own answers in place of a model."""

    def answer(request: Request) -> object:
        review = request.labels.purpose == "review"
        return {"action": "approve", "reason": "fine"} if review else "My own words."

    provider = ScriptedProvider(answer)  # type: ignore[arg-type]
    study = orglab.run(file, inputs={"topic": "tea"}, providers={"worker": provider})
    (record,) = study.records()
    assert record.answer is not None
    assert record.answer.text == "My own words."


async def test_run_async_tells_progress_and_stops(file: Path) -> None:
    """Within a loop: progress after each run, and a clean stop."""
    stop, seen = asyncio.Event(), []

    def progress(tally: object) -> None:
        seen.append(tally)
        stop.set()

    study = await orglab.run_async(
        file,
        inputs={"topic": "tea"},
        replicates=5,
        at_once=1,
        progress=progress,
        stop=stop,
    )
    assert len(seen) == 1
    assert study.tally.interrupted
    assert (study.tally.completed, study.tally.planned) == (1, 5)


def test_only_the_documented_names_are_exported() -> None:
    """What ``import orglab`` offers; anything else is an ``AttributeError``."""
    assert orglab.__all__ == ["Study", "check", "load", "run", "run_async", "run_experiment"]
    assert all(hasattr(orglab, name) for name in orglab.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        orglab.nothing  # noqa: B018 - looked up for its error
