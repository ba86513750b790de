"""Forward links: joins, skips, conditions, closing links."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import pytest

Make = Callable[..., Any]


def go(step: str) -> dict[str, str]:
    """An output whose next step is ``step``."""
    return {"next": step}


async def test_a_join_of_unequal_branches_runs_once(team: Make, play: Make) -> None:
    """Case 75: d runs once, after b2 and c, its inputs in the order of the links."""
    links = [
        {"from": "a", "to": "b"},
        {"from": "a", "to": "c"},
        {"from": "b", "to": "b2"},
        {"from": "b2", "to": "d"},
        {"from": "c", "to": "d"},
    ]
    run = await play(team(["a", "b", "b2", "c", "d"], links, "d"), {})
    assert run.turns() == ["a", "b", "c", "b2", "d"]
    assert run.outcome.status == "completed"
    assert [item["output"] for item in run.of("turn")[-1]["inbox"]] == ["b2@1", "c@1"]


async def test_a_join_any_fires_once_at_the_first_arrival(team: Make, play: Make) -> None:
    """Case 75: the late arrival is recorded, not read."""
    links = [
        {"from": "a", "to": "b"},
        {"from": "a", "to": "c"},
        {"from": "b", "to": "b2"},
        {"from": "b2", "to": "d"},
        {"from": "c", "to": "d"},
    ]
    roles: dict[str, Any] = {name: {} for name in ("a", "b", "b2", "c")} | {"d": {"join": "any"}}
    run = await play(team(roles, links, "d"), {})
    assert run.turns().count("d") == 1
    assert run.of("late") == [{"link": "b2>d", "output": "b2@1", "copy": "d"}]


async def test_a_link_not_taken_sends_a_skip(
    team: Make, play: Make, next_schema: Mapping[str, Any]
) -> None:
    """Case 75: c was not chosen, so d runs after b alone."""
    links = [
        {"from": "a", "to": "b", "when": "b"},
        {"from": "a", "to": "c", "when": "c"},
        {"from": "b", "to": "d"},
        {"from": "c", "to": "d"},
    ]
    roles = {"a": {"output": next_schema}, "b": {}, "c": {}, "d": {}}
    run = await play(team(roles, links, "d"), {"a": [go("b")]})
    assert run.turns() == ["a", "b", "d"]
    assert {"copy": "c", "why": "inputs"} in run.of("skipped")


async def test_in_a_second_pass_a_join_waits_for_both_again(
    team: Make, play: Make, next_schema: Mapping[str, Any]
) -> None:
    """Case 75: a diamond inside a loop."""
    links = [
        {"from": "s", "to": "l"},
        {"from": "s", "to": "r"},
        {"from": "l", "to": "j"},
        {"from": "r", "to": "j"},
        {"from": "j", "to": "s", "cap": 1, "when": "again"},
    ]
    roles = {"s": {}, "l": {}, "r": {}, "j": {"output": next_schema}}
    run = await play(team(roles, links, "j"), {"j": [go("again"), go("done")]})
    assert run.turns() == ["s", "l", "r", "j"] * 2
    inbox = [item["output"] for item in run.of("turn")[-1]["inbox"]]
    assert inbox == ["l@2", "r@2"]


@pytest.mark.parametrize("reverse", [False, True])
async def test_the_first_node_of_a_cycle_does_not_wait_for_it(
    team: Make, play: Make, next_schema: Mapping[str, Any], reverse: bool
) -> None:
    """Case 74, entry-outside: the order of the links in the file changes nothing."""
    links = [
        {"from": "gen", "to": "rev"},
        {"from": "rev", "to": "fix", "when": "no"},
        {"from": "fix", "to": "rev", "cap": 3},
    ]
    if reverse:
        links.reverse()
    roles = {"gen": {}, "rev": {"output": next_schema}, "fix": {}}
    run = await play(team(roles, links, "rev"), {"rev": [go("no"), go("no"), go("yes")]})
    assert run.turns() == ["gen", "rev", "fix", "rev", "fix", "rev"]
    assert run.outcome.status == "completed"


async def test_two_cycles_meet_in_one_hub(
    team: Make, play: Make, next_schema: Mapping[str, Any]
) -> None:
    """Case 74, two-cycles."""
    links = [
        {"from": "hub", "to": "x", "when": "x"},
        {"from": "x", "to": "hub", "cap": 2},
        {"from": "hub", "to": "y", "when": "y"},
        {"from": "y", "to": "hub", "cap": 2},
    ]
    roles = {"hub": {"output": next_schema}, "x": {}, "y": {}}
    said = [go(step) for step in ("x", "y", "x", "end")]
    run = await play(team(roles, links, "hub"), {"hub": said})
    assert run.turns() == ["hub", "x", "hub", "y", "hub", "x", "hub"]


async def test_one_cycle(team: Make, play: Make, next_schema: Mapping[str, Any]) -> None:
    """Case 74, one-cycle."""
    links = [{"from": "a", "to": "b"}, {"from": "b", "to": "a", "cap": 1, "when": "again"}]
    roles = {"a": {}, "b": {"output": next_schema}}
    run = await play(team(roles, links, "b"), {"b": [go("again"), go("done")]})
    assert run.turns() == ["a", "b", "a", "b"]


@pytest.mark.parametrize("cap", [0, 1, 3])
@pytest.mark.parametrize("on_cap", ["stop", "accept"])
async def test_a_cap_of_n_means_n(
    team: Make, play: Make, next_schema: Mapping[str, Any], cap: int, on_cap: str
) -> None:
    """Case 72: the closing link is used N times; used up, it stops the run unless it accepts."""
    links = [
        {"from": "writer", "to": "critic"},
        {"from": "critic", "to": "writer", "cap": cap, "when": "again", "on_cap": on_cap},
    ]
    roles = {"writer": {}, "critic": {"output": next_schema}}
    run = await play(team(roles, links, "critic"), {"critic": [go("again")]})
    assert run.turns() == ["writer", "critic"] * (cap + 1)
    assert run.outcome.status == ("completed" if on_cap == "accept" else "stopped")
    assert [body["use"] for body in run.of("delivered") if "use" in body] == list(range(1, cap + 1))


async def test_a_loop_that_ends_at_its_cap_is_done(
    team: Make, play: Make, next_schema: Mapping[str, Any]
) -> None:
    """Case 72: done on the last allowed pass is done, not stopped."""
    links = [
        {"from": "writer", "to": "critic"},
        {"from": "critic", "to": "writer", "cap": 1, "when": "again"},
    ]
    roles = {"writer": {}, "critic": {"output": next_schema}}
    run = await play(team(roles, links, "critic"), {"critic": [go("again"), go("done")]})
    assert run.outcome.status == "completed"
    assert run.outcome.reason == ""


@pytest.mark.parametrize(("limit", "status"), [(4, "stopped"), (5, "completed"), (6, "completed")])
async def test_a_limit_equal_to_the_need_completes(
    team: Make, play: Make, limit: int, status: str
) -> None:
    """Case 72: five turns needed; four stop after exactly four turns, with the limit's name."""
    names = ["a", "b", "c", "d", "e"]
    links = [{"from": x, "to": y} for x, y in pairwise(names)]
    run = await play(team(names, links, "e", limits={"turns": limit}), {})
    assert run.outcome.status == status
    assert len(run.turns()) == min(limit, 5)
    assert run.outcome.reason == ("turns" if status == "stopped" else "")


async def test_parallel_links_are_both_used(
    team: Make, play: Make, next_schema: Mapping[str, Any]
) -> None:
    """Case 77: two forward links between the same two roles; one entry a sender."""
    links = [
        {"id": "plain", "from": "lead", "to": "writer"},
        {"id": "urgent", "from": "lead", "to": "writer", "when": "urgent"},
    ]
    roles = {"lead": {"output": next_schema}, "writer": {}}
    run = await play(team(roles, links, "writer"), {"lead": [go("urgent")]})
    assert [body["link"] for body in run.of("delivered")][:2] == ["plain", "urgent"]
    assert len(run.of("turn")[-1]["inbox"]) == 1


async def test_otherwise_is_taken_when_nothing_else_is(
    team: Make, play: Make, next_schema: Mapping[str, Any]
) -> None:
    """`otherwise` stands for all values that no other link names."""
    links = [
        {"from": "a", "to": "c", "when": "otherwise"},
        {"from": "a", "to": "b", "when": "b"},
    ]
    roles = {"a": {"output": next_schema}, "b": {}, "c": {}}
    other = await play(team(roles, links, ["b", "c"]), {"a": [go("something")]})
    named = await play(team(roles, links, ["b", "c"]), {"a": [go("b")]})
    assert other.turns() == ["a", "c"]
    assert named.turns() == ["a", "b"]


async def test_no_link_taken_fails_the_run(
    team: Make, play: Make, next_schema: Mapping[str, Any]
) -> None:
    """A run without a delivered output of an `output` role is no success."""
    links = [{"from": "a", "to": "b", "when": "b"}]
    roles = {"a": {"output": next_schema}, "b": {}}
    run = await play(team(roles, links, "b"), {"a": [go("nowhere")]})
    assert run.outcome.status == "failed"
    assert run.outcome.answer is None


async def test_replicas_are_read_in_order_by_a_join(team: Make, play: Make) -> None:
    """A join on a role with replicas means all of its copies."""
    links = [{"from": "voter", "to": "count"}]
    run = await play(team({"voter": {"replicas": 3}, "count": {}}, links, "count"), {})
    assert run.turns() == ["voter#1", "voter#2", "voter#3", "count"]
    inbox = [item["output"] for item in run.of("turn")[-1]["inbox"]]
    assert inbox == ["voter#1@1", "voter#2@1", "voter#3@1"]


async def test_output_on_replicas_means_all_of_them(team: Make, play: Make) -> None:
    """The answer of a role with replicas holds every copy's output, in order."""
    run = await play(team({"voter": {"replicas": 2}}, [], "voter"), {})
    assert run.outcome.answer.value == ["by voter#1", "by voter#2"]


async def test_copies_share_a_use_of_a_closing_link(team: Make, play: Make) -> None:
    """One use of a closing link serves all copies that send at one barrier."""
    links = [{"from": "d", "to": "d", "cap": 2}]
    roles = {"d": {"replicas": 3}}
    run = await play(team(roles, [{**links[0], "on_cap": "accept"}], "d"), {})
    assert len(run.turns()) == 9
    assert run.outcome.status == "completed"


async def test_a_role_that_fails_is_skipped_where_it_may_be(team: Make, play: Make) -> None:
    """`on_error: skip` sends skips on; the join runs with what is left."""
    links = [
        {"from": "a", "to": "b"},
        {"from": "a", "to": "c"},
        {"from": "b", "to": "d"},
        {"from": "c", "to": "d"},
    ]
    roles: dict[str, Any] = {"a": {}, "b": {"on_error": "skip"}, "c": {}, "d": {}}
    run = await play(team(roles, links, "d"), {"b": [""]})
    assert run.outcome.status == "completed"
    assert [item["output"] for item in run.of("turn")[-1]["inbox"]] == ["c@1"]
    assert run.of("skipped")[0]["copy"] == "b"


async def test_a_turn_that_fails_lets_the_others_finish(team: Make, play: Make) -> None:
    """The run fails with the first failure in declared order; the others' outputs are kept."""
    links = [{"from": name, "to": "d"} for name in "abc"]
    run = await play(team(["a", "b", "c", "d"], links, "d"), {"a": [""], "b": [""]})
    assert run.outcome.status == "failed"
    assert run.outcome.reason.startswith("a: ")
    assert [output.copy for output in run.outcome.outputs] == ["c"]
