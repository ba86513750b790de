"""How reviews went."""

from __future__ import annotations

from typing import Any

import pytest

from orglab.evaluators.base import Score
from orglab.evaluators.process.approvals import Approvals


async def _scores(evaluator: Approvals, run: Any, context: Any) -> dict[str, Score]:
    return {score.name: score for score in await evaluator.evaluate(run, context())}


async def _first_try(evaluator: Approvals, run: Any, context: Any) -> Any:
    return (await _scores(evaluator, run, context))["first_try_approval"].value


@pytest.mark.parametrize(
    ("actions", "reject", "obliging"),
    [
        (["approve"], True, True),
        (["comment"], True, True),
        (["question", "approve"], True, False),
        (["revise", "approve"], True, False),
        (["reject", "approve"], False, False),
        (["question", "reject", "approve"], False, False),
    ],
)
async def test_first_try_approval_is_acceptance_without_any_reject(
    actions: list[str],
    reject: bool,
    obliging: bool,
    run: Any,
    output: Any,
    verdict: Any,
    context: Any,
) -> None:
    """A question does not spoil it, unless whatever obliges is counted."""
    outputs = [
        output(visit=n + 1, fate="delivered" if n + 1 == len(actions) else "sent back")
        for n in range(len(actions))
    ]
    verdicts = [verdict(f"writer@{n + 1}", action) for n, action in enumerate(actions)]
    record = run(*outputs, verdicts=verdicts)
    assert await _first_try(Approvals(), record, context) is reject
    assert await _first_try(Approvals(counts="obliging"), record, context) is obliging


async def test_a_forced_accept_of_a_reject_is_no_first_try(
    run: Any, output: Any, verdict: Any, context: Any
) -> None:
    """The cap was used up; the objection stands."""
    said = verdict("writer@1", "reject", obliged=False, forced=True)
    scores = await _scores(Approvals(), run(output(forced=True), verdicts=[said]), context)
    assert scores["first_try_approval"].value is False
    assert scores["forced_accepts"].value == 1
    assert scores["rejects"].value == 1


async def test_counts_by_link_and_source(run: Any, output: Any, verdict: Any, context: Any) -> None:
    """Every verdict is counted under its action, with its link and what spoke."""
    verdicts = [
        verdict("writer@1", "question"),
        verdict("writer@2", "reject", link="columns", by="checks"),
        verdict("writer@3", "revise", link="coin", by="coin"),
        verdict("writer@4", "comment"),
        verdict("writer@5", "approve"),
    ]
    scores = await _scores(Approvals(), run(output(visit=5), verdicts=verdicts), context)
    values = {name: score.value for name, score in scores.items()}
    assert values == {
        "first_try_approval": False,
        "forced_accepts": 0,
        "questions": 1,
        "rejects": 1,
        "revisions": 1,
        "comments": 1,
        "reviews": 4,
        "unreviewed": 0,
    }
    assert scores["rejects"].detail == {"by_link": {"columns": 1}, "by_source": {"checks": 1}}


async def test_an_output_forced_by_two_links_is_one_forced_accept(
    run: Any, output: Any, verdict: Any, context: Any
) -> None:
    """Outputs are counted, not objections."""
    said = [verdict("writer@1", "reject", link=link, forced=True) for link in ("a", "b")]
    scores = await _scores(Approvals(), run(output(), verdicts=said), context)
    assert scores["forced_accepts"].value == 1
    assert scores["rejects"].value == 2


async def test_without_review_approval_and_counts_are_missing(
    run: Any, output: Any, context: Any
) -> None:
    """Nobody reviewed: neither approved nor 0 questions; 0 reviews is a fact."""
    scores = await _scores(Approvals(), run(output()), context)
    missing = {name for name, score in scores.items() if score.value is None}
    assert missing == set(scores) - {"reviews", "unreviewed"}
    assert {scores[name].reason for name in missing} == {"no review took place"}
    assert scores["reviews"].value == 0


async def test_a_coin_is_no_review(run: Any, output: Any, verdict: Any, context: Any) -> None:
    """Blind retries have no first-try approval, but their revisions are counted."""
    record = run(
        output(fate="sent back"),
        output(visit=2),
        verdicts=[verdict("writer@1", "revise", by="coin")],
    )
    scores = await _scores(Approvals(), record, context)
    assert scores["first_try_approval"].value is None
    assert scores["first_try_approval"].reason == "no review took place"
    assert scores["revisions"].value == 1


async def test_a_passed_check_is_a_review(run: Any, output: Any, events: Any, context: Any) -> None:
    """A check that passes leaves an event and no verdict: the output was accepted."""
    looked = events(("check", {"link": "columns", "output": "writer@1", "passed": True}))
    scores = await _scores(Approvals(), run(output(), events=looked), context)
    assert scores["first_try_approval"].value is True
    assert scores["rejects"].value == 0


@pytest.mark.parametrize("status", ["failed", "running"])
async def test_a_failed_run_has_no_counts(
    status: str, run: Any, output: Any, verdict: Any, context: Any
) -> None:
    """What was cut off by a failure is missing, with the status."""
    record = run(output(), status=status, answer=None, verdicts=[verdict("writer@1", "approve")])
    scores = await _scores(Approvals(), record, context)
    assert scores["first_try_approval"].value is None
    assert scores["questions"].reason == f"{status}: not all reviews took place"


async def test_a_stopped_run_has_counts_and_no_approval(
    run: Any, output: Any, verdict: Any, context: Any
) -> None:
    """A limit stopped it: what was said counts, nothing was accepted for good."""
    record = run(
        output(), status="stopped", answer=None, verdicts=[verdict("writer@1", "question")]
    )
    scores = await _scores(Approvals(), record, context)
    assert scores["first_try_approval"].reason == "stopped: nothing was accepted for good"
    assert scores["questions"].value == 1


async def test_a_failed_review_leaves_approval_open(
    run: Any, output: Any, verdict: Any, events: Any, context: Any
) -> None:
    """An output delivered since its review failed was not approved."""
    skipped = events(("unreviewed", {"link": "review", "output": "writer@2"}))
    record = run(
        output(fate="sent back"),
        output(visit=2, unreviewed=True),
        verdicts=[verdict("writer@1", "question")],
        events=skipped,
    )
    scores = await _scores(Approvals(), record, context)
    assert scores["first_try_approval"].value is None
    assert "its review failed" in scores["first_try_approval"].reason
    assert scores["unreviewed"].value == 1


async def test_role_and_link_narrow_the_view(
    run: Any, output: Any, verdict: Any, events: Any, context: Any
) -> None:
    """The answer's role by default; another role, or the subordinates of one link."""
    record = run(
        output(role="analyst"),
        output(role="writer"),
        verdicts=[
            verdict("analyst@1", "reject", link="one"),
            verdict("writer@1", "approve", link="two"),
        ],
        events=events(("unreviewed", {"link": "three", "output": "analyst@1"})),
    )
    assert await _first_try(Approvals(), record, context) is True
    assert await _first_try(Approvals(role="analyst"), record, context) is False
    assert await _first_try(Approvals(link="one"), record, context) is False
    assert await _first_try(Approvals(link="two"), record, context) is True
    assert (await _scores(Approvals(), record, context))["rejects"].value == 1
    narrowed = await _scores(Approvals(role="writer"), record, context)
    assert (narrowed["rejects"].value, narrowed["unreviewed"].value) == (0, 0)
    assert (await _scores(Approvals(link="three"), record, context))["unreviewed"].value == 1
