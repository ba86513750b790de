"""What a run used: tokens, dollars, seconds, calls, turns, tools, loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from orglab.evaluators.base import JSON, Context, Evaluator, RunRecord, Scale, Score
from orglab.results.records import CallEntry
from orglab.results.store.journal.history import closing_uses


@dataclass(frozen=True, kw_only=True)
class Usage(Evaluator):
    """Counts what the run used, however it ended; calls of judges are not counted."""

    async def evaluate(self, run: RunRecord, context: Context) -> Sequence[Score]:
        """Return all scores of ``docs/reference/evaluators.md``, in its order."""
        calls = [call for call in run.calls if call.purpose != "judge"]
        return [
            *_tokens(calls),
            _dollars("cost_usd", calls),
            _dollars("cost_usd.paid", [call for call in calls if call.paid]),
            *_seconds(run, calls),
            *_calls(run, calls),
            *_turns(run),
            *_tool_calls(run),
            _loops(run),
        ]


def _usage_score(name: str, value: float, scale: Scale = "count", **detail: JSON) -> Score:
    return Score(name=name, value=value, scale=scale, detail=detail)


def _count_by(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _tokens(calls: Sequence[CallEntry]) -> Iterator[Score]:
    totals: dict[str, int] = {}
    for name, kind in (("input", "input"), ("output", "output"), ("cached", "cached_input")):
        by_role = Counter[str]()
        for call in calls:
            by_role[call.role] += call.tokens.get(kind, 0)
        totals[name] = by_role.total()
        yield _usage_score(f"tokens.{name}", totals[name], by_role=dict(by_role))
    yield _usage_score("tokens.total", totals["input"] + totals["output"])


def _dollars(name: str, calls: Sequence[CallEntry]) -> Score:
    costs = [call.cost_usd for call in calls if call.cost_usd is not None]
    unknown = [call for call in calls if call.cost_usd is None]
    if unknown:
        models = ", ".join(sorted({call.model or call.provider for call in unknown}))
        reason = (
            f"{len(unknown)} of {len(calls)} calls have no known price ({models}): "
            "give each model a `price`"
        )
        detail = {"known_part": sum(costs)}
        return Score(name=name, value=None, scale="ratio", reason=reason, detail=detail)
    return _usage_score(name, sum(costs), "ratio")


def _seconds(run: RunRecord, calls: Sequence[CallEntry]) -> Iterator[Score]:
    service = sum(call.service_seconds for call in calls)
    waiting = sum(call.waiting_seconds for call in calls)
    tools = sum(call.seconds for call in run.tool_calls)
    yield _usage_score("seconds", service + waiting + tools, "ratio")
    yield _usage_score("seconds.service", service, "ratio")
    yield _usage_score("seconds.waiting", waiting, "ratio")
    yield _usage_score("seconds.tools", tools, "ratio")


def _calls(run: RunRecord, calls: Sequence[CallEntry]) -> Iterator[Score]:
    failed = [call for call in calls if call.error]
    unpaid = [call for call in calls if not call.paid]
    yield _usage_score("calls", len(calls), by_role=_count_by(call.role for call in calls))
    kinds = _count_by(str((call.error or {}).get("kind", "unknown")) for call in failed)
    yield _usage_score("calls.failed", len(failed), by_kind=kinds)
    origins = ["another study" if call.kept else "another run" for call in unpaid]
    yield _usage_score("calls.unpaid", len(unpaid), by_origin=_count_by(origins))
    yield _usage_score("repairs", _repairs(calls))
    yield _usage_score("asked_again", run.asked_again)
    yield _simulated(calls)


def _repairs(calls: Sequence[CallEntry]) -> int:
    """Count calls that followed an unreadable reply in the same turn."""
    unread: dict[tuple[str, int], bool] = {}
    repairs = 0
    for call in calls:
        turn = (call.copy, call.visit)
        repairs += unread.get(turn, False)
        unread[turn] = bool(call.read.get("problem"))
    return repairs


def _simulated(calls: Sequence[CallEntry]) -> Score:
    replies = [call for call in calls if call.error is None or call.served]
    if not replies:
        reason = "no call was answered" if calls else "no call was made"
        return Score(name="simulated", value=None, scale="ratio", reason=reason)
    share = sum(call.simulated for call in replies) / len(replies)
    return _usage_score("simulated", share, "ratio")


def _turns(run: RunRecord) -> Iterator[Score]:
    own = [event.body for event in run.events if event.kind == "turn"]
    reviews = [event.body for event in run.events if event.kind == "review"]
    by_role = _count_by(
        [_event_text(body, "role") for body in own]
        + [_event_text(body, "superior") for body in reviews]
    )
    yield _usage_score("turns", len(own) + len(reviews), by_role=by_role, reviews=len(reviews))


def _event_text(body: Mapping[str, JSON], key: str) -> str:
    return str(body.get(key, ""))


def _tool_calls(run: RunRecord) -> Iterator[Score]:
    asked = [call for call in run.tool_calls if not call.prompt]
    refused = [call for call in asked if call.refused]
    by_role = _count_by(call.role for call in asked)
    yield _usage_score(
        "tool_calls", len(asked), by_tool=_count_by(call.tool for call in asked), by_role=by_role
    )
    yield _usage_score(
        "tool_calls.refused", len(refused), by_why=_count_by(call.refused for call in refused)
    )
    yield _usage_score("tool_calls.errors", sum(call.error and not call.refused for call in asked))
    yield _usage_score("tool_calls.prompt", sum(call.prompt for call in run.tool_calls))


def _loops(run: RunRecord) -> Score:
    verdicts = [verdict for verdict in run.verdicts if verdict.obliged]
    closing = closing_uses(run.events)
    return _usage_score(
        "loops",
        len(verdicts) + len(closing),
        by_link=_count_by([verdict.link for verdict in verdicts] + closing),
        by_action=_count_by([verdict.action for verdict in verdicts] + ["forward"] * len(closing)),
        by_source=_count_by([verdict.by for verdict in verdicts] + ["forward"] * len(closing)),
    )
