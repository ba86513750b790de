"""Calls in their turn, asked again where waiting cures; all in a time that passes at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import pytest

from orglab.providers.base import (
    BadRequest,
    Completion,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    Request,
    TokenUsage,
    Unavailable,
)
from orglab.providers.client.model_client import ModelClient, ModelClients
from orglab.providers.client.request_queue import LimitChange

Run: TypeAlias = Callable[[Coroutine[Any, Any, Any]], Any]
Make: TypeAlias = Callable[..., Request]
Kind: TypeAlias = Any

YES = Completion(text="yes", usage=TokenUsage(input=10, output=5))


class Unguarded:
    """Allows every attempt."""

    async def reserve(self, cut: int) -> None:
        """Reserve nothing."""

    async def begin(self, cut: int) -> None:
        """Record nothing."""


def caller_of(provider: Kind, lines: ModelClients | None = None, **fields: Any) -> ModelClient:
    """The caller of a server."""
    return (lines or ModelClients()).client(provider, alias="m", **fields)


def test_service_and_waiting_apart(virtual: Run, server: Kind, request_of: Make) -> None:
    """Service is the answered attempt's time; failed attempts and pauses are waiting."""
    one = server(Unavailable("500"), RateLimited("429", retry_after=20.0), YES, seconds=2.0)
    reply = virtual(caller_of(one).call(request_of(), Unguarded()))
    assert (reply.text, reply.attempts, reply.cut) == ("yes", 3, 0)
    assert reply.service_seconds == pytest.approx(2.0)
    assert 24.0 <= reply.waiting_seconds <= 27.0
    assert one.sent[2] >= one.sent[1] + 22.0


def test_tokens_of_all_attempts_are_added(virtual: Run, server: Kind, request_of: Make) -> None:
    """Of every kind: what one kind lacks would be paid at another's price."""
    used = TokenUsage(input=10, output=5, cached_input=2, reasoning=3, cache_write=4)
    broken = Unavailable("gone", cut=True)
    broken.usage = used
    reply = virtual(
        caller_of(server(broken, Completion(usage=used))).call(request_of(), Unguarded())
    )
    assert reply.usage == TokenUsage(
        input=20, output=10, cached_input=4, reasoning=6, cache_write=8
    )


def test_what_cannot_be_cured_is_asked_once(virtual: Run, server: Kind, request_of: Make) -> None:
    """An empty account ends the call at its first attempt, in the server's own words."""
    one = server(QuotaExhausted("the account is empty"))
    with pytest.raises(QuotaExhausted, match=r"^the account is empty$"):
        virtual(caller_of(one).call(request_of(), Unguarded()))
    assert len(one.sent) == 1


def test_most_attempts(virtual: Run, server: Kind, request_of: Make) -> None:
    """After eight attempts the last fault is raised, with the figures of all."""
    one = server(Unavailable("500", cut=True), seconds=3.0)
    with pytest.raises(Unavailable, match="500; given up after 8 attempts") as told:
        virtual(caller_of(one).call(request_of(), Unguarded()))
    assert (told.value.attempts, told.value.cut, len(one.sent)) == (8, 8, 8)
    assert told.value.waiting_seconds > 24.0


def test_three_hours(virtual: Run, server: Kind, request_of: Make) -> None:
    """A server that asks for hours ends the call at once and does not hold up the others."""
    one = server(RateLimited("429", retry_after=10800.0), YES)
    caller = caller_of(one)

    async def two() -> Completion:
        with pytest.raises(RateLimited, match="asks to wait 10800 seconds"):
            await caller.call(request_of("one"), Unguarded())
        return await caller.call(request_of("two"), Unguarded())

    assert virtual(two()).waiting_seconds == pytest.approx(0.0)


def test_before_each_attempt(virtual: Run, server: Kind, request_of: Make) -> None:
    """It is told how many attempts were cut so far, when the attempt's turn has come."""
    one = server(Unavailable("cut", cut=True), Unavailable("500"), YES)
    told = []

    class Noted(Unguarded):
        async def begin(self, cut: int) -> None:
            told.append((cut, len(one.sent)))

    reply = virtual(caller_of(one).call(request_of(), Noted()))
    assert told == [(0, 0), (1, 1), (1, 2)]
    assert (reply.attempts, reply.cut) == (3, 1)


@pytest.mark.parametrize("stop", [KeyboardInterrupt("stop"), ValueError("no money")])
@pytest.mark.parametrize("account", [None, "https://host KEY"])
def test_what_before_raises_goes_through(
    virtual: Run, server: Kind, request_of: Make, stop: BaseException, account: str | None
) -> None:
    """Nothing is sent, and the place is free for the next."""
    one = server(YES)
    one.name = account
    caller = caller_of(one, ModelClients(start=1), max_concurrency=1, requests_per_minute=1)

    class Refused(Unguarded):
        async def begin(self, cut: int) -> None:
            raise stop

    async def two() -> Any:
        with pytest.raises(type(stop), match=str(stop)):
            await caller.call(request_of(), Refused())
        assert not one.sent
        return await caller.call(request_of(), Unguarded())

    assert virtual(two()).waiting_seconds == pytest.approx(0.0)


def test_a_stalled_server(virtual: Run, server: Kind, request_of: Make) -> None:
    """An attempt without end is cut at its limit, counted as cut, and made again."""
    one = server(YES, seconds=30.0)

    async def quick_at_last() -> Completion:
        async def wake() -> None:
            await asyncio.sleep(6.0)
            one.seconds = 1.0

        waking = asyncio.create_task(wake())
        reply: Completion = await caller_of(one, timeout_seconds=5.0).call(
            request_of(), Unguarded()
        )
        await waking
        return reply

    reply = virtual(quick_at_last())
    assert reply.cut == reply.attempts - 1 >= 1


def test_a_hosted_model_has_a_limit_unasked(virtual: Run, server: Kind, request_of: Make) -> None:
    """Ten minutes, where the spec says nothing: no server hangs a study."""
    one = server(YES, seconds=10_000.0)
    with pytest.raises(Unavailable, match=r"no reply within 600 seconds"):
        virtual(caller_of(one).call(request_of(), Unguarded()))
    assert one.sent[1] - one.sent[0] >= 600.0


def test_a_providers_own_timeout_is_not_ours(virtual: Run, server: Kind, request_of: Make) -> None:
    """A TimeoutError that the provider itself raises is a fault of the provider."""
    one = server(TimeoutError("inside"))
    with pytest.raises(TimeoutError, match="inside"):
        virtual(caller_of(one, timeout_seconds=60).call(request_of(), Unguarded()))


def test_tokens_of_failed_attempts_count(virtual: Run, server: Kind, request_of: Make) -> None:
    """What the server counted for an attempt without an answer is part of the reply's usage."""
    failed = Unavailable("broke off")
    failed.usage, failed.notes = TokenUsage(input=10, output=2), ("one",)
    one = server(failed, Completion(usage=TokenUsage(input=10, output=5), notes=("one", "two")))
    reply = virtual(caller_of(one).call(request_of(), Unguarded()))
    assert reply.usage == TokenUsage(input=20, output=7)
    assert reply.notes == ("one", "two")


# --- an account ----------------------------------------------------------------------------------


async def many(caller: ModelClient, request_of: Make, number: int) -> list[Completion]:
    """Calls at one moment."""
    calls = [caller.call(request_of(f"call {n}"), Unguarded()) for n in range(number)]
    return await asyncio.gather(*calls)


def test_slow_start(virtual: Run, server: Kind, request_of: Make) -> None:
    """Eight at once, then sixteen, then thirty-two."""
    one = server()
    told: list[LimitChange] = []
    virtual(many(caller_of(one, ModelClients(report=told.append)), request_of, 56))
    assert [one.sent.count(at) for at in (0.0, 1.0, 2.0)] == [8, 16, 32]
    assert [each.limit for each in told][:3] == [8, 10, 13]
    assert {each.account for each in told} == {"https://host/v1 KEY"}


def test_already_open(virtual: Run, server: Kind, request_of: Make) -> None:
    """Where the server's room is known, all go at once."""
    one = server()
    virtual(many(caller_of(one, ModelClients(start=256)), request_of, 100))
    assert one.most == 100


def test_models_of_an_account_share_its_limit(virtual: Run, server: Kind, request_of: Make) -> None:
    """Two models behind one key have eight places together; another account has its own."""
    one, two, other = server(seconds=5.0), server(seconds=5.0), server(seconds=5.0)
    other.name = "https://elsewhere KEY"
    lines = ModelClients()

    async def all_three() -> int:
        tasks = [
            asyncio.create_task(many(caller_of(each, lines), request_of, 20))
            for each in (one, two, other)
        ]
        await asyncio.sleep(1.0)
        first = one.under_way + two.under_way, other.under_way
        await asyncio.gather(*tasks)
        return first  # type: ignore[return-value]

    assert virtual(all_three()) == (8, 8)


def test_a_refusal_pauses_the_whole_account(virtual: Run, server: Kind, request_of: Make) -> None:
    """While the server asks to wait nobody of the account asks; other accounts go on."""
    one = server(RateLimited("429", retry_after=30.0), YES)
    other = server(YES)
    other.name = "https://elsewhere KEY"
    told: list[LimitChange] = []
    lines = ModelClients(report=told.append)

    async def both() -> None:
        await asyncio.gather(
            many(caller_of(one, lines), request_of, 30),
            many(caller_of(other, lines), request_of, 30),
        )

    virtual(both())
    # One of the first eight was refused at 1.0; the other seven were under way.
    assert len([at for at in one.sent if at < 31.0]) == 8
    assert max(other.sent) < 10.0
    cuts = [each for each in told if each.why.startswith("cut")]
    assert [(each.account, each.limit) for each in cuts] == [("https://host/v1 KEY", 5)]


def test_a_burst_of_refusals_is_one_cut(virtual: Run, server: Kind, request_of: Make) -> None:
    """Eight refusals of calls sent together cut once, and each call is answered in the end."""
    one = server(*[RateLimited("429", retry_after=2.0)] * 8, YES)
    told: list[LimitChange] = []
    replies = virtual(many(caller_of(one, ModelClients(report=told.append)), request_of, 40))
    assert len(replies) == 40
    assert len([each for each in told if each.why.startswith("cut")]) == 1


def test_first_come_first_sent(virtual: Run, server: Kind, request_of: Make) -> None:
    """Calls are sent in the order in which they came."""
    one = server()
    order: list[int] = []
    caller = caller_of(one, ModelClients(start=2))

    async def one_call(number: int) -> None:
        class Noted(Unguarded):
            async def begin(self, cut: int) -> None:
                order.append(number)

        await caller.call(request_of(str(number)), Noted())

    async def all_of_them() -> None:
        await asyncio.gather(*(one_call(number) for number in range(20)))

    virtual(all_of_them())
    assert order == list(range(20))


def test_a_refused_call_goes_first(virtual: Run, server: Kind, request_of: Make) -> None:
    """Who was refused has waited longest: it is asked again before those who came later."""
    one = server(RateLimited("429", retry_after=1.0), YES)
    order: list[int] = []
    caller = caller_of(one, ModelClients(start=1))

    async def one_call(number: int) -> None:
        class Noted(Unguarded):
            async def begin(self, cut: int) -> None:
                order.append(number)

        await caller.call(request_of(str(number)), Noted())

    async def all_of_them() -> None:
        await asyncio.gather(*(one_call(number) for number in range(4)))

    virtual(all_of_them())
    assert order == [0, 0, 1, 2, 3]


@pytest.mark.parametrize("moment", [0.0, 0.5, 1.0, 1.5])
def test_who_gives_up_frees_its_place(
    virtual: Run, server: Kind, request_of: Make, moment: float
) -> None:
    """Cancelled while it waits, while it is given a place, or while it asks: nothing is lost."""
    one = server()
    caller = caller_of(one, ModelClients(start=1), max_concurrency=3, requests_per_minute=6000)

    async def some_give_up() -> list[Completion]:
        calls = [
            asyncio.create_task(caller.call(request_of(str(n)), Unguarded())) for n in range(6)
        ]
        await asyncio.sleep(moment)
        for call in calls[:4]:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        return await many(caller, request_of, 4)

    assert len(virtual(some_give_up())) == 4
    assert one.under_way == 0


def test_a_password_in_an_address_is_not_reported(server: Kind, virtual: Run) -> None:
    """History names the server and the variable, never what stands before an @."""
    one = server()
    one.name = "https://user:secret@host/v1 KEY"
    told: list[LimitChange] = []
    caller_of(one, ModelClients(report=told.append))
    assert [each.account for each in told] == ["https://host/v1 KEY"]


# --- rates ---------------------------------------------------------------------------------------


def test_requests_per_minute(virtual: Run, server: Kind, request_of: Make) -> None:
    """Thirty a minute is one every two seconds, in the order in which they came."""
    one = server()
    virtual(many(caller_of(one, requests_per_minute=30), request_of, 5))
    assert one.sent == pytest.approx([0.0, 2.0, 4.0, 6.0, 8.0])


def test_retries_count_in_the_rate(virtual: Run, server: Kind, request_of: Make) -> None:
    """Each attempt is a request."""
    one = server(Unavailable("500"), YES)
    virtual(caller_of(one, requests_per_minute=6).call(request_of(), Unguarded()))
    assert one.sent == pytest.approx([0.0, 10.0])


def test_tokens_per_minute(virtual: Run, server: Kind, request_of: Make) -> None:
    """A likely number is reserved, and what was not used is given back."""
    one = server(Completion(usage=TokenUsage(input=2, output=58)), seconds=0.1)
    caller = caller_of(one, tokens_per_minute=6000)
    request = request_of("x", params={"max_output_tokens": 500})

    async def in_turn() -> None:
        for _ in range(51):
            await caller.call(request, Unguarded())

    virtual(in_turn())
    assert 50 * 60 / 6000 * 60 * 0.9 <= one.sent[-1] <= 50 * 60 / 6000 * 60 * 1.1


def test_rates_bind_models_in_this_process(virtual: Run, server: Kind, request_of: Make) -> None:
    """A written rate holds for any provider; a fault of one that is no server is not asked again."""
    one = server(YES, BadRequest("no"))
    one.name = None
    caller = caller_of(one, requests_per_minute=60)
    virtual(many(caller, request_of, 1))
    with pytest.raises(ProviderError, match=r"^no$") as told:
        virtual(caller_of(one, requests_per_minute=60).call(request_of(), Unguarded()))
    assert told.value.attempts == 1


# --- a model in this process ---------------------------------------------------------------------


def test_in_this_process(virtual: Run, server: Kind, request_of: Make) -> None:
    """The reply goes through as it is; only who waits for a slot has waited."""
    reply = Completion(text="yes", service_seconds=2.5)
    one = server(reply)
    one.name = None
    caller = caller_of(one, max_concurrency=1)
    first, second = virtual(many(caller, request_of, 2))
    assert first is reply
    assert second.waiting_seconds == pytest.approx(1.0)
    assert second.service_seconds == 2.5
    assert caller.room == 1
    assert caller_of(one).room == 256


def test_a_fault_in_this_process(virtual: Run, server: Kind, request_of: Make) -> None:
    """It is not asked again, and says how long it waited."""
    one = server(Unavailable("no"))
    one.name = None
    caller = caller_of(one, max_concurrency=1)

    async def two() -> list[Any]:
        calls = [caller.call(request_of(), Unguarded()) for _ in range(2)]
        return await asyncio.gather(*calls, return_exceptions=True)

    first, second = virtual(two())
    assert (first.waiting_seconds, second.waiting_seconds) == (0.0, pytest.approx(1.0))
    assert len(one.sent) == 2
