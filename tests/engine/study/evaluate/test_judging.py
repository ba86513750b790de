"""Judges in a study: durable, resumed, priced apart, blind, and asked once for each question."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from studies import query, run_experiment, write_experiment

from orglab.engine.study.batch.batch import BatchTally
from orglab.engine.study.experiment.experiment import Experiment
from orglab.providers.base import Completion, Request, TokenUsage, Unavailable
from orglab.providers.scripted.provider import ScriptedProvider
from orglab.results.store.reader import Reader

PRICE = "price: {input: 1000000, output: 1000000}"
TEAM = f"""\
kind: topology
version: 1
name: team
inputs: {{topic: {{type: string}}}}
models: {{worker: {{provider: scripted, model: w, file: replies.jsonl, {PRICE}}}}}
roles:
  ghostwriter: {{system: You write.}}
  editor: {{system: You judge.}}
links:
  - {{id: oversight, from: editor, to: ghostwriter, kind: authority, cap: 0}}
output: ghostwriter
"""
EXPERIMENT = """\
kind: experiment
version: 1
name: right
arms:
  unbound: team.yaml
  shackled: {base: team.yaml, set: {links.oversight.cap: 1}}
treatment: [links.oversight.cap]
units: {file: units.csv}
pairing: {share_prefix: SHARE}
evaluators: [usage, {judge_panel: panel.yaml}]
"""
PANEL = f"""\
rubric:
  criteria:
    clarity: {{levels: {{"1": No., "5": Yes.}}}}
judges:
  mild: {{provider: scripted, model: m, file: replies.jsonl, {PRICE}}}
  harsh: {{provider: scripted, model: m, file: replies.jsonl, {PRICE}}}
repeats: 2
"""


class Models:
    """Workers and judges that count what they are asked; a test may answer for judges."""

    def __init__(self, judge: Callable[[Request], Any] | None = None) -> None:
        self.judge = judge or (lambda _: None)
        self.requests: list[Request] = []

    async def __call__(self, request: Request) -> Any:
        """Answers."""
        self.requests.append(request)
        if request.labels.purpose != "judge":
            return self._work(request)
        said = self.judge(request)
        if isinstance(said, Exception):
            raise said
        if isinstance(said, Completion):
            return said
        return self._said(
            said or {"analysis": "so so", "clarity": 1 + int(request.identity[0], 16) % 5}
        )

    def _work(self, request: Request) -> Completion:
        if request.schema is None:
            return self._said(f"report {request.identity[:6]}")
        actions = request.schema["properties"]["action"]["enum"]
        return self._said({"action": actions[-1], "reason": "because"})

    def _said(self, value: Any) -> Completion:
        text = value if isinstance(value, str) else json.dumps(value)
        return Completion(text=text, usage=TokenUsage(input=2, output=1))

    @property
    def judged(self) -> list[Request]:
        """What judges were asked."""
        return [each for each in self.requests if each.labels.purpose == "judge"]


def run(experiment: Experiment, folder: Path, models: Models, **more: Any) -> BatchTally:
    """Run an experiment on models and judges."""
    return run_experiment(experiment, folder, ScriptedProvider(models), **more)


Load = Callable[..., Experiment]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Loads the experiment with a panel."""

    def loaded(*, share: bool = False, panel: str = PANEL, evaluators: str = "") -> Experiment:
        text = EXPERIMENT.replace("SHARE", str(share).lower())
        if evaluators:
            text = text.replace("[usage, {judge_panel: panel.yaml}]", evaluators)
        units = "id,topic\na,tea\nb,milk\n"
        files = {"team.yaml": TEAM, "panel.yaml": panel, "units.csv": units}
        return write_experiment(tmp_path, {**files, "experiment.yaml": text})

    return loaded


VERDICTS = """SELECT r.arm, r.unit, c.position, c.role, c.visit, c.reply FROM calls c
              JOIN runs r USING (run) WHERE purpose='judge' ORDER BY 1, 2, 3"""
SCORES = """SELECT r.arm, r.unit, s.name, s.value FROM scores s JOIN runs r USING (run)
            WHERE s.evaluator='judge_panel' ORDER BY 1, 2, 3"""


def test_each_judge_and_repeat_is_a_durable_call(load: Load, tmp_path: Path) -> None:
    """Equal judges and repeats are asked each by itself, and may differ."""
    models = Models()
    run(load(), tmp_path / "study", models)
    assert len(models.judged) == 4 * 2 * 2
    assert len({request.identity for request in models.judged}) == 16
    rows = query(tmp_path / "study", VERDICTS)
    asked = Counter((arm, unit, role, visit) for arm, unit, _, role, visit, _ in rows)
    assert set(asked.values()) == {1}
    assert {role for _, _, role, _ in asked} == {"judge mild", "judge harsh"}
    names = {name for _, _, name, _ in query(tmp_path / "study", SCORES)}
    assert names == {"clarity", "judge_panel.missing", "judge_panel.same_model"}


def test_judges_see_neither_arm_nor_role(load: Load, tmp_path: Path) -> None:
    """In nothing that is sent to them."""
    models = Models()
    run(load(), tmp_path / "study", models)
    for request in models.judged:
        sent = str([request.messages, request.schema, request.tools, request.params]).lower()
        for word in ("unbound", "shackled", "ghostwriter", "editor", "hierarch", "arm"):
            assert word not in sent


def test_the_analysis_is_asked_for_first(load: Load, tmp_path: Path) -> None:
    """In the schema as it is sent, and as it is kept."""
    models = Models()
    run(load(), tmp_path / "study", models)
    schema = models.judged[0].schema
    assert schema is not None
    assert list(schema["properties"]) == ["analysis", "clarity"]
    with Reader(tmp_path / "study") as reader:
        call = next(
            call
            for row in reader.runs()
            for call in reader.record(row.id).calls
            if call.purpose == "judge"
        )
    assert list(call.request["schema"]["properties"]) == ["analysis", "clarity"]


def test_judging_costs_apart(load: Load, tmp_path: Path) -> None:
    """Neither ``usage`` nor the run's own totals hold it; the calls do."""
    run(load(), tmp_path / "study", Models())
    costs = query(
        tmp_path / "study",
        "SELECT r.arm, r.cost_usd, s.value FROM runs r JOIN scores s USING (run) WHERE s.name='cost_usd'",
    )
    assert {(arm, run_cost, usage) for arm, run_cost, usage in costs} == {
        ("unbound", 6.0, 6.0),
        ("shackled", 12.0, 12.0),
    }
    (judging,) = query(tmp_path / "study", "SELECT SUM(cost_usd) FROM calls WHERE purpose='judge'")
    assert judging == (16 * 3.0,)


@pytest.mark.parametrize(
    "reply",
    [
        "I cannot grade this.",
        '{"analysis": "x", "clarity": 6}',
        '{"analysis": "x", "clarity": 4.5}',
        '{"analysis": "x", "clarity": null}',
        '{"analysis": "x", "clarity": "4/5"}',
        '{"analysis": "", "clarity": 4}',
        '{"clarity": 4}',
        '{"analysis": "x", "clarity": 4, "clarity": 2}',
        '{"analysis": "x", "clarity": 4} or {"analysis": "x", "clarity": 2}',
        "",
    ],
)
def test_an_unreadable_verdict_is_missing(load: Load, tmp_path: Path, reply: str) -> None:
    """Never the lowest level; it is asked for again twice, and the other judge counts."""

    def judge(request: Request) -> Any:
        harsh = request.labels.role == "judge harsh"
        return Completion(text=reply) if harsh else {"analysis": "fine", "clarity": 4}

    models = Models(judge)
    run(load(), tmp_path / "study", models)
    scores = {name: value for _, _, name, value in query(tmp_path / "study", SCORES)}
    assert scores["clarity"] == 4
    assert scores["judge_panel.missing"] == 2
    harsh = [request for request in models.judged if request.labels.role == "judge harsh"]
    assert len(harsh) == 4 * 2 * 3


def test_a_judge_s_model_that_served_a_role_is_flagged(load: Load, tmp_path: Path) -> None:
    """And its scores count."""
    run(load(panel=PANEL.replace("model: m,", "model: w,")), tmp_path / "study", Models())
    flags = {value for _, _, name, value in query(tmp_path / "study", SCORES) if "same" in name}
    assert flags == {1.0}
    run(load(), tmp_path / "other", Models())
    flags = {value for _, _, name, value in query(tmp_path / "other", SCORES) if "same" in name}
    assert flags == {0.0}


def test_stopped_while_judging_it_goes_on(load: Load, tmp_path: Path) -> None:
    """No durable verdict is asked for again, and the scores are those of a study without a stop."""
    run(load(), tmp_path / "calm", Models())
    asked: Counter[str] = Counter()
    stops = 0
    for often in range(40):
        stop = asyncio.Event()

        def judge(request: Request, stop: asyncio.Event = stop, often: int = often) -> None:
            asked[request.identity] += 1
            if len(asked) > often:
                stop.set()

        stops += run(load(), tmp_path / "stopped", Models(judge), stop=stop, at_once=2).interrupted
        if stops <= often:
            break
    assert stops > 3
    assert set(asked.values()) == {1}
    for sql in (VERDICTS, SCORES):
        assert query(tmp_path / "stopped", sql) == query(tmp_path / "calm", sql)


def test_a_judge_that_could_not_be_asked_is_asked_again(load: Load, tmp_path: Path) -> None:
    """A failure is no verdict: with ``retry_failed`` it is made again, and nothing else is."""

    def down(request: Request) -> Any:
        mild = request.labels.role == "judge mild"
        return Unavailable("down") if mild and request.labels.unit == "a" else None

    run(load(), tmp_path / "study", Models(down))
    failed = "SELECT COUNT(*) FROM calls WHERE purpose='judge' AND error IS NOT NULL"
    (before,) = query(tmp_path / "study", failed)
    assert before == (4,)
    kept = Models()
    run(load(), tmp_path / "study", kept)
    assert kept.requests == []
    again = Models()
    run(load(), tmp_path / "study", again, retry_failed=True)
    assert [request.labels.role for request in again.requests] == ["judge mild"] * 4
    assert query(tmp_path / "study", f"{failed} AND superseded=0") == [(0,)]
    assert query(tmp_path / "study", f"{failed} AND superseded>0") == [before]
    missing = {v for _, _, name, v in query(tmp_path / "study", SCORES) if "missing" in name}
    assert missing == {0.0}


def test_two_panels_that_ask_the_same_are_answered_once(load: Load, tmp_path: Path) -> None:
    """The same judge, the same words: one call; another model is another question."""
    evaluators = "[{judge_panel: panel.yaml}, {judge_panel: {file: panel.yaml, role: ghostwriter}}]"
    models = Models()
    run(load(evaluators=evaluators), tmp_path / "study", models)
    assert len(models.judged) == 16
    scores = query(tmp_path / "study", SCORES)
    assert len(scores) == 4 * 2 * 3
    errors = "SELECT error FROM evaluations WHERE error IS NOT NULL"
    assert query(tmp_path / "study", errors) == []
    other = tmp_path / "other.yaml"
    other.write_text(PANEL.replace("model: m,", "model: m2,"), encoding="utf-8")
    models = Models()
    evaluators = "[{judge_panel: panel.yaml}, {judge_panel: other.yaml}]"
    run(load(evaluators=evaluators), tmp_path / "two", models)
    assert len(models.judged) == 32
    assert query(tmp_path / "two", errors) == []


def test_judges_share_where_arms_do(load: Load, tmp_path: Path) -> None:
    """With ``share_prefix`` who reads the same words in two arms is asked once."""

    class Same(Models):
        def _work(self, request: Request) -> Completion:
            if request.schema is None:
                return self._said("the same report")
            return super()._work(request)

    models = Same()
    run(load(share=True), tmp_path / "study", models)
    assert len(models.judged) == 2 * 2 * 2
    rows = query(tmp_path / "study", "SELECT attempts FROM calls WHERE purpose='judge'")
    assert Counter(attempts for (attempts,) in rows) == {0: 8, 1: 8}
    apart = Same()
    run(load(), tmp_path / "apart", apart)
    assert len(apart.judged) == 16


def test_a_judge_reaches_no_file_outside_the_panel_s_folder(load: Load, tmp_path: Path) -> None:
    """Also where the document was changed after it was checked."""
    experiment = load()
    outside = PANEL.replace("file: replies.jsonl", "file: ../replies.jsonl")
    (tmp_path / "panel.yaml").write_text(outside, encoding="utf-8")
    models = Models()
    run(experiment, tmp_path / "study", models)
    assert models.judged == []
    reasons = query(
        tmp_path / "study", "SELECT detail FROM scores WHERE name='judge_panel.missing'"
    )
    assert all("outside" in detail for (detail,) in reasons)


def test_a_failed_run_that_was_judged_is_tried_again(load: Load, tmp_path: Path) -> None:
    """Its verdicts do not stand in the way."""
    evaluators = "[{judge_panel: {file: panel.yaml, role: ghostwriter}}]"
    failing = True

    class Failing(Models):
        def _work(self, request: Request) -> Completion:
            if failing and request.schema is not None:
                raise Unavailable("down")
            return super()._work(request)

    experiment = load(evaluators=evaluators)
    tally = run(experiment, tmp_path / "study", Failing())
    assert tally.failed == 4
    failing = False
    models = Failing()
    tally = run(experiment, tmp_path / "study", models, retry_failed=True)
    assert (tally.completed, tally.failed) == (4, 0)
