"""Plans: what is done, what is to do, bounds, estimates, judges, shared calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import orglab
from orglab.engine.graph.bounds import calls_by_role
from orglab.engine.graph.team import Team
from orglab.engine.run.outcome import Unit
from orglab.engine.spec.model import Limits, Model, Price
from orglab.engine.study.batch.batch import Arm, Batch
from orglab.engine.study.plan.plan import Plan, PlannedStudy, plan_of
from orglab.engine.study.plan.prices import priced
from orglab.providers.base import Completion, Request, TokenUsage
from orglab.providers.pricing.genai_prices import DatedPrice
from orglab.providers.scripted.provider import ScriptedProvider
from orglab.providers.structured_output.strict_json import dumps

PRICE = "price: {input: 1, output: 10}"
TEAM = """\
kind: topology
version: 1
name: team
inputs: {topic: {type: string}}
models:
  worker: {provider: scripted, file: replies.jsonl, params: {max_output_tokens: 100}, PRICE}
  boss: {provider: simulated, requests_per_minute: 60}
roles:
  writer: {model: worker, limits: {repair_attempts: 0}, prompt: "Write on {{ topic }}."}
  editor: {model: boss, limits: {repair_attempts: 0}, prompt: "{{ inbox }}"}
links:
  - {from: writer, to: editor, kind: forward}
output: editor
"""
JUDGES = """\
judges:
  strict: {provider: simulated, params: {max_output_tokens: 50}}
  mild: {provider: simulated, model: lenient}
repeats: 2
rubric:
  criteria:
    clarity: {levels: {"1": muddled, "5": clear}}
"""

Load = Callable[..., Team]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """The team, with text changed as a test says."""

    def loaded(changes: Mapping[str, str] | None = None, name: str = "team") -> Team:
        (tmp_path / "replies.jsonl").write_text('{"reply": "x"}\n', encoding="utf-8")
        (tmp_path / "panel.yaml").write_text(JUDGES, encoding="utf-8")
        text = TEAM
        for old, new in (changes or {}).items():
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / f"{name}.yaml"
        path.write_text(text.replace("PRICE", PRICE), encoding="utf-8")
        return orglab.load(path)

    return loaded


def units(number: int) -> list[Unit]:
    """So many units."""
    return [Unit(id=f"u{index}", inputs={"topic": "tea"}) for index in range(number)]


async def planned(folder: Path, *teams: Team, number: int = 2, share: bool = False) -> Plan:
    """A plan of ``number`` units under each team, in ``folder``/runs/study."""
    arms = [Arm(name=f"arm{index}", team=team, key="") for index, team in enumerate(teams)]
    batch = Batch(arms=arms, units=units(number), share_prefix=share)
    part = PlannedStudy(name="study", batch=batch, folder=folder / "runs" / "study")
    return await plan_of([part], runs=folder / "runs")


def spoken(usage: TokenUsage) -> dict[str, ScriptedProvider]:
    """A provider for ``orglab.run`` whose every reply has this usage."""

    async def reply(_: Request) -> Completion:
        return Completion(text="words", usage=usage)

    return {"worker": ScriptedProvider(reply)}


async def test_bounds_before_the_first_run(load: Load, tmp_path: Path) -> None:
    """Calls and replies are bounded; prompts are as rendered, with replies at their longest."""
    found = await planned(tmp_path, load())
    (arm,) = found.arms
    assert (arm.runs, arm.done, arm.begun, arm.failed, arm.to_do) == (2, 0, 0, 0, 2)
    assert (arm.upper_bounds.turns, arm.upper_bounds.writing.calls) == (2, 2)
    worker, boss = found.models
    assert (worker.line.name, worker.line.roles, boss.line.name) == ("worker", ("writer",), "boss")
    assert (worker.bound.calls, worker.bound.output) == (2, 200)
    assert arm.upper_bounds.prompts["editor"] >= 100  # the writer's longest reply is in it
    read = 2 * arm.upper_bounds.prompts["writer"]
    assert worker.bound.input == read
    assert worker.bound.usd == pytest.approx((read * 1 + 200 * 10) / 1e6)
    assert (boss.bound.output, boss.bound.usd) == (None, 0.0)
    assert arm.estimate is None
    assert found.estimated_usd is None


async def test_what_is_unknown_is_unknown(load: Load, tmp_path: Path) -> None:
    """Without a longest reply, a model that bills has no largest cost; nor has all of it."""
    team = load({"params: {max_output_tokens: 100}, ": ""})
    found = await planned(tmp_path, team)
    worker, boss = found.models
    assert (worker.bound.output, worker.bound.usd, boss.bound.usd) == (None, None, 0.0)
    assert found.bound.usd is None
    limited = replace(team.topology, limits=Limits(cost_usd=0.25))
    bounded = await planned(tmp_path, replace(team, topology=limited))
    assert bounded.bound.usd == 0.5  # two runs, each within its own limit


async def test_limits_of_a_model_bound_the_time(load: Load, tmp_path: Path) -> None:
    """Two calls at sixty a minute take two seconds; a model without limits has no such time."""
    worker, boss = (await planned(tmp_path, load())).models
    assert worker.seconds is None
    assert boss.seconds == (2.0, "requests_per_minute")


async def test_earlier_runs_of_the_team_are_estimates(load: Load, tmp_path: Path) -> None:
    """In the study and in others; done runs are not to be done, and today's price counts."""
    team = load()
    for name, tokens in (("study", 10), ("other", 30)):
        await orglab.run_async(
            team,
            units=units(1),
            out=tmp_path / "runs" / name,
            providers=spoken(TokenUsage(input=1000, output=tokens)),
        )
    dearer = load({"PRICE": "price: {input: 2, output: 10}"})
    assert dearer.topology.hash == team.topology.hash
    found = await planned(tmp_path, dearer, number=4)
    (arm,) = found.arms
    assert (arm.done, arm.to_do) == (1, 3)
    assert arm.estimate is not None
    assert arm.estimate.runs == 2
    assert arm.estimate.calls == (2, 2.0, 0.0, 2, 2)
    assert arm.estimate.usd is not None
    assert arm.estimate.usd.mean == pytest.approx((1000 * 2 + 20 * 10) / 1e6)
    worker, _ = found.models
    assert worker.estimate is not None
    assert (worker.estimate.calls, worker.estimate.input, worker.estimate.output) == (3, 3000, 60)
    assert found.estimated_usd is not None
    assert found.estimated_usd[0] == pytest.approx(3 * 2200e-6)
    assert found.studies[0].spent is not None
    assert found.studies[0].spent.paid_usd == pytest.approx(1100e-6)


async def test_runs_of_other_teams_tell_nothing(load: Load, tmp_path: Path) -> None:
    """Estimates rest on runs of the same spec alone."""
    other = load({"Write on": "Sing of"}, name="other")
    await orglab.run_async(
        other, units=units(1), out=tmp_path / "runs/study", providers=spoken(TokenUsage(input=9))
    )
    (arm,) = (await planned(tmp_path, load())).arms
    assert arm.estimate is None


async def test_judges_stand_apart(load: Load, tmp_path: Path) -> None:
    """Their questions are imagined: one a judge and repeat, each repaired twice at most."""
    team = load(
        {"output: editor\n": "output: editor\nevaluators: [judge_panel: {file: panel.yaml}]\n"}
    )
    found = await planned(tmp_path, team, number=1)
    (arm,) = found.arms
    assert arm.upper_bounds.judging.calls == 2 * 2 * 3
    judges = {model.line.name: model for model in found.models if model.line.judging}
    assert {name: model.bound.calls for name, model in judges.items()} == {
        "judge strict": 6,
        "judge mild": 6,
    }
    assert judges["judge strict"].bound.output == 300
    assert judges["judge mild"].bound.output is None
    assert judges["judge mild"].bound.input is None  # a request to repair quotes its reply
    assert (judges["judge strict"].bound.input or 0) > 0
    await orglab.run_async(
        team, units=units(1), out=tmp_path / "runs/study", providers=spoken(TokenUsage(input=1))
    )
    (arm,) = (await planned(tmp_path, team, number=2)).arms
    assert arm.estimate is not None
    assert arm.estimate.judging_calls is not None
    assert arm.estimate.judging_calls.mean == 4
    assert arm.estimate.calls is not None
    assert arm.estimate.calls.mean == 2
    unjudged = (await planned(tmp_path, load(), number=2)).arms[0]
    assert unjudged.estimate is not None
    assert unjudged.estimate.judging_calls is None  # those runs were judged otherwise


async def test_shared_calls_are_reported_net_and_in_full(load: Load, tmp_path: Path) -> None:
    """Arms that begin alike make the same calls once."""
    left = load()
    right = load({'prompt: "{{ inbox }}"': 'prompt: "Edit {{ inbox }}"'}, name="right")
    found = await planned(tmp_path, left, right, share=True)
    assert found.studies[0].shares == (4, 3)
    assert (await planned(tmp_path, left, right)).studies[0].shares is None
    assert [arm.bound.calls for arm in found.arms] == [4, 4]


async def test_several_studies_make_one_plan(load: Load, tmp_path: Path) -> None:
    """Models of the same entry are one line; the plan is plain data."""
    team = load()
    parts = [
        PlannedStudy(
            name=name,
            batch=Batch(arms=[Arm.alone(team)], units=units(number)),
            folder=tmp_path / "runs" / name,
        )
        for name, number in (("one", 1), ("two", 2))
    ]
    found = await plan_of(parts, runs=tmp_path / "runs")
    assert [arm.to_do for arm in found.arms] == [1, 2]
    assert [model.bound.calls for model in found.models] == [3, 3]
    body = found.as_json()
    assert body["to_do"]["runs"] == 3
    assert dumps(body)


async def test_roles_of_teams_within_are_reported(load: Load, tmp_path: Path) -> None:
    """By their paths, each with the bounds of its own."""
    within = "crew: {team: {roles: {a: {model: boss, prompt: Hi}}, output: a}}"
    text = {
        "requests_per_minute: 60": "requests_per_minute: 60, params: {max_output_tokens: 9}",
        "output: editor": "output: crew",
        "links:": f"  {within}\nlinks:\n  - {{from: editor, to: crew, kind: forward}}",
    }
    _, boss = (await planned(tmp_path, load(text))).models
    assert boss.line.roles == ("editor", "crew/a")
    assert boss.bound.calls == 2 * (1 + 3)
    assert (boss.bound.input or 0) > 0


async def test_a_run_that_cannot_be_dry_run_is_unknown(load: Load, tmp_path: Path) -> None:
    """The reason is told, and no figure stands for what was not seen."""
    team = load({'prompt: "{{ inbox }}"': 'prompt: "{{ (topic | list)[7:][0] + inbox }}"'})
    (arm,) = (await planned(tmp_path, team)).arms
    assert arm.upper_bounds.issue
    assert arm.upper_bounds.writing.input is None


def test_calls_by_role_bound_each_role(load: Load) -> None:
    """The turns limit of a run holds for each of them."""
    team = load(
        {'limits: {repair_attempts: 0}, prompt: "W': 'limits: {repair_attempts: 4}, prompt: "W'}
    )
    assert calls_by_role(team.topology) == {"writer": 5, "editor": 1}
    tight = replace(team.topology, limits=Limits(turns=0))
    assert calls_by_role(tight) == {"writer": 0, "editor": 0}


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Model(alias="m", provider="simulated"), "free"),
        (Model(alias="m", provider="no such"), "free"),
        (
            Model(alias="m", provider="simulated", price=Price(input=1.5, output=3.0)),
            "$1.5 in, $3 out (written)",
        ),
        (
            Model(alias="m", provider="simulated", price=Price(output=3.0)),
            "$3 out, in unknown (written)",
        ),
    ],
)
def test_prices_in_words(model: Model, words: str) -> None:
    """How a price is known is told with it."""
    assert priced(model).summary() == words


def test_published_prices_are_dated(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the package, its data's date, and that long prompts cost more."""
    short, long = DatedPrice(input=1.0, output=2.0), DatedPrice(input=3.0, output=4.0)
    price = DatedPrice(input=3.0, output=4.0, source="list 1.0", steps=((0, short), (1000, long)))
    monkeypatch.setattr("orglab.engine.study.plan.prices.bills", lambda model: True)
    monkeypatch.setattr("orglab.engine.study.plan.prices.price_of", lambda model: price)
    found = priced(Model(alias="m", provider="x"))
    assert (
        found.summary() == "$3 in, $4 out (list 1.0, most expensive of those by length of prompt)"
    )
    usage = TokenUsage(input=3000, output=1000)
    assert found.cost(usage, 900) == pytest.approx(5000e-6)  # four calls, the longest of 900
    assert found.cost(usage) == pytest.approx(13000e-6)
