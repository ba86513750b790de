"""Batches: what is new is run, what is known stays, order and concurrency change nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from studies import units

import orglab
from orglab.engine.graph.team import Team
from orglab.engine.run.outcome import Unit
from orglab.engine.study.batch.batch import Arm, Batch
from orglab.engine.study.batch.runner import room
from orglab.engine.study.batch.study_folder import fresh_folder, open_study
from orglab.results.store.group_commit import StoreError
from orglab.results.store.reader import Reader

TEAM = """\
kind: topology
version: 1
name: many
inputs: {topic: {type: string}}
models: {worker: {provider: simulated, profile: strict}}
roles:
  left: {replicas: 2}
  right: {}
  writer: {}
  editor: {}
links:
  - {from: left, to: writer, kind: forward}
  - {from: right, to: writer, kind: forward}
  - {id: oversight, from: editor, to: [left, right, writer], kind: authority, cap: 3,
     sees: blackboard}
output: writer
"""


@pytest.mark.parametrize("at_once", [2, 64])
def test_concurrency_changes_no_event(
    team: Callable[[str], Team], tmp_path: Path, events_of: Callable[[Path], Any], at_once: int
) -> None:
    """The same seed gives the same transcripts, one run at a time or many at once."""
    simulated = team(TEAM)
    for folder, number in (("alone", 1), ("many", at_once)):
        study = orglab.run(
            simulated, units=units(8), replicates=2, seed=5, out=tmp_path / folder, at_once=number
        )
        assert study.tally.completed == 16
    assert events_of(tmp_path / "alone") == events_of(tmp_path / "many")


def test_another_seed_gives_other_transcripts(
    team: Callable[[str], Team], tmp_path: Path, events_of: Callable[[Path], Any]
) -> None:
    """Seeds are in a run's id and change what is said."""
    simulated = team(TEAM)
    for seed in (1, 2):
        orglab.run(simulated, units=units(3), seed=seed, out=tmp_path / str(seed))
    one, two = ({row[0] for row in events_of(tmp_path / name)} for name in ("1", "2"))
    assert not one & two
    bodies = [sorted(row[4] for row in events_of(tmp_path / name)) for name in ("1", "2")]
    assert bodies[0] != bodies[1]


def test_more_units_and_replicates_run_only_what_is_new(
    pair: Team, asked: Any, tmp_path: Path
) -> None:
    """What is known is kept; what an earlier plan had more is told apart."""
    calls, folder = asked(), tmp_path / "study"

    def run(number: int, replicates: int) -> orglab.Study:
        return orglab.run(
            pair,
            units=units(number),
            replicates=replicates,
            out=folder,
            providers=calls.providers,
        )

    assert run(2, 1).tally.completed == 2
    more = run(3, 2).tally
    assert (more.kept, more.completed, more.others) == (2, 4, 0)
    fewer = run(1, 1).tally
    assert (fewer.kept, fewer.completed, fewer.others) == (1, 0, 5)
    assert len(calls.copies) == 2 * 6


def test_a_unit_of_other_content_is_another_run(pair: Team, asked: Any, tmp_path: Path) -> None:
    """The same id with other inputs is run anew, and the old run is counted apart."""
    calls, folder = asked(), tmp_path / "study"
    for topic in ("tea", "coffee"):
        study = orglab.run(
            pair,
            units=[Unit(id="u", inputs={"topic": topic})],
            out=folder,
            providers=calls.providers,
        )
    assert (study.tally.completed, study.tally.others) == (1, 1)


def test_a_new_evaluator_measures_old_runs(
    team: Callable[[str], Team], head: str, asked: Any, tmp_path: Path
) -> None:
    """Evaluators are no part of a run's identity: nothing is asked again, all is measured."""
    text = head + "roles: {writer: {}}\nlinks: []\noutput: writer\nevaluators: [usage]\n"
    calls, folder = asked(), tmp_path / "study"
    orglab.run(team(text), inputs={"topic": "tea"}, out=folder, providers=calls.providers)
    more = team(text.replace("[usage]", "[usage, {length: {max: 10}}]"))
    study = orglab.run(more, inputs={"topic": "tea"}, out=folder, providers=calls.providers)
    assert calls.copies == ["writer"]
    assert "words" in {score.name for _, score in study.scores()}


def test_a_run_that_ended_unmeasured_is_measured(
    team: Callable[[str], Team], head: str, asked: Any, tmp_path: Path
) -> None:
    """A process that dies between a run's end and its measuring leaves nothing unmeasured."""
    text = head + "roles: {writer: {}}\nlinks: []\noutput: writer\nevaluators: [usage]\n"
    calls, folder = asked(), tmp_path / "study"
    arguments: dict[str, Any] = {
        "inputs": {"topic": "tea"},
        "out": folder,
        "providers": calls.providers,
    }
    before = len(list(orglab.run(team(text), **arguments).scores()))
    with sqlite3.connect(folder / "study.sqlite") as connection:
        connection.executescript("DELETE FROM scores; DELETE FROM evaluations;")
    connection.close()
    assert len(list(orglab.run(team(text), **arguments).scores())) == before
    assert calls.copies == ["writer"]


def test_a_locked_study_is_refused(pair: Team, tmp_path: Path) -> None:
    """Two processes never write one study."""
    store = open_study(tmp_path / "study", pair)
    with pytest.raises(StoreError, match="is being written by process"):
        open_study(tmp_path / "study", pair)
    store.close()


def test_a_model_that_cannot_be_made_is_reported_in_its_own_words(
    pair: Team, tmp_path: Path
) -> None:
    """The fault of a model's entry comes as it was raised, not wrapped in a group."""
    (pair.topology.folder / "replies.jsonl").write_text("no JSON\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"replies\.jsonl, line 1"):
        orglab.run(pair, inputs={"topic": "tea"}, out=tmp_path / "study")


def test_fresh_folders_are_numbered(tmp_path: Path) -> None:
    """Nothing that was paid for is overwritten."""
    (tmp_path / "study").mkdir()
    (tmp_path / "study-2").mkdir()
    assert fresh_folder(tmp_path / "study") == tmp_path / "study-3"
    assert fresh_folder(tmp_path / "new") == tmp_path / "new"


def test_scores_and_statuses_are_of_every_run(pair: Team, asked: Any, tmp_path: Path) -> None:
    """The list of runs holds each run once, in the order of the plan when one is run at a time."""
    orglab.run(
        pair,
        units=units(4),
        out=tmp_path / "study",
        providers=asked().providers,
        at_once=1,
    )
    with Reader(tmp_path / "study") as reader:
        assert [(row.unit, row.ordinal) for row in reader.runs()] == [
            (f"u{n}", n) for n in range(4)
        ]


@pytest.mark.parametrize(
    ("entry", "runs"),
    [
        ("{provider: scripted, file: replies.jsonl}", 64),
        ("{provider: scripted, file: replies.jsonl, max_concurrency: 2}", 8),
        ("{provider: openai, model: m, base_url: 'http://127.0.0.1:9/v1'}", 512),
        ("{provider: openai, model: m, base_url: 'http://127.0.0.1:9/v1', max_concurrency: 1}", 4),
    ],
)
def test_runs_under_way_at_once(team: Callable[..., Team], entry: str, runs: int) -> None:
    """As many as keep the models busy: hundreds where a server is waited for."""
    made = team(
        "kind: topology\nversion: 1\nname: one\ninputs: {}\n"
        f"models: {{m: {entry}}}\nroles: {{writer: {{prompt: Go on.}}}}\noutput: writer\n"
    )
    assert room(Batch(arms=[Arm.alone(made)], units=[])) == runs
