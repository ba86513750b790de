"""Roles that vote, and lists handed out item by item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orglab.engine.run.blackboard import BoardEntry
from orglab.engine.run.errors import TurnFailed
from orglab.engine.run.turn_preparation import count_votes

Make = Callable[..., Any]

ANSWER = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
LOOSE = {"type": "object", "properties": {"answer": {"type": "string"}}}
TASKS = {
    "type": "object",
    "properties": {
        "tasks": {"type": "array", "maxItems": 3, "items": {"type": "string"}},
    },
    "required": ["tasks"],
}


def ballots(*values: Any) -> list[BoardEntry]:
    """Outputs whose field ``answer`` has these values."""
    return [
        BoardEntry(kind="output", role="v", copy=f"v#{number}", text="", value={"answer": value})
        for number, value in enumerate(values, 1)
    ]


@pytest.mark.parametrize(
    ("values", "winner", "counts"),
    [
        (("a", "b", "b"), "b", [("a", 1), ("b", 2)]),
        (("b", "a", "a", "b"), "b", [("b", 2), ("a", 2)]),
        ((1, True, 1.0), 1, [(1, 2), (True, 1)]),
        (({"x": [1]}, {"x": [1.0]}), {"x": [1]}, [({"x": [1]}, 2)]),
        ((None, "", None), None, [(None, 2), ("", 1)]),
        (("yes", "Yes"), "yes", [("yes", 1), ("Yes", 1)]),
    ],
)
def test_the_commonest_value_wins_and_the_first_a_tie(
    values: tuple[Any, ...], winner: Any, counts: list[tuple[Any, int]]
) -> None:
    """Values are equal where their JSON is; counts stand in the order of first appearance."""
    told = [{"value": value, "votes": votes} for value, votes in counts]
    assert count_votes("answer", ballots(*values)) == {"answer": winner, "counts": told}


def test_an_input_without_the_field_is_no_abstention() -> None:
    """The turn fails and says whose output lacks it."""
    lacking = BoardEntry(kind="output", role="v", copy="v#2", text="", value={})
    with pytest.raises(TurnFailed, match="the output of v#2 has no field `answer` to vote on"):
        count_votes("answer", [*ballots("a"), lacking])


async def test_a_vote_asks_no_model_and_is_an_output(team: Make, play: Make) -> None:
    """It is a turn with an inbox, costs no call, and its value is the answer."""
    roles = {"voter": {"output": ANSWER, "replicas": 3}, "count": {"vote": "answer"}}
    said = {
        f"voter#{copy}": [{"answer": answer}] for copy, answer in zip("123", "xyy", strict=True)
    }
    made = team(roles, [{"from": "voter", "to": "count"}], "count")
    run = await play(made, said)
    assert run.outcome.answer.value["answer"] == "y"
    assert '"votes": 2' in run.outcome.answer.text
    assert len(run.requests) == made.bounds.calls // 3 == 3
    assert run.outcome.turns == made.bounds.turns == 4
    assert [item["output"] for item in run.of("turn")[-1]["inbox"]] == [
        "voter#1@1",
        "voter#2@1",
        "voter#3@1",
    ]


@pytest.mark.parametrize(("on_error", "status"), [("fail", "failed"), ("skip", "completed")])
async def test_a_vote_that_fails_is_a_failed_turn(
    team: Make, play: Make, on_error: str, status: str
) -> None:
    """In words, and `on_error` decides what becomes of the run."""
    roles = {"a": {"output": LOOSE}, "count": {"vote": "answer", "on_error": on_error}}
    run = await play(team(roles, [{"from": "a", "to": "count"}], ["a", "count"]), {"a": [{}]})
    assert run.outcome.status == status
    (failed,) = run.of("turn_failed")
    assert failed["error"]["message"] == "the output of a has no field `answer` to vote on"


async def test_a_vote_decides_the_way(team: Make, play: Make) -> None:
    """`when` looks at what was voted for."""
    links = [
        {"from": "v", "to": "count"},
        {"from": "count", "to": "yes", "when": "yes"},
        {"from": "count", "to": "no", "when": "otherwise"},
    ]
    schema = {"type": "object", "properties": {"next": {"type": "string"}}, "required": ["next"]}
    roles = {
        "v": {"output": schema, "replicas": 2},
        "count": {"vote": "next"},
        "yes": {},
        "no": {},
    }
    run = await play(team(roles, links, ["yes", "no"]), {"v": [{"next": "yes"}]})
    assert run.turns() == ["v#1", "v#2", "count", "yes"]


async def test_voters_may_be_sent_back(team: Make, play: Make) -> None:
    """What a superior obliges is a voter; the vote begins anew with the new ballot."""
    links = [
        {"from": "v", "to": "count"},
        {"id": "o", "kind": "authority", "from": "boss", "to": ["v"], "cap": 1},
    ]
    roles = {"v": {"output": ANSWER}, "count": {"vote": "answer"}, "boss": {}}
    said = {
        "v": [{"answer": "a"}, {"answer": "b"}],
        "boss": [{"action": "revise", "reason": "no"}, {"action": "approve", "reason": "so"}],
    }
    run = await play(team(roles, links, "count"), said)
    assert run.outcome.answer.value["answer"] == "b"
    assert run.turns() == ["v", "v", "count"]


# --- each ---------------------------------------------------------------------------------------


async def test_item_i_goes_to_copy_i(team: Make, play: Make) -> None:
    """Replicas without an item are skipped; the join waits for those that have one."""
    links = [{"from": "plan", "to": "work", "each": "tasks"}, {"from": "work", "to": "join"}]
    roles = {"plan": {"output": TASKS}, "work": {"replicas": 3}, "join": {}}
    run = await play(team(roles, links, "join"), {"plan": [{"tasks": ["one", "two"]}]})
    assert run.turns() == ["plan", "work#1", "work#2", "join"]
    first, second = run.prompts("work")
    assert "### From plan\none" in first
    assert "two" not in first
    assert "### From plan\ntwo" in second
    inboxes = [body["inbox"] for body in run.of("turn")][1:3]
    assert inboxes == [
        [{"output": "plan@1", "link": "plan>work", "item": number}] for number in (1, 2)
    ]
    assert {
        "link": "plan>work",
        "copy": "plan",
        "to": ["work#3"],
        "why": "each",
    } in run.of("not_taken")
    assert {"copy": "work#3", "why": "inputs"} in run.of("skipped")


async def test_templates_see_the_item(team: Make, play: Make) -> None:
    """An entry's value is the item itself, whatever JSON it is."""
    many = {"type": "array", "maxItems": 2, "items": {"type": "object"}}
    schema = {"type": "object", "properties": {"tasks": many}, "required": ["tasks"]}
    prompt = "{{ inbox[0].item }} of {{ inbox[0].role }}: {{ inbox[0].value.what }}"
    roles = {"plan": {"output": schema}, "work": {"replicas": 2, "prompt": prompt}}
    links = [{"from": "plan", "to": "work", "each": "tasks"}]
    said = {"plan": [{"tasks": [{"what": "read"}, {"what": "write"}]}]}
    run = await play(team(roles, links, "work"), said)
    assert run.prompts("work") == ["1 of plan: read", "2 of plan: write"]


async def test_without_items_nobody_works_and_otherwise_is_taken(team: Make, play: Make) -> None:
    """An empty list is a link not taken."""
    links = [
        {"from": "plan", "to": "work", "each": "tasks"},
        {"from": "plan", "to": "rest", "when": "otherwise"},
    ]
    roles = {"plan": {"output": TASKS}, "work": {"replicas": 3}, "rest": {}}
    run = await play(team(roles, links, ["work", "rest"]), {"plan": [{"tasks": []}]})
    assert run.turns() == ["plan", "rest"]


@pytest.mark.parametrize("join", ["all", "any"])
async def test_a_copy_without_an_item_does_not_work_on_a_brief(
    team: Make, play: Make, join: str
) -> None:
    """Whatever else reaches it."""
    links = [
        {"from": "brief", "to": "plan"},
        {"from": "brief", "to": "work"},
        {"from": "plan", "to": "work", "each": "tasks"},
    ]
    roles = {"brief": {}, "plan": {"output": TASKS}, "work": {"replicas": 3, "join": join}}
    run = await play(team(roles, links, "work"), {"plan": [{"tasks": ["one"]}]})
    assert run.turns() == ["brief", "plan", "work#1"]
    assert len(run.of("turn")[-1]["inbox"]) == 2


async def test_in_a_second_pass_fewer_copies_may_work(team: Make, play: Make) -> None:
    """A copy that had an item and now has none is skipped, and its old output is not read."""
    links = [
        {"from": "plan", "to": "work", "each": "tasks"},
        {"from": "work", "to": "join"},
        {"from": "join", "to": "plan", "cap": 1, "on_cap": "accept"},
    ]
    roles = {"plan": {"output": TASKS}, "work": {"replicas": 3}, "join": {}}
    said = {"plan": [{"tasks": ["a", "b", "c"]}, {"tasks": ["d"]}]}
    run = await play(team(roles, links, "join"), said)
    assert run.turns()[-3:] == ["plan", "work#1", "join"]
    assert [item["output"] for item in run.of("turn")[-1]["inbox"]] == ["work#1@2"]
