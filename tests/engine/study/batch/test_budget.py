"""Money of a study: what is reserved, what is waited for, and when the budget is reached."""

import asyncio
from random import Random

import pytest

from orglab.engine.study.batch.budget import Budget, BudgetReached


async def test_a_call_that_fits_is_reserved_and_settled() -> None:
    """What was reserved beyond the cost comes back."""
    budget = Budget(limit=1.0)
    await budget.reserve(0.9)
    assert budget.left == pytest.approx(0.1)
    budget.settle(0.9, 0.2)
    assert budget.spent == pytest.approx(0.2)
    assert budget.left == pytest.approx(0.8)


async def test_a_budget_equal_to_the_need_is_enough() -> None:
    """The last cent may be spent."""
    budget = Budget(limit=0.3)
    for _ in range(3):
        await budget.reserve(0.1)
        budget.settle(0.1, 0.1)
    with pytest.raises(BudgetReached):
        await budget.reserve(0.001)


async def test_what_does_not_fit_waits_for_calls_under_way() -> None:
    """Most calls cost less than was reserved for them: the room that comes back is used."""
    budget = Budget(limit=1.0)
    await budget.reserve(0.8)
    second = asyncio.create_task(budget.reserve(0.8))
    await asyncio.sleep(0)
    assert not second.done()
    budget.settle(0.8, 0.1)
    await second
    budget.settle(0.8, 0.1)
    assert budget.spent == pytest.approx(0.2)


async def test_with_nothing_under_way_the_budget_is_reached() -> None:
    """Then no call begins any more, be it ever so small."""
    budget = Budget(limit=0.5)
    with pytest.raises(BudgetReached):
        await budget.reserve(0.6)
    assert budget.reached


async def test_what_was_cut_stays_taken() -> None:
    """The most that a cut request can have cost counts as spent."""
    budget = Budget(limit=1.0)
    await budget.reserve(0.7)
    budget.cut(0.7)
    assert (budget.unknown, budget.spent) == (0.7, 0.0)
    with pytest.raises(BudgetReached):
        await budget.reserve(0.4)


@pytest.mark.parametrize("at_once", [1, 7, 64])
async def test_never_overrun_at_any_number_at_once(at_once: int) -> None:
    """However calls come and go, what is spent and unknown stays within the limit."""
    random, budget = Random(at_once), Budget(limit=0.05)
    taken: list[float] = []

    async def worker() -> None:
        while True:
            most = random.uniform(0.0001, 0.002)
            try:
                await budget.reserve(most)
            except BudgetReached:
                return
            for _ in range(random.randrange(4)):
                await asyncio.sleep(0)
            cost = most * random.random()
            if random.random() < 0.1:
                taken.append(most)
                budget.cut(most)
            else:
                taken.append(cost)
                budget.settle(most, cost)

    async with asyncio.timeout(20):
        await asyncio.gather(*(worker() for _ in range(at_once)))
    assert budget.reached
    assert 0.04 < sum(taken) <= 0.05
    assert sum(taken) == pytest.approx(budget.spent + budget.unknown)
