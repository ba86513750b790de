"""Roles that are teams: what reaches them, what they leave, and whose limits hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from orglab.engine.run.outcome import Unit
from orglab.engine.spec.model import Model, Pool, Topology
from orglab.results.display.transcript import transcript_text
from orglab.results.store.journal.history import run_record
from orglab.results.store.journal.journal import MemoryJournal

Make = Callable[..., Any]

ANSWER = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}


@pytest.fixture
def pair(build: Make) -> Callable[..., Topology]:
    """A team of a writer and an editor who may send its work back."""

    def make(cap: int = 1, **more: Any) -> Topology:
        oversight = {"id": "o", "kind": "authority", "from": "editor", "to": ["writer"], "cap": cap}
        made: Topology = build({"writer": {}, "editor": {}}, [oversight], "writer", **more)
        return made

    return make


def verdicts(*actions: str) -> list[dict[str, str]]:
    """Verdicts of an editor, in order."""
    return [{"action": action, "reason": f"so: {action}"} for action in actions]


async def test_the_answer_of_the_team_is_the_output_of_the_role(
    team: Make, play: Make, pair: Make
) -> None:
    """What it leaves bears the names of both, in an order that no reply can change."""
    links = [{"from": "lead", "to": "end"}]
    run = await play(
        team({"lead": {"team": pair()}, "end": {}}, links, "end"),
        {"writer": ["first", "second"], "editor": verdicts("revise", "approve")},
    )
    assert run.turns() == ["lead", "lead/writer", "lead/writer", "end"]
    outputs = {output.id: (output.text, output.fate) for output in run.outcome.outputs}
    assert outputs == {
        "lead/writer@1": ("first", "sent back"),
        "lead/writer@2": ("second", "delivered"),
        "lead@1": ("second", "delivered"),
        "end@1": ("by end", "delivered"),
    }
    (started,), (ended,) = run.of("team_started"), run.of("team_ended")
    assert started["models"] == {"lead/writer": "m", "lead/editor": "m"}
    assert ended["answer"] == "lead/writer@2"
    assert [verdict.link for verdict in run.outcome.verdicts] == ["lead/o", "lead/o"]
    assert run.outcome.turns == 6
    assert list(run.journal.entries)[:2] == [
        "1.turn.0.team.1.turn.0.0",
        "1.turn.0.team.1.review.0.0",
    ]


async def test_what_reaches_the_role_reaches_who_begins_the_team(
    team: Make, play: Make, pair: Make
) -> None:
    """The inbox; and the task by the names of inputs."""
    links = [{"from": "plan", "to": "lead"}]
    run = await play(team({"plan": {}, "lead": {"team": pair(0)}}, links, "lead"), {})
    (prompt,) = run.prompts("writer")
    assert "topic: tea" in prompt
    assert "### From plan\nby plan" in prompt
    inner = next(body for body in run.of("turn") if body["copy"] == "lead/writer")
    assert inner["inbox"] == [{"output": "plan@1", "link": "plan>lead"}]


async def test_a_team_is_sent_back_with_the_words_of_its_superior(
    team: Make, play: Make, pair: Make
) -> None:
    """The directive and the draft reach its first roles; its caps are its own in each turn."""
    links = [{"id": "top", "kind": "authority", "from": "boss", "to": ["lead"], "cap": 1}]
    run = await play(
        team({"lead": {"team": pair()}, "boss": {}}, links, "lead"),
        {
            "writer": ["one", "two"],
            "editor": verdicts("revise"),
            "boss": [{"action": "revise", "reason": "Shorter."}, *verdicts("approve")],
        },
    )
    assert run.outcome.status == "completed"
    prompts = run.prompts("writer")
    assert "boss directs you to revise your output:\nShorter." in prompts[2]
    assert "Your draft:\ntwo" in prompts[2]
    obliged = [verdict.link for verdict in run.outcome.verdicts if verdict.obliged]
    assert obliged == ["lead/o", "top", "lead/o"]
    assert [o.id for o in run.outcome.outputs if o.role == "lead/writer"] == [
        f"lead/writer@{visit}" for visit in (1, 2, 3, 4)
    ]
    turn = [body for body in run.of("turn") if body["copy"] == "lead/writer"][2]
    assert turn["directive"]["link"] == "top"
    assert turn["directive"]["superior"] == "boss"


async def test_with_fills_the_inputs_of_the_team(team: Make, build: Make, play: Make) -> None:
    """By templates; where the input is no text, what they give is read as JSON."""
    inner = build(
        {"w": {"prompt": "{{ subject }}|{{ points | join('-') }}|{{ many }}|{{ note }}"}},
        [],
        "w",
        inputs={
            "subject": {"type": "string"},
            "points": {"type": "array"},
            "many": {"type": "integer"},
            "note": {"type": "string"},
        },
    )
    schema = {"type": "object", "properties": {"points": {"type": "array"}}}
    fill = {
        "subject": "On {{ topic }}, for {{ vars.whom }}",
        "points": "{{ inbox[0].value.points }}",
        "many": 3,
        "note": "{{ inbox[0].value.points }}",
    }
    roles = {
        "plan": {"output": schema},
        "lead": {"team": inner, "with": fill, "vars": {"whom": "us"}},
    }
    made = team(roles, [{"from": "plan", "to": "lead"}], "lead")
    run = await play(made, {"plan": [{"points": ["a", "b"]}]})
    assert run.prompts("w") == ['On tea, for us|a-b|3|["a", "b"]']


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("{{ topic }}", "`many` is no text, and what `with` gives for it is no JSON"),
        ("1.5", "`many` of the team: .*1.5"),
        ("{{ inbox[3].text }}", "a value for the team could not be rendered"),
    ],
)
async def test_a_value_that_does_not_fit_fails_the_turn(
    team: Make, build: Make, play: Make, given: str, words: str
) -> None:
    """In words, before anything is asked."""
    inner = build({"w": {}}, [], "w", inputs={"many": {"type": "integer"}})
    run = await play(team({"lead": {"team": inner, "with": {"many": given}}}, [], "lead"), {})
    assert run.outcome.status == "failed"
    assert run.requests == []
    with pytest.raises(ValueError, match=words):
        raise ValueError(run.outcome.reason)


async def test_a_team_without_an_answer_fails_its_turn(team: Make, play: Make, pair: Make) -> None:
    """`on_error` of the role decides, and the reason is the team's."""
    roles = {"lead": {"team": pair(), "on_error": "skip"}, "other": {}}
    links = [{"from": name, "to": "end"} for name in roles]
    run = await play(team({**roles, "end": {}}, links, "end"), {"writer": [""]})
    assert run.outcome.status == "completed"
    (failed,) = [body for body in run.of("turn_failed") if body["copy"] == "lead"]
    assert failed["error"]["kind"] == "team"
    assert failed["error"]["message"].startswith("failed: writer: ")


# --- limits -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("turns", "status"), [(1, "failed"), (2, "completed")])
async def test_the_limits_of_the_team_hold_in_each_turn(
    team: Make, play: Make, pair: Make, turns: int, status: str
) -> None:
    """A team that reaches its own limit gives no answer: its turn fails."""
    inner = pair(limits={"turns": turns})
    run = await play(team({"lead": {"team": inner}}, [], "lead"), {"editor": verdicts("approve")})
    assert run.outcome.status == status
    if status == "failed":
        assert run.outcome.reason == "lead: team: stopped: turns"


@pytest.mark.parametrize(("turns", "status"), [(2, "stopped"), (3, "completed")])
async def test_the_turns_of_a_team_count_in_the_run_around_it(
    team: Make, play: Make, pair: Make, turns: int, status: str
) -> None:
    """A limit equal to the need completes; one that is reached within stops the whole run."""
    made = team({"lead": {"team": pair()}}, [], "lead", limits={"turns": turns})
    run = await play(made, {"editor": verdicts("approve")})
    assert run.outcome.status == status
    assert run.outcome.reason == ("turns" if status == "stopped" else "")
    assert run.outcome.turns == turns


async def test_tokens_within_count_in_every_run_around_them(
    team: Make, build: Make, play: Make, pair: Make
) -> None:
    """A limit two levels up is looked at before each call."""
    middle = build({"mid": {"team": pair()}}, [], "mid")
    run = await play(team({"lead": {"team": middle}}, [], "lead", limits={"tokens": 1}), {})
    assert (run.outcome.status, run.outcome.reason) == ("stopped", "tokens")
    assert len(run.requests) == 1
    (inner, outer) = run.of("team_ended")
    assert (inner["copy"], inner["status"]) == ("lead/mid", "stopped")
    assert (outer["copy"], outer["status"]) == ("lead", "stopped")


# --- names, draws, replays ----------------------------------------------------------------------


async def test_copies_of_a_team_ask_calls_of_their_own(team: Make, play: Make, pair: Make) -> None:
    """Equal teams on equal inputs get replies of their own, and a vote can count their answers."""
    made = team({"lead": {"team": pair(0), "replicas": 3}}, [], "lead")
    run = await play(made, {"editor": verdicts("approve")})
    identities = {entry.identity for entry in run.journal.entries.values()}
    assert len(identities) == len(run.requests) == 6
    assert {request.labels.within for request in run.requests} == {
        f"lead#{copy}@1" for copy in (1, 2, 3)
    }
    assert [output.copy for output in run.outcome.outputs][:2] == ["lead#1/writer", "lead#1"]


async def test_models_are_drawn_once_for_all_turns_of_a_team(
    team: Make, build: Make, play: Make
) -> None:
    """Replicas of the role draw apart, turns of one copy together."""
    models = {alias: Model(alias=alias, provider="scripted") for alias in "abcdefgh"}
    pools = {"p": Pool(name="p", members=tuple(models))}
    inner = build({"w": {"model": None, "pool": "p"}}, [], "w", models=models, pools=pools)
    again = [{"from": "lead", "to": "lead", "cap": 1, "on_cap": "accept"}]
    made = team({"lead": {"team": inner, "replicas": 4}}, again, "lead", models=models)
    run = await play(made, {})
    drawn: dict[str, list[str]] = {}
    for body in run.of("team_started"):
        drawn.setdefault(body["copy"], []).extend(body["models"].values())
    assert all(len(set(aliases)) == 1 and len(aliases) == 2 for aliases in drawn.values())
    assert len({aliases[0] for aliases in drawn.values()}) > 1


async def test_coins_within_fall_anew_in_each_turn(team: Make, build: Make, play: Make) -> None:
    """And alike whenever the run is played."""
    coin = {"id": "o", "kind": "authority", "from": "boss", "to": ["w"], "cap": 1}
    toss = {**coin, "trigger": {"kind": "coin", "probability": 0.5}, "directive": "Again."}
    inner = build({"w": {}, "boss": {}}, [toss], "w")
    again = [{"from": "lead", "to": "lead", "cap": 7, "on_cap": "accept"}]
    made = team({"lead": {"team": inner}}, again, "lead")
    first, second = await play(made, {}), await play(made, {})
    heads = [body["heads"] for body in first.of("coin")]
    assert len(set(heads)) == 2
    assert heads == [body["heads"] for body in second.of("coin")]


async def test_uses_of_closing_links_count_on(team: Make, build: Make, play: Make) -> None:
    """Each use within is a loop of the run, though the cap is the team's in each turn."""
    inner = build({"w": {}}, [{"from": "w", "to": "w", "cap": 1, "on_cap": "accept"}], "w")
    again = [{"from": "lead", "to": "lead", "cap": 2, "on_cap": "accept"}]
    run = await play(team({"lead": {"team": inner}}, again, "lead"), {})
    uses = [body["use"] for body in run.of("delivered") if body["link"] == "lead/w>w"]
    assert uses == [1, 2, 3]
    assert run.outcome.loops == 5


async def test_each_copy_of_a_team_has_uses_of_its_own(team: Make, build: Make, play: Make) -> None:
    """Two copies that loop once are two loops, in teams within teams too."""
    loop = build({"w": {}}, [{"from": "w", "to": "w", "cap": 1, "on_cap": "accept"}], "w")
    inner = build({"x": {"team": loop, "replicas": 2}}, [], "x")
    again = [{"from": "lead", "to": "lead", "cap": 1, "on_cap": "accept"}]
    run = await play(team({"lead": {"team": inner, "replicas": 3}}, again, "lead"), {})
    closing = [body for body in run.of("delivered") if body["link"] == "lead/x/w>w"]
    uses = sorted((body["output"].rpartition("/")[0], body["use"]) for body in closing)
    copies = [f"lead#{lead}/x#{x}" for lead in (1, 2, 3) for x in (1, 2)]
    assert uses == [(copy, use) for copy in copies for use in (1, 2)]
    assert run.outcome.loops == 2 * 6 + 1


@pytest.mark.parametrize("kept", range(7))
async def test_a_run_goes_on_from_any_reply_of_a_team(
    team: Make, play: Make, pair: Make, kept: int
) -> None:
    """What is durable is not asked again, within as without."""
    links = [{"from": "lead", "to": "end"}]
    made = team({"lead": {"team": pair(2)}, "end": {}}, links, "end")
    said = {"writer": ["a", "b", "c"], "editor": verdicts("revise", "revise", "approve")}
    whole = await play(made, said)
    entries = list(whole.journal.entries.values())
    assert len(entries) == 7
    again = await play(made, said, journal=MemoryJournal.of(entries[:kept]))
    assert again.outcome.events == whole.outcome.events
    assert len(again.requests) == 7 - kept


async def test_the_record_and_the_transcript_tell_the_team(
    team: Make, play: Make, pair: Make
) -> None:
    """Its turns stand between where it begins and ends; its answer is not told twice."""
    run = await play(
        team({"lead": {"team": pair()}}, [], "lead"),
        {"writer": ["words of the writer"], "editor": verdicts("approve")},
    )
    about: Mapping[str, Any] = {"id": "r", "arm": "a", "unit": "u", "inputs": {}}
    record = run_record(about, run.outcome.events, run.journal.entries.values())
    assert record.outputs == tuple(run.outcome.outputs)
    assert [call.copy for call in record.calls] == ["lead/writer", "lead/editor"]
    text = transcript_text(record)
    assert text.count("words of the writer") == 1
    assert "┌ the team of lead begins (topic: tea)" in text
    assert "lead/editor reviews lead/writer@1 (lead/o)" in text
    assert "└ the team of lead completed: lead@1 is lead/writer@1" in text


async def test_a_team_reads_the_files_of_the_unit(team: Make, build: Make, play: Make) -> None:
    """An input of the same name is the same file, wherever it lies."""
    inputs = {"table": {"type": "string", "format": "file"}}
    inner = build({"w": {"prompt": "{{ table }}"}}, [], "w", inputs=inputs)
    made = team({"lead": {"team": inner}}, [], "lead", inputs=inputs)
    run = await play(made, {}, unit=Unit(id="u", inputs={"table": "data.csv"}))
    assert run.prompts("w") == ["data.csv"]


async def test_equal_calls_within_are_shared_until_arms_diverge(
    team: Make, play: Make, pair: Make
) -> None:
    """The identity of the first calls does not hang on the caps of the team."""
    runs = [
        await play(team({"lead": {"team": pair(cap)}}, [], "lead"), {"editor": verdicts("approve")})
        for cap in (1, 2)
    ]
    first, second = ([entry.identity for entry in run.journal.entries.values()] for run in runs)
    assert first[0] == second[0]
    assert first[1] != second[1]
