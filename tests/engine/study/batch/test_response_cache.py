"""Calls that studies keep for each other: an arm more is no reason to pay for the others again."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from studies import run_experiment, write_experiment

import orglab
from orglab.engine.run.outcome import Unit
from orglab.engine.study.batch.batch import BatchTally
from orglab.engine.study.evaluate.rescore import Rescoring, evaluators_of, roles_of
from orglab.engine.study.experiment.experiment import Experiment
from orglab.engine.study.plan.cache_miss import explain_cached
from orglab.providers.base import Completion, Provider, Request, TokenUsage, Unavailable
from orglab.results.report.experiment.findings import read_findings
from orglab.results.store.reader import Reader
from orglab.results.store.store import Store

TEAM = """\
kind: topology
version: 1
name: team
inputs: {topic: {type: string}}
models: {one: {provider: scripted, file: replies.jsonl, price: {input: 1000000, output: 1000000}}}
roles:
  writer: {system: You write.}
  editor: {system: You judge.}
links: [{id: oversight, from: editor, to: writer, kind: authority, cap: 0}]
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
seed: 5
pairing: {share_prefix: SHARE}
evaluators: [usage]
"""
THIRD = "  wider: {base: team.yaml, set: {links.oversight.cap: 2}}\n"


class Hosted(Provider):
    """A model that bills: it counts what it is asked, and answers otherwise each time."""

    kept: ClassVar[bool] = True

    def __init__(self, answer: Callable[[Request], Completion | None] | None = None) -> None:
        self.requests: list[Request] = []
        self.answer = answer or (lambda _: None)

    @classmethod
    def from_spec(cls, model: str, options: Mapping[str, Any]) -> Hosted:
        """Never asked for: tests hand it over."""
        raise NotImplementedError

    async def complete(self, request: Request) -> Completion:
        """Counts, and answers."""
        self.requests.append(request)
        said = self.answer(request)
        if said is not None:
            return said
        text = f"{request.labels.copy} {len(self.requests)}"
        if request.schema is not None:
            actions = request.schema["properties"]["action"]["enum"]
            text = json.dumps({"action": actions[-1], "reason": text})
        return Completion(text=text, usage=TokenUsage(input=2, output=1))


class Deterministic(Hosted):
    """A model whose replies are not kept."""

    kept: ClassVar[bool] = False


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Experiment]:
    """Loads the experiment, with two arms or three."""

    def loaded(*, third: bool = False, share: bool = False, issues: str = "") -> Experiment:
        text = EXPERIMENT.replace("SHARE", str(share).lower())
        text = text.replace("treatment:", THIRD + "treatment:") if third else text
        team = TEAM.replace("{system: You write.}", "{system: You write." + issues + "}")
        files = {"team.yaml": team, "units.csv": "id,topic\na,tea\nb,mud\n"}
        return write_experiment(tmp_path, {**files, "experiment.yaml": text})

    return loaded


def run(experiment: Experiment, folder: Path, model: Provider, *, cache: bool = True) -> BatchTally:
    """Runs an experiment on a model, with the calls kept beside the folder."""
    kept = folder.parent / "calls.sqlite" if cache else None
    return run_experiment(experiment, folder, model, kept=kept)


def texts(folder: Path) -> dict[tuple[str, str], str]:
    """The answers of a study by arm and unit."""
    with Reader(folder) as reader:
        records = [reader.record(row.id) for row in reader.runs()]
    return {(each.arm, each.unit): each.calls[0].text for each in records}


@pytest.mark.parametrize("share", [False, True])
def test_a_third_arm_pays_for_itself_alone(
    load: Callable[..., Experiment], tmp_path: Path, share: bool
) -> None:
    """The arms that stood before are taken from the study before, reply by reply."""
    first, second = Hosted(), Hosted()
    run(load(share=share), tmp_path / "runs/first", first)
    tally = run(load(third=True, share=share), tmp_path / "runs/second", second)
    before, after = (texts(tmp_path / f"runs/{name}") for name in ("first", "second"))
    assert {key: after[key] for key in before} == before
    units = Counter(request.labels.unit for request in second.requests)
    # A writer who knows its cap of 2 is reviewed up to twice, and asked once more each time.
    assert set(units) == {"a", "b"}
    with Reader(tmp_path / "runs/second") as reader:
        sql = """SELECT r.arm, c.attempts>0 AS paid, COUNT(*) AS n FROM calls c
                 JOIN runs r USING (run) WHERE c.identity IN (%s) GROUP BY 1, 2"""
        known = {request.identity for request in first.requests}
        sql %= ",".join(f"'{each}'" for each in known)
        assert {(row["arm"], row["paid"]) for row in reader.rows(sql)} >= {
            ("free", 0),
            ("bound", 0),
        }
        assert not [row for row in reader.rows(sql) if row["paid"]]
    assert tally.reused >= len(first.requests)
    assert not {request.identity for request in second.requests} & known


def test_a_reply_of_another_study_is_reported_apart(
    load: Callable[..., Experiment], tmp_path: Path
) -> None:
    """Records, scores, sums and the report say what was paid here, and where the rest comes from."""
    run(load(), tmp_path / "runs/first", Hosted())
    tally = run(load(third=True), tmp_path / "runs/second", Hosted())
    with Reader(tmp_path / "runs/second") as reader:
        row = next(row for row in reader.runs() if row.arm == "free")
        call = reader.record(row.id).calls[0]
        assert not call.paid
        assert call.kept is not None
        assert call.kept["study"] == "first"
        scores = {score.name: score for score in reader.scores(row.id)}
        assert scores["cost_usd"].value == 3.0 * len(_calls(reader, row.id))
        assert scores["cost_usd.paid"].value == 0
        assert scores["calls.unpaid"].detail == {
            "by_origin": {"another study": len(_calls(reader, row.id))}
        }
    costs = read_findings(tmp_path / "runs/second").costs
    free = costs.arms["free"].generation
    assert free.usd == free.cached_usd == free.shared_usd > 0
    assert costs.arms["wider"].generation.cached_calls == 0
    assert not costs.between_arms
    assert tally.reused_usd > 0
    assert tally.cost_usd == costs.arms["wider"].generation.usd


def _calls(reader: Reader, run_id: str) -> list[Any]:
    return list(reader.record(run_id).calls)


def test_without_a_cache_every_call_is_paid(
    load: Callable[..., Experiment], tmp_path: Path
) -> None:
    """Nothing is read, and nothing is kept."""
    run(load(), tmp_path / "runs/first", Hosted(), cache=False)
    assert not (tmp_path / "runs/calls.sqlite").exists()
    run(load(), tmp_path / "runs/second", Hosted())
    model = Hosted()
    assert run(load(), tmp_path / "runs/third", model, cache=False).reused == 0
    assert model.requests


def test_models_that_cost_nothing_are_asked_again(
    load: Callable[..., Experiment], tmp_path: Path
) -> None:
    """A provider that says so leaves no kept calls."""
    run(load(), tmp_path / "runs/first", Deterministic())
    assert not (tmp_path / "runs/calls.sqlite").exists()


def _cut(request: Request) -> Completion:
    return Completion(text=f"{request.identity[:4]}", stop="length", usage=TokenUsage(output=1))


def _refused(request: Request) -> Completion:
    return Completion(text=request.identity[:4], stop="refusal", usage=TokenUsage(output=1))


def _simulated(request: Request) -> Completion:
    return Completion(text=request.identity[:4], simulated=True)


def _planted(request: Request) -> Completion:
    return Completion(text=request.identity[:4], notes=("planted fault: malformed",))


def _silent(_: Request) -> Completion:
    raise Unavailable("the server is out of reach")


@pytest.mark.parametrize("answer", [_cut, _refused, _silent, _simulated, _planted])
def test_what_is_no_answer_is_never_kept(
    tmp_path: Path, answer: Callable[[Request], Completion]
) -> None:
    """Failures, refusals, replies cut by a limit, simulated ones, and planted faults."""
    team = _team(tmp_path)
    orglab.run(team, units=[UNIT], out=tmp_path / "runs/one", providers={"*": Hosted(answer)})
    model = Hosted()
    orglab.run(team, units=[UNIT], out=tmp_path / "runs/two", providers={"*": model})
    assert model.requests


UNIT = Unit(id="u", inputs={"topic": "tea"}, index=0)


def _team(tmp_path: Path) -> Any:
    head, _, _ = TEAM.partition("roles:")
    text = (
        head
        + "roles: {writer: {system: You write., limits: {repair_attempts: 0}}}\noutput: writer\n"
    )
    (tmp_path / "replies.jsonl").write_text('{"role": "x", "reply": "x"}\n', encoding="utf-8")
    (tmp_path / "alone.yaml").write_text(text, encoding="utf-8")
    return orglab.load(tmp_path / "alone.yaml")


def test_the_api_keeps_calls_unless_reported_otherwise(tmp_path: Path) -> None:
    """The same call in two folders is paid once; ``cache=False`` pays again."""
    team, asked = _team(tmp_path), []
    for name, cache in (("one", True), ("two", True), ("three", False)):
        model = Hosted()
        study = orglab.run(
            team, units=[UNIT], out=tmp_path / "runs" / name, providers={"*": model}, cache=cache
        )
        asked.append((len(model.requests), study.tally.reused))
    assert asked == [(1, 0), (0, 1), (1, 0)]


def test_a_study_goes_on_where_the_file_is_broken(tmp_path: Path) -> None:
    """The user is told; every call is made."""
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/calls.sqlite").write_bytes(b"this is no database" * 100)
    model = Hosted()
    study = orglab.run(
        _team(tmp_path), units=[UNIT], out=tmp_path / "runs/one", providers={"*": model}
    )
    assert study.tally.completed == len(model.requests) == 1
    (told,) = study.tally.warnings
    assert "calls.sqlite cannot be used" in told


def test_a_resumed_study_needs_no_kept_calls(tmp_path: Path) -> None:
    """What it took is its own: the file may be deleted, the folder moved."""
    team = _team(tmp_path)
    for name in ("one", "two"):
        orglab.run(team, units=[UNIT], out=tmp_path / "runs" / name, providers={"*": Hosted()})
    (tmp_path / "runs/calls.sqlite").unlink()
    with Store(tmp_path / "runs/two") as store:
        store._connection.execute("UPDATE runs SET status='running'")
    model = Hosted()
    study = orglab.run(team, units=[UNIT], out=tmp_path / "runs/two", providers={"*": model})
    assert (study.tally.completed, model.requests) == (1, [])


def test_planted_faults_neither_take_nor_keep(
    load: Callable[..., Experiment], tmp_path: Path
) -> None:
    """A role whose calls are to fail is not helped by replies of a study without faults."""
    run(load(), tmp_path / "runs/first", Hosted())
    model = Hosted()
    run(load(issues=", faults: {malformed: 0.000001}"), tmp_path / "runs/second", model)
    assert {request.labels.role for request in model.requests} >= {"writer"}


def test_judges_are_kept_too(tmp_path: Path) -> None:
    """A second study that is judged alike pays for no verdict; repeats are calls of their own."""
    team = _team(tmp_path)
    (tmp_path / "replies.jsonl").write_text('{"role": "*", "reply": "x"}\n', encoding="utf-8")
    (tmp_path / "panel.yaml").write_text(PANEL, encoding="utf-8")
    (tmp_path / "judges.yaml").write_text("- judge_panel: panel.yaml\n", encoding="utf-8")
    asked: list[list[str]] = []
    for name in ("one", "two"):
        folder = tmp_path / "runs" / name
        orglab.run(team, units=[UNIT], out=folder, providers={"*": Hosted()})
        with Store(folder) as store:
            uses = evaluators_of(tmp_path / "judges.yaml", roles_of(store), UNIT)
            judge = Hosted(_verdict)
            _evaluate(store, uses, tmp_path, judge)
        asked.append([request.identity for request in judge.requests])
    assert len(set(asked[0])) == len(asked[0]) == 2
    assert asked[1] == []


def _verdict(request: Request) -> Completion:
    assert request.schema is not None
    return Completion(text=json.dumps({"analysis": "Clear.", "clear": 4}))


def _evaluate(store: Store, uses: Any, folder: Path, judge: Provider) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "orglab.engine.run.calls.model_registry.load_plugin", lambda *_: _maker(judge)
        )
        kept = folder / "runs/calls.sqlite"
        asyncio.run(Rescoring(store=store, uses=uses, folder=folder, kept=kept).run())


def _maker(judge: Provider) -> Any:
    class Made(Hosted):
        @classmethod
        def from_spec(cls, model: str, options: Mapping[str, Any]) -> Any:
            return judge

    return Made


PANEL = """\
rubric: {instructions: Judge., criteria: {clear: {levels: {"1": No., "5": Yes.}}}}
judges: {j: {provider: scripted, file: replies.jsonl}}
repeats: 2
"""


def test_explain_call_looks_at_other_studies(tmp_path: Path) -> None:
    """Why a call was paid: the part that differs from the nearest call of another study."""
    team = _team(tmp_path)
    for name, seed in (("one", 0), ("two", 1)):
        orglab.run(
            team, units=[UNIT], seed=seed, out=tmp_path / "runs" / name, providers={"*": Hosted()}
        )
    file = tmp_path / "runs/calls.sqlite"
    with Reader(tmp_path / "runs/two") as reader:
        (row,) = reader.runs()
        found = explain_cached(reader, row.id, "1.turn.0.0", file)
        assert found is not None
        assert found.other.study == "one"
        differing = {part.name: part.change for part in found.parts if not part.same}
        assert differing == {"seed": "0 there, 1 here"}
        connection = sqlite3.connect(file)
        connection.execute("UPDATE calls SET study='../gone' WHERE study='one'")
        connection.commit()
        connection.close()
        gone = explain_cached(reader, row.id, "1.turn.0.0", file)
        assert gone is not None
        assert all(part.same for part in gone.parts)
