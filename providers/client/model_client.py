"""Calls of models, within their rates and limits, asked again where waiting cures.

This is the only layer that retries. A provider's ``complete`` is one call of a server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Protocol, TypeAlias

from orglab.providers.base import (
    Completion,
    Provider,
    ProviderError,
    RateLimited,
    Request,
    TokenUsage,
    Unavailable,
)
from orglab.providers.client.adaptive_limit import Limiter, Outcome
from orglab.providers.client.fault_injection import PlantedFaults, added
from orglab.providers.client.rate_limit import Rates, Reserved
from orglab.providers.client.request_queue import LimitChange, Line, Tell
from orglab.providers.client.retry import GiveUp, RetryPolicy

__all__ = [
    "HOSTED_TIMEOUT_SECONDS",
    "Before",
    "Caller",
    "InLine",
    "LimitChange",
    "Lines",
    "Rated",
    "Slots",
]

Before: TypeAlias = Callable[[int], Awaitable[None]]
"""Awaited for each attempt with the number of attempts cut so far."""

HOSTED_TIMEOUT_SECONDS = 600.0
"""After this an attempt is given up, where the spec says nothing: no server may hang a study."""

_NO_FAULTS: Mapping[str, float] = {}


class Slots(Protocol):
    """The calls that one model takes at once: held over all attempts of a call."""

    def locked(self) -> bool:
        """Whether a call would have to wait, or must ask elsewhere."""

    async def __aenter__(self) -> object:
        """Waits for a slot."""

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> object:
        """Frees it."""


class Rated(Protocol):
    """Requests and tokens per minute: ``rates.Rates``."""

    async def reserve(self, request: Request) -> Reserved:
        """Waits until one more request may be sent."""

    def settle(self, reserved: Reserved, *, sent: bool, used: int | None) -> None:
        """Gives back what it did not use."""


class InLine(Protocol):
    """The line of an account: ``line.Line``."""

    async def enter(self, *, first: bool = False) -> Any:  # noqa: ANN401 - a ticket of its own kind
        """Waits for a place, and gives a ticket."""

    def leave(self, sent: Any, outcome: Outcome) -> None:  # noqa: ANN401 - the ticket
        """Frees the place."""

    def pause(self, seconds: float) -> None:
        """Lets no call of the account begin for a while."""


class Lines:
    """The accounts of a study: models of one account share one adaptive limit.

    Args:
        tell: Is told of each change of a limit.
        start: The limit to begin with; a large one for a server whose room is known.
        policy: What is asked again, and when.
    """

    def __init__(
        self,
        *,
        tell: Tell | None = None,
        start: int = 8,
        policy: RetryPolicy | None = None,
    ) -> None:
        self._tell = tell
        self._start = start
        self._policy = policy or RetryPolicy()
        self._lines: dict[str, Line] = {}

    def caller(
        self,
        provider: Provider,
        *,
        alias: str,
        max_concurrency: int | None = None,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        timeout_seconds: float | None = None,
        faults: Mapping[str, float] = _NO_FAULTS,
    ) -> Caller:
        """The caller of one model.

        Args:
            provider: The provider.
            alias: The model's name in the spec, for words.
            max_concurrency: Most calls at once; None: the provider's own.
            requests_per_minute: Or None.
            tokens_per_minute: Or None.
            timeout_seconds: Of each attempt; None: 600 for a hosted model, else none.
            faults: Rates of planted faults.
        """
        account = provider.account()
        if timeout_seconds is None and account is not None:
            timeout_seconds = HOSTED_TIMEOUT_SECONDS
        rates = None
        if requests_per_minute is not None or tokens_per_minute is not None:
            rates = Rates(requests=requests_per_minute, tokens=tokens_per_minute)
        return Caller(
            provider,
            alias=alias,
            room=max_concurrency or provider.default_concurrency,
            line=None if account is None else self.line(account),
            rates=rates,
            timeout_seconds=timeout_seconds,
            faults=faults,
            policy=self._policy,
        )

    def line(self, account: str) -> Line:
        """The line of an account; there is one."""
        if account not in self._lines:
            self._lines[account] = Line(account, Limiter(start=self._start), tell=self._tell)
        return self._lines[account]


class Caller:
    """Calls one model. ``Lines.caller`` makes it.

    Attributes:
        room: Most calls worth having under way.
    """

    def __init__(
        self,
        provider: Provider,
        *,
        alias: str,
        room: int,
        line: InLine | None,
        rates: Rated | None,
        timeout_seconds: float | None,
        faults: Mapping[str, float],
        policy: RetryPolicy,
        slots: Slots | None = None,
    ) -> None:
        self.room = room
        self._provider = provider
        self._alias = alias
        self._slots: Slots = slots or asyncio.Semaphore(room)
        self._line = line
        self._rates = rates
        self._timeout = timeout_seconds
        self._faults = faults
        self._policy = policy
        self._plain = line is None and rates is None and not faults

    async def call(
        self,
        request: Request,
        before: Before,
        faults: Mapping[str, float] = _NO_FAULTS,
        reserve: Before | None = None,
    ) -> Completion:
        """Waits for its turn, asks, and asks again what waiting cures.

        Args:
            request: The call.
            before: Awaited before each attempt, when its turn has come. What it raises goes
                through at once, and the attempt is not made.
            faults: Rates of planted faults of the role that speaks, added to the model's.
            reserve: Awaited before an attempt stands in line. It may wait for other calls to end,
                which need the places of that line.

        Returns:
            The reply. ``service_seconds`` is the time of the attempt that was answered,
            ``waiting_seconds`` all the other time.

        Raises:
            ProviderError: The last attempt gave no answer, or a fault that no waiting cures.
        """
        if self._plain and not faults:
            return await self._called_plainly(request, before, reserve)
        async with self._slots:
            call = _Call(
                request=request,
                planted=PlantedFaults(added(self._faults, faults), request.identity),
                asked=asyncio.get_running_loop().time(),
            )
            while True:
                completion = await self._attempt(call, before, reserve)
                if completion is not None:
                    return completion
                await asyncio.sleep(call.pause)

    # --- a model in this process -------------------------------------------------------------

    async def _called_plainly(
        self, request: Request, before: Before, reserve: Before | None
    ) -> Completion:
        slots = self._slots
        if not slots.locked():
            async with slots:
                if reserve is not None:
                    await reserve(0)
                await before(0)
                return await self._asked(request)
        clock = asyncio.get_running_loop().time
        came = clock()
        async with slots:
            if reserve is not None:
                await reserve(0)
            waited = clock() - came
            await before(0)
            try:
                reply = await self._asked(request)
            except ProviderError as fault:
                fault.waiting_seconds += waited
                raise
        return replace(reply, waiting_seconds=reply.waiting_seconds + waited)

    async def _asked(self, request: Request) -> Completion:
        if self._timeout is None:
            return await self._provider.complete(request)
        try:
            async with asyncio.timeout(self._timeout) as limit:
                return await self._provider.complete(request)
        except TimeoutError as late:
            if not limit.expired():
                raise
            words = f"no reply within {self._timeout:g} seconds"
            raise Unavailable(words, cut=not self._provider.free) from late

    # --- a model whose calls are limited, or may be asked again ------------------------------

    async def _attempt(
        self, call: _Call, before: Before, reserve: Before | None
    ) -> Completion | None:
        """One attempt; None where it is to be made again."""
        call.attempt += 1
        call.pause = 0.0
        if reserve is not None:
            await reserve(call.cut)
        planted = call.planted.before(call.attempt)
        if planted is not None:
            await before(call.cut)
            fault, note = planted
            call.notes.setdefault(note)
            self._failed(call, fault, planted=True)
            return None
        async with _Place(self._line, self._rates, call) as place:
            await before(call.cut)
            place.send()
            sent = call.clock()
            try:
                reply = await self._asked(call.request)
            except ProviderError as fault:
                place.refused(fault)
                self._failed(call, fault, place=place)
                return None
            place.answered(reply)
        seconds = reply.service_seconds or call.clock() - sent
        reply = call.planted.after(reply, call.request, call.attempt)
        return call.answered(replace(reply, service_seconds=seconds))

    def _failed(
        self,
        call: _Call,
        fault: ProviderError,
        *,
        planted: bool = False,
        place: _Place | None = None,
    ) -> None:
        """Counts a fault; returns where the call is to be made again.

        Raises:
            ProviderError: It is not.
        """
        call.count(fault)
        decision = self._policy.after(
            fault,
            attempt=call.attempt,
            waited=call.paused,
            identity=call.request.identity,
        )
        if self._line is None and not planted:
            decision = GiveUp()
        if isinstance(decision, GiveUp):
            raise call.given_up(fault, decision.why)
        if planted:  # nobody gains by waiting for it
            return
        call.paused += decision.seconds
        if place is not None and isinstance(fault, RateLimited):
            place.pause(decision.seconds)  # it waits in the line itself, before all others
        else:
            call.pause = decision.seconds


@dataclass(kw_only=True, slots=True)
class _Call:
    """A call under way, over all its attempts."""

    request: Request
    planted: PlantedFaults
    asked: float
    attempt: int = 0
    attempts: int = 0
    cut: int = 0
    paused: float = 0.0
    pause: float = 0.0
    usage: TokenUsage | None = None
    notes: dict[str, None] = field(default_factory=dict)

    def clock(self) -> float:
        return asyncio.get_running_loop().time()

    def count(self, ending: Completion | ProviderError) -> None:
        self.attempts += ending.attempts
        self.cut += ending.cut
        self.usage = _sum(self.usage, ending.usage)
        self.notes |= dict.fromkeys(ending.notes)

    def answered(self, reply: Completion) -> Completion:
        """The reply with what all attempts used."""
        self.count(reply)
        return replace(
            reply,
            usage=self.usage or reply.usage,
            attempts=self.attempts,
            cut=self.cut,
            waiting_seconds=self._waited(reply.service_seconds),
            notes=tuple(self.notes),
        )

    def given_up(self, fault: ProviderError, why: str) -> ProviderError:
        """The fault with what all attempts used, and why there will be no other."""
        fault.attempts, fault.cut, fault.usage = self.attempts, self.cut, self.usage
        fault.waiting_seconds = self._waited(0.0)
        fault.notes = tuple(self.notes)
        if why:
            fault.args = (f"{fault}; {why}", *fault.args[1:])
        return fault

    def _waited(self, service: float) -> float:
        # A simulated service takes longer than the clock knows.
        return max(0.0, self.clock() - self.asked - service)


def _sum(one: TokenUsage | None, other: TokenUsage | None) -> TokenUsage | None:
    if one is None or other is None:
        return one or other
    return TokenUsage(
        input=one.input + other.input,
        output=one.output + other.output,
        cached_input=one.cached_input + other.cached_input,
        reasoning=one.reasoning + other.reasoning,
        cache_write=one.cache_write + other.cache_write,
    )


class _Place:
    """The place of one attempt: within the model's rates, and in its account's line."""

    def __init__(self, line: InLine | None, rates: Rated | None, call: _Call) -> None:
        self._line = line
        self._rates = rates
        self._call = call
        self._ticket: Any = None
        self._reserved: Reserved | None = None
        self._outcome: Outcome = "nothing"
        self._used: int | None = 0
        self._sent = False

    async def __aenter__(self) -> _Place:
        if self._rates is not None:
            self._reserved = await self._rates.reserve(self._call.request)
        try:
            if self._line is not None:
                self._ticket = await self._line.enter(first=self._call.attempt > 1)
        except BaseException:
            self._settle()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._settle()
        if self._line is not None and self._ticket is not None:
            self._line.leave(self._ticket, self._outcome)

    def send(self) -> None:
        """From now on the server may count it; how many tokens is not known until it ends."""
        self._sent, self._used = True, None

    def answered(self, reply: Completion) -> None:
        self._outcome = "answered"
        self._used = reply.usage.input + reply.usage.output

    def refused(self, fault: ProviderError) -> None:
        if isinstance(fault, RateLimited):
            self._outcome = "rate limited"
        elif isinstance(fault, Unavailable):
            self._outcome = "at fault"
        if fault.usage is not None:
            self._used = fault.usage.input + fault.usage.output
        elif not fault.cut:
            self._used = 0

    def pause(self, seconds: float) -> None:
        if self._line is not None:
            self._line.pause(seconds)

    def _settle(self) -> None:
        if self._rates is not None and self._reserved is not None:
            self._rates.settle(self._reserved, sent=self._sent, used=self._used)
            self._reserved = None
