"""What a run used."""

from __future__ import annotations

from typing import Any

import pytest

from orglab.evaluators.base import Score
from orglab.evaluators.process.usage import Usage
from orglab.results.records import ToolEntry


def _tool_call(**changes: Any) -> ToolEntry:
    fields: dict[str, Any] = {
        "position": "1",
        "copy": "writer",
        "role": "writer",
        "visit": 1,
        "tool": "query",
        "arguments": {},
        "result": {},
        "error": False,
        "refused": "",
        "seconds": 0.25,
    }
    return ToolEntry(**{**fields, **changes})


async def _used(run: Any, context: Any) -> dict[str, Score]:
    return {score.name: score for score in await Usage().evaluate(run, context())}


async def test_an_empty_run_used_nothing(run: Any, context: Any) -> None:
    """Zeros, but for the share of simulated calls, which has no meaning."""
    used = await _used(run(status="failed"), context)
    assert {name: score.value for name, score in used.items() if score.value} == {}
    assert used["cost_usd"].value == 0
    assert used["simulated"].value is None
    assert used["simulated"].reason == "no call was made"


async def test_tokens_dollars_seconds(run: Any, call: Any, context: Any) -> None:
    """Sums over all calls but those of judges."""
    calls = [
        call(position="1"),
        call(position="2", role="critic", copy="critic", simulated=True),
        call(position="3", purpose="judge"),
    ]
    used = await _used(run(calls=calls, tool_calls=[_tool_call()]), context)
    values = {name: score.value for name, score in used.items()}
    assert values["tokens.input"] == 20
    assert values["tokens.output"] == 10
    assert values["tokens.cached"] == 4
    assert values["tokens.total"] == 30
    assert values["cost_usd"] == 1.0
    assert values["seconds.service"] == 4.0
    assert values["seconds.waiting"] == 2.0
    assert values["seconds.tools"] == 0.25
    assert values["seconds"] == 6.25
    assert values["calls"] == 2
    assert values["simulated"] == 0.5
    assert used["tokens.input"].detail == {"by_role": {"writer": 10, "critic": 10}}


async def test_an_unknown_price_makes_the_dollars_missing(
    run: Any, call: Any, context: Any
) -> None:
    """Unknown is never 0: the reason names the models, the known part is kept apart."""
    calls = [call(position="1"), call(position="2", cost_usd=None, model="big-1")]
    score = (await _used(run(calls=calls), context))["cost_usd"]
    assert score.value is None
    assert score.reason == ("1 of 2 calls have no known price (big-1): give each model a `price`")
    assert score.detail == {"known_part": 0.5}


async def test_repairs_are_calls_after_an_unread_reply(run: Any, call: Any, context: Any) -> None:
    """A reply that could not be read and was not asked again is no repair."""
    calls = [
        call(position="1", read={"problem": "no object"}),
        call(position="2", read={"problem": "no object"}),
        call(position="3", read={"how": "strict"}),
        call(position="4", visit=2, read={"problem": "no object"}, error={"kind": "unread"}),
    ]
    used = await _used(run(calls=calls, asked_again=3), context)
    assert used["repairs"].value == 2
    assert used["asked_again"].value == 3
    assert used["calls.failed"].value == 1
    assert used["calls.failed"].detail == {"by_kind": {"unread": 1}}


async def test_tool_calls_refused_and_by_prompts(run: Any, context: Any) -> None:
    """Refused calls count; those of a prompt's template stand apart."""
    calls = [
        _tool_call(),
        _tool_call(tool="head", error=True),
        _tool_call(error=True, refused="repeated"),
        _tool_call(prompt=True),
    ]
    used = await _used(run(tool_calls=calls), context)
    assert used["tool_calls"].value == 3
    assert used["tool_calls"].detail["by_tool"] == {"head": 1, "query": 2}
    assert used["tool_calls.refused"].value == 1
    assert used["tool_calls.refused"].detail == {"by_why": {"repeated": 1}}
    assert used["tool_calls.errors"].value == 1
    assert used["tool_calls.prompt"].value == 1
    assert used["seconds.tools"].value == 1.0


async def test_turns_hold_reviews(run: Any, events: Any, context: Any) -> None:
    """A turn is a role's turn or a review by a model."""
    happened = events(
        ("started", {}),
        ("turn", {"copy": "writer", "role": "writer"}),
        ("turn", {"copy": "writer", "role": "writer"}),
        ("review", {"link": "review", "superior": "boss"}),
        ("check", {"link": "columns"}),
    )
    score = (await _used(run(events=happened), context))["turns"]
    assert score.value == 3
    assert score.detail == {"by_role": {"boss": 1, "writer": 2}, "reviews": 1}


async def test_loops_by_link_and_action(run: Any, verdict: Any, events: Any, context: Any) -> None:
    """What obliged, and uses of closing links; a forced accept is no loop."""
    verdicts = [
        verdict("writer@1", "question"),
        verdict("writer@2", "reject", link="columns", by="checks"),
        verdict("writer@3", "reject", obliged=False, forced=True),
        verdict("writer@3", "approve"),
    ]
    happened = events(
        ("delivered", {"output": "a@1", "link": "a>b", "to": ["b"]}),
        ("delivered", {"output": "b@1", "link": "b>a", "to": ["a"], "use": 1, "cap": 2}),
    )
    score = (await _used(run(verdicts=verdicts, events=happened), context))["loops"]
    assert score.value == 3
    assert score.detail == {
        "by_link": {"b>a": 1, "columns": 1, "review": 1},
        "by_action": {"forward": 1, "question": 1, "reject": 1},
        "by_source": {"checks": 1, "forward": 1, "judgement": 1},
    }


@pytest.mark.parametrize("status", ["completed", "stopped", "failed"])
async def test_usage_is_measured_however_the_run_ended(
    status: str, run: Any, call: Any, context: Any
) -> None:
    """What was spent was spent."""
    used = await _used(run(status=status, calls=[call()]), context)
    assert used["tokens.total"].value == 15
