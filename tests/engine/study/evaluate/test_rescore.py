"""Scoring stored runs again, or with new evaluators: no role is asked, no verdict asked twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from studies import run_experiment, write_experiment

from orglab.engine.run.outcome import Unit
from orglab.engine.spec.errors import SpecError
from orglab.engine.study.batch.budget import budget_of
from orglab.engine.study.evaluate.rescore import Rescoring, evaluators_of, roles_of
from orglab.providers.base import Completion, Request
from orglab.providers.scripted.provider import ScriptedProvider
from orglab.results.store.reader import Reader
from orglab.results.store.store import Store

TEAM = """\
kind: topology
version: 1
name: team
inputs: {topic: {type: string}, more: {type: string, format: file}}
models: {worker: {provider: scripted, file: replies.jsonl}}
roles:
  writer: {system: You write.}
  editor: {system: You judge.}
links:
  - {id: oversight, from: editor, to: writer, kind: authority, cap: 0}
output: writer
"""
EXPERIMENT = """\
kind: experiment
version: 1
name: right
arms:
  free: team.yaml
  bound: {base: team.yaml, set: {links.oversight.cap: 1}}
treatment: [links.oversight.cap]
units: {file: units.csv}
evaluators: [usage, {contains: written}, {judge_panel: {file: panel.yaml}}]
"""
PANEL = """\
rubric: {criteria: {clarity: {levels: {"1": No., "5": Yes.}}}}
judges: {one: {provider: scripted, file: replies.jsonl}}
"""
SAMPLE = Unit(id="a", inputs={"topic": "tea", "more": "more.txt"})


class Counted:
    """Counts every call that any scripted model is asked."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.clarity = 4

    async def answer(self, request: Request) -> Completion:
        """Answers by purpose."""
        self.requests.append(request)
        await asyncio.sleep(0)
        if request.labels.purpose == "judge":
            return Completion(text=json.dumps({"analysis": "x", "clarity": self.clarity}))
        if request.schema is None:
            return Completion(text=f"{request.labels.unit} written")
        actions = request.schema["properties"]["action"]["enum"]
        return Completion(text=json.dumps({"action": actions[-1], "reason": "because"}))

    @property
    def purposes(self) -> set[str]:
        """Of all calls."""
        return {request.labels.purpose for request in self.requests}


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Stands behind every scripted model."""
    counted = Counted()

    async def complete(request: Request) -> Completion:
        return await counted.answer(request)

    def from_spec(_: str, __: Mapping[str, Any]) -> ScriptedProvider:
        return ScriptedProvider(complete)

    monkeypatch.setattr(ScriptedProvider, "from_spec", from_spec)
    return counted


@pytest.fixture
def study(tmp_path: Path, models: Counted) -> Path:
    """A study of four runs, judged."""
    files = {
        "team.yaml": TEAM,
        "experiment.yaml": EXPERIMENT,
        "panel.yaml": PANEL,
        "units.csv": "id,topic,more\na,tea,more.txt\nb,milk,more.txt\n",
        "more.txt": "more",
    }
    tally = run_experiment(write_experiment(tmp_path, files), tmp_path / "study")
    assert tally.completed == 4
    models.requests.clear()
    return tmp_path / "study"


Again = Callable[..., int]


@pytest.fixture
def again(study: Path, tmp_path: Path) -> Again:
    """Evaluates the study with a document."""

    def evaluate(text: str, *, anew: bool = False, stop: asyncio.Event | None = None) -> int:
        document = tmp_path / "with.yaml"
        document.write_text(text, encoding="utf-8")
        store = Store(study)
        try:
            uses = evaluators_of(document, roles_of(store), SAMPLE)
            return asyncio.run(
                Rescoring(
                    store=store, uses=uses, folder=tmp_path, anew=anew, stop=stop or asyncio.Event()
                ).run()
            )
        finally:
            store.close()

    return evaluate


def scores(folder: Path, name: str) -> list[Any]:
    """The values of a score in every run."""
    with Reader(folder) as reader:
        sql = "SELECT value FROM scores WHERE name=? ORDER BY run, arguments"
        return [row["value"] for row in reader.rows(sql, (name,))]


@pytest.mark.parametrize(
    "text",
    ["- words\n", "evaluators: [words]\n", EXPERIMENT.replace("[usage,", "[words,")],
    ids=["a list", "a map", "an experiment"],
)
def test_new_evaluators_ask_no_role(study: Path, again: Again, models: Counted, text: str) -> None:
    """A list, a map with ``evaluators``, or a spec: every ended run is measured."""
    assert again(text) == 4
    assert scores(study, "words") == [2.0] * 4
    assert models.requests == []


def test_what_was_measured_is_not_measured_twice(
    study: Path, again: Again, models: Counted
) -> None:
    """In whatever form it is written: the experiment's own evaluators are known."""
    text = "[usage, {contains: {text: written, x-why: once}}, {judge_panel: panel.yaml}]"
    for anew in (False, True):
        assert again(text, anew=anew) == 4
    assert models.requests == []
    with Reader(study) as reader:
        found = [each.evaluator for each in reader.evaluations()]
    assert sorted(found) == ["contains"] * 4 + ["judge_panel"] * 4 + ["usage"] * 4


def test_anew_reads_the_verdicts_that_are_kept(study: Path, again: Again, models: Counted) -> None:
    """Measured again from kept replies: nobody is asked, nothing is kept twice."""
    with Reader(study) as reader:
        before = [
            tuple(row) for row in reader.rows("SELECT run, position FROM calls ORDER BY 1, 2")
        ]
    models.clarity = 1
    for _ in range(2):
        assert again("[{judge_panel: {file: panel.yaml}}]", anew=True) == 4
    assert models.requests == []
    assert scores(study, "clarity") == [4.0] * 4
    with Reader(study) as reader:
        after = [tuple(row) for row in reader.rows("SELECT run, position FROM calls ORDER BY 1, 2")]
        assert [row["error"] for row in reader.rows("SELECT error FROM evaluations")] == [None] * 12
    assert after == before


def test_another_rubric_is_judged_anew(
    study: Path, again: Again, models: Counted, tmp_path: Path
) -> None:
    """Other words are other questions: judges alone are asked, and the scores take their place."""
    (tmp_path / "panel.yaml").write_text(PANEL.replace("Yes.", "Ja."), encoding="utf-8")
    models.clarity = 1
    assert again("[{judge_panel: {file: panel.yaml}}]") == 4
    assert scores(study, "clarity") == [4.0] * 4
    assert again("[{judge_panel: {file: panel.yaml}}]", anew=True) == 4
    assert models.purposes == {"judge"}
    assert len(models.requests) == 4
    assert scores(study, "clarity") == [1.0] * 4


def test_a_stop_keeps_what_was_said(
    study: Path, again: Again, models: Counted, tmp_path: Path
) -> None:
    """What is not measured yet is left for the next time, which asks for the rest alone."""
    panel = PANEL.replace("judges:", "repeats: 3\njudges:").replace("clarity", "depth")
    panel = panel.replace("file: replies", "max_concurrency: 2, file: replies")
    (tmp_path / "deep.yaml").write_text(panel, encoding="utf-8")
    stop = asyncio.Event()
    answer = models.answer

    async def stopping(request: Request) -> Completion:
        stop.set()
        said = await answer(request)
        return Completion(text=said.text.replace("clarity", "depth"))

    models.answer = stopping  # type: ignore[method-assign]
    again("[{judge_panel: {file: deep.yaml}}]", stop=stop)
    said = len(models.requests)
    again("[{judge_panel: {file: deep.yaml}}]")
    identities = [request.identity for request in models.requests]
    assert 0 < said < len(identities) == len(set(identities)) == 12
    assert scores(study, "depth") == [4.0] * 4


FAULTS = {
    "nothing": ("{}", "with.yaml:1:1: expected a list of evaluators"),
    "empty": ("[]", "expected a list of evaluators"),
    "no such": ("- usage\n- wrds\n", "with.yaml:2:3"),
    "argument": ("- words: {rol: writer}\n", "with.yaml:1:11 evaluators[0].words.rol: unknown key"),
    "role": ("- words: {role: wirter}\n", "there is no role `wirter`; did you mean `writer`?"),
    "form": ("- {words: {}, usage: {}}\n", "with.yaml:1"),
    "file": ("- judge_panel: {file: none.yaml}\n", "none.yaml: there is no such file"),
    "outside": ("- judge_panel: {file: ../none.yaml}\n", "outside"),
    "panel": ("- judge_panel: {file: team.yaml}\n", "unknown key 'kind'"),
    "value": ("- mtld: {threshold: 9}\n", "threshold"),
    "YAML": ("- ]", "with.yaml:1"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_document_is_reported_before_anything_is_measured(again: Again, name: str) -> None:
    """File, line and words."""
    text, words = FAULTS[name]
    with pytest.raises(SpecError) as told:
        again(text)
    assert words in str(told.value)


def test_all_faults_of_a_document_are_reported(again: Again) -> None:
    """In one go."""
    with pytest.raises(SpecError, match="wrds") as told:
        again("- wrds\n- words: {role: wirter}\n")
    assert "wirter" in str(told.value)


def test_a_document_that_is_not_there(tmp_path: Path) -> None:
    """Is told, not made."""
    with pytest.raises(SpecError, match="cannot be read"):
        evaluators_of(tmp_path / "none.yaml", [], SAMPLE)


def test_runs_that_have_not_ended_are_left(study: Path, again: Again) -> None:
    """They are measured when they end."""
    store = Store(study)
    store._connection.execute("UPDATE runs SET status='running' WHERE run=1")
    store.close()
    assert again("- words\n") == 3


async def test_judges_stay_within_a_budget(study: Path, tmp_path: Path, models: Counted) -> None:
    """Judges that are asked later are paid too: what the study spent before counts."""
    entry = "{provider: scripted, file: replies.jsonl, price: {input: 1.0, output: 10.0}, params: {max_output_tokens: 50}}"
    panel = PANEL.replace("{provider: scripted, file: replies.jsonl}", entry)
    (tmp_path / "panel.yaml").write_text(panel, encoding="utf-8")
    (tmp_path / "with.yaml").write_text("[{judge_panel: {file: panel.yaml}}]", encoding="utf-8")
    asked: list[int] = []
    for limit in (0.0, 1.0):
        store = Store(study)
        try:
            uses = evaluators_of(tmp_path / "with.yaml", roles_of(store), SAMPLE)
            budget = budget_of(limit, store)
            done = await Rescoring(
                store=store, uses=uses, folder=tmp_path, anew=True, budget=budget
            ).run()
        finally:
            store.close()
        assert budget is not None
        assert budget.spent + budget.unknown <= limit
        assert budget.reached == (done < 4)
        asked.append(len(models.requests))
    assert asked == [0, 4]
