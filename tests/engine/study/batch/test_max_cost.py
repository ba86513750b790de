"""Money as a hard limit: of a study at any number of calls at once, and of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orglab.engine.graph.team import Team
from orglab.engine.run.outcome import Unit
from orglab.engine.study.batch.batch import Arm, Batch, BatchTally
from orglab.engine.study.batch.executor import run_batch
from orglab.providers.base import (
    Completion,
    Provider,
    QuotaExhausted,
    RateLimited,
    Request,
    TokenUsage,
    Unavailable,
)
from orglab.results.store.reader import Reader
from orglab.results.store.store import Store
from orglab.results.usage.spending import spending

TEAM = """\
kind: topology
version: 1
name: priced
inputs: {topic: {type: string}}
models:
  worker:
    provider: scripted
    file: replies.jsonl
    price: {input: 1.0, output: 10.0}
    params: {max_output_tokens: 50}
    max_concurrency: 64
roles:
  left: {}
  right: {}
  last: {}
links:
  - {from: left, to: last, kind: forward}
  - {from: right, to: last, kind: forward}
output: last
"""
LIMIT = 0.05
RUNS = 100


class Priced(Provider):
    """Counts what it is asked, and bills a part of what a call can cost at most."""

    free = False

    def __init__(self, issue: Callable[[Request], bool] = lambda _: False) -> None:
        self.billed = 0.0
        self.asked: list[str] = []
        self._issue = issue

    @classmethod
    def from_spec(cls, model: str, options: Any) -> Priced:
        raise NotImplementedError

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request.identity)
        await asyncio.sleep(0)
        draw = int(request.identity[:6], 16) / 16**6
        usage = TokenUsage(input=20 + int(draw * 60), output=int(draw * 50))
        if self._issue(request):
            raise Unavailable("the line went dead", cut=True)
        self.billed += (usage.input * 1.0 + usage.output * 10.0) / 1e6
        return Completion(text=f"by {request.labels.copy}", usage=usage)


def _batch(team: Team, provider: Provider, limit: float | None, at_once: int = 8) -> Batch:
    units = [Unit(id=f"u{n}", inputs={"topic": f"topic {n}"}, index=n) for n in range(RUNS)]
    return Batch(
        arms=[Arm.alone(team)],
        units=units,
        at_once=at_once,
        providers={"*": provider},
        max_cost=limit,
    )


async def _run(folder: Path, batch: Batch) -> BatchTally:
    store = Store(folder)
    try:
        return await run_batch(batch, store)
    finally:
        store.close()


@pytest.mark.parametrize("at_once", [1, 8, 64])
async def test_a_budget_holds_at_any_number_at_once_and_goes_on_with_more(
    tmp_path: Path, team: Callable[..., Team], at_once: int
) -> None:
    """The limit is never overrun; what was paid for is not asked again when there is more money."""
    loaded, provider = team(TEAM), Priced()
    tally = await _run(tmp_path / "s", _batch(loaded, provider, LIMIT, at_once))
    assert tally.budget is not None
    assert tally.budget.reached
    assert 0.9 * LIMIT < provider.billed <= LIMIT
    with Reader(tmp_path / "s") as reader:
        assert spending(reader).paid_usd == pytest.approx(provider.billed)
        assert not spending(reader).cut
    again = await _run(tmp_path / "s", _batch(loaded, provider, LIMIT, at_once))
    assert again.budget is not None
    assert again.budget.reached
    assert provider.billed <= LIMIT
    done = await _run(tmp_path / "s", _batch(loaded, provider, 1.0, at_once))
    assert done.budget is not None
    assert not done.budget.reached
    assert done.done == RUNS
    assert len(set(provider.asked)) == len(provider.asked) == 3 * RUNS
    assert done.budget.spent == pytest.approx(provider.billed)


async def test_cut_calls_count_as_the_most_they_can_cost(
    tmp_path: Path, team: Callable[..., Team]
) -> None:
    """A request that broke off may have been billed: it is listed, and its reserve stays taken."""
    broken = Priced(lambda request: request.labels.unit in ("u3", "u5"))
    tally = await _run(tmp_path / "s", _batch(team(TEAM), broken, 1.0))
    assert tally.budget is not None
    with Reader(tmp_path / "s") as reader:
        found = spending(reader)
    assert {(cut.unit, cut.requests, cut.killed) for cut in found.cut} == {
        ("u3", 1, False),
        ("u5", 1, False),
    }
    assert len(found.cut) == 4  # left and right of each
    assert tally.budget.unknown == pytest.approx(found.reserved_usd)
    assert found.reserved_usd > 4 * 50 * 10.0 / 1e6


async def test_without_a_price_a_budget_is_refused(
    tmp_path: Path, team: Callable[..., Team]
) -> None:
    """Nobody can keep a limit over calls that may cost anything."""
    endless = team(TEAM.replace("max_output_tokens: 50", "temperature: 0.5"))
    with pytest.raises(ValueError, match=r"`params\.max_output_tokens`: worker"):
        await _run(tmp_path / "s", _batch(endless, Priced(), 1.0))


async def test_the_limit_of_a_run_is_hard_over_turns_side_by_side(
    tmp_path: Path, team: Callable[..., Team]
) -> None:
    """Roles of one tick share what is left, in declared order; none looks at what another used."""
    loaded = team(TEAM + "limits: {cost_usd: 0.0012}\n")
    provider = Priced()
    batch = _batch(loaded, provider, None)
    await _run(tmp_path / "s", replace(batch, units=batch.units[:20]))
    with Reader(tmp_path / "s") as reader:
        runs = list(reader.runs())
        costs = [reader.record(run.id) for run in runs]
    assert {run.status for run in runs} == {"stopped"}
    assert {run.reason for run in runs} == {"cost_usd"}
    for record in costs:
        assert sum(call.cost_usd or 0 for call in record.calls) <= 0.0012
        assert {call.role for call in record.calls} <= {"left", "right"}


class Uncounted(Priced):
    """Answers, and says of no reply what it used; ``refuses``: nothing but refusals."""

    refuses = False

    def account(self) -> str | None:
        return "a server"

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request.identity)
        await asyncio.sleep(0)
        return Completion(text="no", stop="refusal" if self.refuses else "stop")


@pytest.mark.parametrize("refuses", [False, True])
async def test_replies_without_a_count_cost_the_most_they_can(
    tmp_path: Path, team: Callable[..., Team], refuses: bool
) -> None:
    """Also refusals, which fail the turn; a later process knows of them too."""
    provider = Uncounted()
    provider.refuses = refuses
    batch = _batch(team(TEAM), provider, 0.01)
    for _ in range(3):
        tally = await _run(tmp_path / "s", batch)
        assert tally.budget is not None
        assert tally.budget.reached
        assert tally.budget.unknown <= 0.01
    assert len(provider.asked) <= 0.01 / (50 * 10.0 / 1e6)
    with Reader(tmp_path / "s") as reader:
        found = spending(reader)
    assert found.unpriced == len(provider.asked)
    assert tally.budget is not None
    assert found.unknown_usd == pytest.approx(tally.budget.unknown)
    assert not found.cut


class Counting(Priced):
    """Breaks off each first request of a call, whose tokens it had counted by then."""

    def account(self) -> str | None:
        return "a server"

    async def complete(self, request: Request) -> Completion:
        usage = TokenUsage(input=60, output=50)
        again = request.identity in self.asked
        self.asked.append(request.identity)
        await asyncio.sleep(0)
        if again:
            return Completion(text="whole", usage=usage)
        broken = Unavailable("the line went dead", cut=True, retry_after=0.0)
        broken.usage = usage
        raise broken


async def test_what_was_counted_of_a_cut_request_is_not_reserved_twice(
    tmp_path: Path, team: Callable[..., Team]
) -> None:
    """Paid and in doubt together never exceed what was reserved, nor the limit."""
    limit = 0.006
    tally = await _run(tmp_path / "s", _batch(team(TEAM), Counting(), limit))
    with Reader(tmp_path / "s") as reader:
        found = spending(reader)
    assert tally.budget is not None
    assert 0 < found.paid_usd + found.unknown_usd <= limit
    assert tally.budget.spent == pytest.approx(found.paid_usd)
    assert tally.budget.unknown == pytest.approx(found.unknown_usd)


async def test_a_run_s_own_limit_counts_what_is_in_doubt(
    tmp_path: Path, team: Callable[..., Team]
) -> None:
    """A reply whose tokens nobody counted is not free under ``limits.cost_usd``."""
    provider = Uncounted()
    batch = _batch(team(TEAM + "limits: {cost_usd: 0.0017}\n"), provider, None)
    await _run(tmp_path / "s", replace(batch, units=batch.units[:1]))
    with Reader(tmp_path / "s") as reader:
        (run,) = reader.runs()
    assert (run.status, run.reason) == ("stopped", "cost_usd")
    assert len(provider.asked) == 2


class Refusing(Priced):
    """Refuses each first request of a call for the rate."""

    def account(self) -> str | None:
        return "a server"

    async def complete(self, request: Request) -> Completion:
        if request.identity not in self.asked:
            self.asked.append(request.identity)
            raise RateLimited("slow down", retry_after=0.0)
        return await super().complete(request)


async def test_calls_that_wait_for_money_hold_no_place_in_line(
    tmp_path: Path, team: Callable[..., Team]
) -> None:
    """Else a refused call, whose money they wait for, could never be sent again."""
    provider = Refusing()
    async with asyncio.timeout(20):
        tally = await _run(tmp_path / "s", _batch(team(TEAM), provider, 0.004, at_once=64))
    assert tally.budget is not None
    assert tally.budget.reached
    assert 0 < provider.billed <= 0.004


class Crashing(Priced):
    """A plugin with a bug behind what it sent."""

    async def complete(self, request: Request) -> Completion:
        raise TypeError("a bug")


async def test_a_reply_lost_by_a_plugin_s_bug_may_have_been_billed(
    tmp_path: Path, team: Callable[..., Team]
) -> None:
    """What was sent, and how much of it was paid, nobody knows."""
    tally = await _run(tmp_path / "s", _batch(team(TEAM), Crashing(), 0.01))
    assert tally.budget is not None
    assert tally.budget.reached
    with Reader(tmp_path / "s") as reader:
        assert spending(reader).reserved_usd == pytest.approx(tally.budget.unknown) != 0


class Empty(Priced):
    """An account with credit for so many calls."""

    credit = 30

    async def complete(self, request: Request) -> Completion:
        if len(self.asked) >= self.credit:
            raise QuotaExhausted("the account is empty")
        return await super().complete(request)


async def test_an_empty_account_ends_the_study(tmp_path: Path, team: Callable[..., Team]) -> None:
    """At once, and no run is completed without the role that could not be asked."""
    provider, loaded = Empty(), team(TEAM.replace(": {}", ": {on_error: skip}"))
    batch = _batch(loaded, provider, None, at_once=4)
    tally = await _run(tmp_path / "s", batch)
    assert tally.interrupted
    assert "the account is empty" in tally.warnings[0]
    assert 0 < tally.failed <= 4
    with Reader(tmp_path / "s") as reader:
        statuses = list(reader.statuses().values())
        calls = [len(reader.record(row.id).calls) for row in reader.runs(status="completed")]
    assert len(statuses) < RUNS
    assert set(calls) == {3}
    provider.credit = 1000
    done = await _run(tmp_path / "s", replace(batch, retry_failed=True))
    assert (done.done, done.failed, len(set(provider.asked))) == (RUNS, 0, 3 * RUNS)


async def test_a_model_that_cannot_be_asked_is_reported_before_any_call(
    tmp_path: Path, team: Callable[..., Team]
) -> None:
    """Also one that only another arm needs: nothing is paid for a study that cannot go on."""
    hosted = "{provider: openai, model: x, api_key_env: NO_SUCH_VARIABLE}"
    text = TEAM.replace("models:", f"models:\n  other: {hosted}").replace("{}", "{model: other}")
    here, there = Arm.alone(team(TEAM)), Arm.alone(team(text))
    arms = [replace(here, name="here"), replace(there, name="there")]
    provider = Priced()
    batch = _batch(here.team, provider, None, at_once=1)
    batch = replace(batch, arms=arms, providers={"worker": provider})
    with pytest.raises(ValueError, match="NO_SUCH_VARIABLE"):
        await _run(tmp_path / "s", batch)
    assert provider.asked == []
