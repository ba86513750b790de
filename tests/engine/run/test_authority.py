"""Authority links: actions, phases, caps, targets, triggers, stakes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orglab.providers.base import Request

Make = Callable[..., Any]

CHAIN = [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}]
ROLES = ["a", "b", "c", "boss"]


def say(action: str, reason: str = "because", **more: str) -> dict[str, str]:
    """A verdict."""
    return {"action": action, "reason": reason, **more}


def boss(to: Any = "writer", **fields: Any) -> dict[str, Any]:
    """An authority link of the boss."""
    return {"id": "o", "from": "boss", "to": to, "kind": "authority", **fields}


async def test_approve_delivers(team: Make, play: Make) -> None:
    """An approved output goes on after one review."""
    run = await play(team(["writer", "boss"], [boss(cap=2)], "writer"), {"boss": [say("approve")]})
    assert run.turns() == ["writer"]
    assert run.outcome.answer.id == "writer@1"
    assert [verdict.action for verdict in run.outcome.verdicts] == ["approve"]


@pytest.mark.parametrize("cap", [1, 2, 5])
async def test_a_cap_of_n_obliges_n_times(team: Make, play: Make, cap: int) -> None:
    """With the cap used up the superior is asked as before; its objection is a forced accept."""
    run = await play(
        team(["writer", "boss"], [boss(cap=cap)], "writer"), {"boss": [say("revise", "more")]}
    )
    assert run.turns() == ["writer"] * (cap + 1)
    assert [verdict.obliged for verdict in run.outcome.verdicts] == [True] * cap + [False]
    assert run.outcome.verdicts[-1].forced
    assert run.outcome.answer.forced
    assert run.outcome.status == "completed"


async def test_on_cap_fail_fails_the_run(team: Make, play: Make) -> None:
    """`on_cap: fail` does not deliver against an objection."""
    link = boss(cap=1, on_cap="fail")
    run = await play(team(["writer", "boss"], [link], "writer"), {"boss": [say("revise")]})
    assert run.outcome.status == "failed"
    assert "cap" in run.outcome.reason


async def test_cap_0_offers_approve_and_comment_alone(team: Make, play: Make) -> None:
    """`cap: 0` makes the link advisory: the superior reads, and cannot oblige."""
    link = boss(cap=0, review=[["question", "reject"]])
    run = await play(team(["writer", "boss"], [link], "writer"), {"boss": [say("comment", "hm")]})
    asked = next(request for request in run.requests if request.labels.role == "boss")
    assert asked.schema["properties"]["action"]["enum"] == ["approve", "comment"]
    assert run.turns() == ["writer"]
    assert run.outcome.answer is not None


async def test_a_comment_reaches_the_blackboard(team: Make, play: Make) -> None:
    """A comment is posted for all who see the blackboard, and binds nobody."""
    links = [{"from": "writer", "to": "reader"}, boss(cap=0)]
    roles: dict[str, Any] = {"writer": {}, "reader": {"sees": ("blackboard",)}, "boss": {}}
    run = await play(team(roles, links, "reader"), {"boss": [say("comment", "mind the gap")]})
    assert "mind the gap" in run.prompts("reader")[0]


async def test_phases_follow_the_reviews_of_a_subordinate(team: Make, play: Make) -> None:
    """First review: must ask or reject; every later one: approve or reject."""
    link = boss(cap=4, review=[["question", "reject"], ["approve", "reject"]])
    run = await play(
        team(["writer", "boss"], [link], "writer"),
        {"boss": [say("question", "why?"), say("approve")]},
    )
    offered = [
        request.schema["properties"]["action"]["enum"]
        for request in run.requests
        if request.labels.role == "boss"
    ]
    assert offered == [["question", "reject"], ["approve", "reject"]]
    assert "why?" in run.prompts("writer")[1]


async def test_a_reject_withdraws_and_returns_to_the_first_phase(team: Make, play: Make) -> None:
    """The rejected output is out of everyone's sight, its author's too."""
    link = boss(cap=4, review=[["question", "reject"], ["approve", "reject"]])
    run = await play(
        team(["writer", "boss"], [link], "writer"),
        {
            "writer": ["FIRST DRAFT", "SECOND DRAFT"],
            "boss": [say("reject", "wrong", suggestion="try tea"), say("question"), say("approve")],
        },
    )
    second = [request for request in run.requests if request.labels.role == "writer"][1]
    shown = "\n".join(message.content for message in second.messages)
    assert "FIRST DRAFT" not in shown
    assert "wrong" in shown
    assert "try tea" in shown
    assert [verdict.phase for verdict in run.outcome.verdicts] == [0, 0, 1]
    assert [output.fate for output in run.outcome.outputs] == [
        "rejected",
        "sent back",
        "delivered",
    ]


async def test_a_revision_keeps_the_draft(team: Make, play: Make) -> None:
    """The draft stands in the conversation, or with the directive where `own` is not seen."""
    for sees in (("task", "inbox", "own"), ("task",)):
        roles: dict[str, Any] = {"writer": {"sees": sees}, "boss": {}}
        run = await play(
            team(roles, [boss(cap=1)], "writer"),
            {"writer": ["MY DRAFT", "better"], "boss": [say("revise"), say("approve")]},
        )
        second = [request for request in run.requests if request.labels.role == "writer"][1]
        shown = "\n".join(message.content for message in second.messages)
        assert shown.count("MY DRAFT") == 1


async def test_one_link_shares_its_cap_over_subordinates(team: Make, play: Make) -> None:
    """Two subordinates, cap 1: the second objection is a forced accept."""
    run = await play(
        team(["a", "b", "boss"], [{"from": "a", "to": "b"}, boss(["a", "b"], cap=1)], "b"),
        {"boss": [say("revise")]},
    )
    assert run.turns() == ["a", "a", "b"]
    assert [verdict.forced for verdict in run.outcome.verdicts] == [False, True, True]


async def test_a_revise_may_name_a_target_upstream(team: Make, play: Make) -> None:
    """Everything downstream of the target begins anew; the reviewed output is not delivered."""
    link = boss(["a", "b", "c"], cap=1)
    verdicts = [say("approve"), say("approve"), say("revise", target="a"), say("approve")]
    run = await play(team(ROLES, [*CHAIN, link], "c"), {"boss": verdicts})
    assert run.turns() == ["a", "b", "c", "a", "b", "c"]
    assert run.outcome.answer.id == "c@2"
    fates = {output.id: output.fate for output in run.outcome.outputs}
    assert fates["c@1"] == "lapsed"
    assert fates["a@1"] == "sent back"
    assert run.of("anew")[0]["roles"] == ["b", "c"]


async def test_only_upstream_subordinates_with_an_output_can_be_targets(
    team: Make, play: Make
) -> None:
    """The reply's schema lists them; the first review has none to list."""
    run = await play(
        team(ROLES, [*CHAIN, boss(["a", "b", "c"], cap=1)], "c"), {"boss": [say("approve")]}
    )
    targets = [
        request.schema["properties"].get("target", {}).get("enum")
        for request in run.requests
        if request.labels.role == "boss"
    ]
    assert targets == [None, ["a"], ["a", "b"]]


async def test_the_superior_remembers_its_verdicts_not_what_they_judged(
    team: Make, play: Make
) -> None:
    """A later review lists the earlier verdicts of the link."""
    run = await play(
        team(["writer", "boss"], [boss(cap=2)], "writer"),
        {"writer": ["ONE", "TWO"], "boss": [say("revise", "add figures"), say("approve")]},
    )
    second = run.prompts("boss")[1]
    assert "add figures" in second
    assert "ONE" not in second
    assert "TWO" in second


async def test_a_link_that_sees_the_blackboard_shows_all_of_it(team: Make, play: Make) -> None:
    """`sees: latest` shows the output under review alone."""
    replies = {"a": ["ALPHA"], "b": ["BETA"], "boss": [say("approve")]}
    links = [{"from": "a", "to": "b"}]
    for sees, expected in (("latest", False), ("blackboard", True)):
        made = team(["a", "b", "boss"], [*links, boss("b", cap=1, sees=sees)], "b")
        run = await play(made, replies)
        assert ("ALPHA" in run.prompts("boss")[0]) is expected
        assert run.prompts("boss")[0].count("BETA") == 1


async def test_reviews_bounds_how_often_a_subordinate_is_reviewed(team: Make, play: Make) -> None:
    """`reviews: 1`: the revision is delivered unread."""
    run = await play(
        team(["writer", "boss"], [boss(cap=5, reviews=1)], "writer"), {"boss": [say("revise")]}
    )
    assert run.turns() == ["writer", "writer"]
    assert len(run.outcome.verdicts) == 1
    assert run.outcome.answer.id == "writer@2"


async def test_a_failed_check_obliges_with_its_findings(team: Make, play: Make) -> None:
    """With `voice: findings` no model is called."""
    trigger = {
        "kind": "checks",
        "voice": "findings",
        "checks": [("contains", {"text": "tea"})],
    }
    run = await play(
        team(["writer", "boss"], [boss(cap=2, trigger=trigger)], "writer"),
        {"writer": ["coffee", "tea"]},
    )
    assert run.turns() == ["writer", "writer"]
    assert {request.labels.role for request in run.requests} == {"writer"}
    assert [check["passed"] for check in run.of("check")] == [False, True]
    assert run.outcome.answer.value == "tea"


async def test_a_superior_puts_findings_into_words(team: Make, play: Make) -> None:
    """The superior may choose nothing: the action is fixed, the words are its own."""
    trigger = {"kind": "checks", "checks": [("contains", {"text": "tea"})], "action": "reject"}
    run = await play(
        team(["writer", "boss"], [boss(cap=2, trigger=trigger)], "writer"),
        {"writer": ["coffee", "tea"], "boss": [say("reject", "MY WORDS")]},
    )
    asked = next(request for request in run.requests if request.labels.role == "boss")
    assert asked.schema["properties"]["action"]["enum"] == ["reject"]
    assert "MY WORDS" in run.prompts("writer")[1]
    assert run.outcome.outputs[0].fate == "rejected"


async def test_a_check_with_the_cap_used_up_is_settled_by_on_cap(team: Make, play: Make) -> None:
    """The check still runs; its failure is a forced accept."""
    trigger = {"kind": "checks", "voice": "findings", "checks": [("contains", {"text": "tea"})]}
    run = await play(
        team(["writer", "boss"], [boss(cap=1, trigger=trigger)], "writer"), {"writer": ["coffee"]}
    )
    assert run.turns() == ["writer", "writer"]
    assert run.outcome.answer.forced


async def test_a_failed_check_at_cap_0_is_a_comment(team: Make, play: Make) -> None:
    """It binds nobody and is recorded."""
    trigger = {"kind": "checks", "voice": "findings", "checks": [("contains", {"text": "tea"})]}
    run = await play(
        team(["writer", "boss"], [boss(cap=0, trigger=trigger)], "writer"), {"writer": ["coffee"]}
    )
    assert [verdict.action for verdict in run.outcome.verdicts] == ["comment"]
    assert run.outcome.status == "completed"


async def test_a_check_that_crashes_fails_the_turn(team: Make, play: Make) -> None:
    """The run fails and says which check."""
    trigger = {"kind": "checks", "checks": [("pattern", {"pattern": "("})]}
    run = await play(team(["writer", "boss"], [boss(cap=1, trigger=trigger)], "writer"), {})
    assert run.outcome.status == "failed"
    assert "check pattern" in run.outcome.reason


async def test_a_check_may_send_another_role_back(team: Make, play: Make) -> None:
    """A failed check of the critic's output sends the writer back."""
    trigger = {
        "kind": "checks",
        "voice": "findings",
        "checks": [("contains", {"text": "fine", "role": "critic"})],
    }
    links = [
        {"from": "writer", "to": "critic"},
        boss(["writer", "critic"], cap=1, trigger=trigger, target="writer"),
    ]
    run = await play(
        team(["writer", "critic", "boss"], links, "critic"), {"critic": ["bad", "fine"]}
    )
    assert run.turns() == ["writer", "critic", "writer", "critic"]
    assert run.outcome.answer.id == "critic@2"


async def test_a_coin_that_always_fires_needs_no_model(team: Make, play: Make) -> None:
    """A placebo: a fixed directive on heads; used up, it is no longer tossed."""
    trigger = {"kind": "coin", "probability": 1.0}
    link = boss(cap=2, trigger=trigger, directive="Revise.")
    run = await play(team(["writer", "boss"], [link], "writer"), {})
    assert run.turns() == ["writer"] * 3
    assert len(run.of("coin")) == 2
    assert {request.labels.role for request in run.requests} == {"writer"}


async def test_a_coin_offers_no_target(team: Make, play: Make) -> None:
    """Who acts is the link's to say: a target that would not be honoured is not offered."""
    links = [
        {"from": "writer", "to": "critic"},
        boss(["writer", "critic"], cap=2, reviews=1, trigger={"kind": "coin", "probability": 1.0}),
    ]
    run = await play(team(["writer", "critic", "boss"], links, "critic"), {"boss": [say("revise")]})
    asked = [request for request in run.requests if request.labels.role == "boss"]
    assert [request.labels.reviewed.partition("@")[0] for request in asked] == ["writer", "critic"]
    assert all("target" not in request.schema["properties"] for request in asked)
    assert run.turns() == ["writer", "writer", "critic", "critic"]


async def test_a_forced_reject_withdraws_nothing(team: Make, play: Make) -> None:
    """With the cap used up a reject is on record; the output stands, and the phase goes on."""
    link = boss(cap=1, review=[["reject", "comment"], ["approve", "reject"], ["approve"]])
    replies = {"boss": [say("reject"), say("comment"), say("reject"), say("approve")]}
    again = {"from": "writer", "to": "writer", "cap": 2}
    run = await play(team(["writer", "boss"], [again, link], "writer"), replies)
    assert [body["output"] for body in run.of("withdrawn")] == ["writer@1"]
    assert [body["phase"] for body in run.of("verdict")] == [0, 0, 1, 2]
    assert [body["forced"] for body in run.of("verdict")] == [False, False, True, False]
    assert [output.fate for output in run.outcome.outputs] == ["rejected", *["delivered"] * 3]


async def test_a_coin_that_never_fires_delivers_unread(team: Make, play: Make) -> None:
    """On tails nobody reads the output."""
    trigger = {"kind": "coin", "probability": 0.0}
    run = await play(team(["writer", "boss"], [boss(cap=2, trigger=trigger)], "writer"), {})
    assert run.turns() == ["writer"]
    assert run.outcome.verdicts == []


async def test_a_coin_is_the_same_for_a_seed(team: Make, play: Make) -> None:
    """Heads and tails come from seed, unit, link, copy and visit."""
    trigger = {"kind": "coin", "probability": 0.5}
    made = team(["writer", "boss"], [boss(cap=9, trigger=trigger, directive="Revise.")], "writer")
    tosses = {seed: len((await play(made, {}, seed=seed)).of("coin")) for seed in range(20)}
    again = {seed: len((await play(made, {}, seed=seed)).of("coin")) for seed in range(20)}
    assert tosses == again
    assert len(set(tosses.values())) > 1


async def test_a_trigger_never_reviews_nothing(team: Make, play: Make) -> None:
    """The link stands in the graph alone."""
    run = await play(
        team(["writer", "boss"], [boss(cap=2, trigger={"kind": "never"})], "writer"), {}
    )
    assert run.turns() == ["writer"]
    assert run.outcome.verdicts == []


async def test_a_fixed_directive_stands_in_place_of_the_superiors_words(
    team: Make, play: Make
) -> None:
    """The superior judges; what it says is not passed on."""
    link = boss(cap=1, directive="Look at it once more.")
    run = await play(
        team(["writer", "boss"], [link], "writer"),
        {"boss": [say("revise", "SECRET REASON"), say("approve")]},
    )
    second = run.prompts("writer")[1]
    assert "Look at it once more." in second
    assert "SECRET REASON" not in second


async def test_checks_come_first_then_declared_order(team: Make, play: Make) -> None:
    """One that obliges ends the reviews of the output."""
    trigger = {"kind": "checks", "voice": "findings", "checks": [("contains", {"text": "tea"})]}
    links = [
        boss(cap=3),
        {"id": "gate", "from": "gatekeeper", "to": "writer", "kind": "authority", "cap": 3}
        | {"trigger": trigger},
    ]
    run = await play(
        team(["writer", "boss", "gatekeeper"], links, "writer"),
        {"writer": ["coffee", "tea"], "boss": [say("approve")]},
    )
    said = [(verdict.link, verdict.action) for verdict in run.outcome.verdicts]
    assert said == [("gate", "revise"), ("gate", "approve"), ("o", "approve")]


async def test_a_stake_is_seen_and_moves_with_verdicts(team: Make, play: Make) -> None:
    """The purse starts as declared; a revision costs points."""
    stake = {"start": 10, "revise": -3}
    run = await play(
        team(["writer", "boss"], [boss(cap=1, stake=stake)], "writer"),
        {"boss": [say("revise"), say("approve")]},
    )
    assert "10" in run.prompts("writer")[0]
    assert "7" in run.prompts("writer")[1]


async def test_a_skipped_review_delivers_unreviewed(team: Make, play: Make) -> None:
    """A superior with `on_error: skip` that gives no verdict does not block the work."""
    roles: dict[str, Any] = {"writer": {}, "boss": {"on_error": "skip"}}
    run = await play(team(roles, [boss(cap=1)], "writer"), {"boss": ["no verdict"]})
    assert run.outcome.answer.unreviewed
    assert run.of("unreviewed")[0]["output"] == "writer@1"


async def test_a_failed_review_fails_the_run(team: Make, play: Make) -> None:
    """Fail closed: without a readable verdict nothing is delivered."""
    run = await play(
        team(["writer", "boss"], [boss(cap=1)], "writer"), {"boss": ["I would approve, I think."]}
    )
    assert run.outcome.status == "failed"
    assert run.outcome.answer is None


async def test_a_review_is_a_turn(team: Make, play: Make) -> None:
    """`limits.turns` counts reviews by a model; two turns are enough here, one is not."""
    for limit, status in ((1, "stopped"), (2, "completed")):
        made = team(["writer", "boss"], [boss(cap=1)], "writer", limits={"turns": limit})
        run = await play(made, {"boss": [say("approve")]})
        assert run.outcome.status == status
        assert run.outcome.turns == limit


async def test_one_who_obliges_ends_the_reviews_of_that_output_alone(
    team: Make, play: Make
) -> None:
    """Two outputs at one barrier: the first is sent back, the second is reviewed all the same."""
    links = [{"from": "a", "to": "c"}, {"from": "b", "to": "c"}, boss(["a", "b"], cap=1)]

    def reply(request: Request) -> Any:
        if request.labels.purpose != "review":
            return f"by {request.labels.copy}"
        first = request.labels.reviewed == "a" and request.labels.visit == 1
        return say("revise" if first else "approve")

    run = await play(team(["a", "b", "c", "boss"], links, "c"), reply)
    assert run.turns() == ["a", "b", "a", "c"]
    assert [verdict.copy for verdict in run.outcome.verdicts] == ["a", "b", "a"]
