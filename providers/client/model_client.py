"""The model client: calls within rates and limits, with retries.

This is the only layer that retries. A provider's ``complete`` is one call of a server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Protocol

from orglab.providers.base import (
    Completion,
    Provider,
    ProviderError,
    RateLimited,
    Request,
    TokenUsage,
    Unavailable,
)
from orglab.providers.client.adaptive_limit import AdaptiveLimit, CallOutcome
from orglab.providers.client.fault_injection import InjectedFaults, combined_rates
from orglab.providers.client.rate_limit import RateLimits, Reservation
from orglab.providers.client.request_queue import LimitListener, RequestQueue
from orglab.providers.client.retry import GiveUp, RetryPolicy


class AttemptGuard(Protocol):
    """Decides whether an attempt may be made, given how many were interrupted; may raise."""

    async def reserve(self, cut: int) -> None:
        """Reserve an attempt before it is queued; may wait for other calls to end."""

    async def begin(self, cut: int) -> None:
        """Record an attempt immediately before it is sent."""


HOSTED_TIMEOUT_SECONDS = 600.0
"""Default timeout of an attempt of a hosted model."""

_NO_FAULTS: Mapping[str, float] = {}


class CallSlots(Protocol):
    """Concurrency limit of one model; a slot is held over all attempts of a call."""

    def locked(self) -> bool:
        """Return whether a call may have to wait."""

    async def __aenter__(self) -> object:
        """Wait for a slot."""

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> object:
        """Free the slot."""


class RateLimit(Protocol):
    """Rate limit of one model, in requests and tokens per minute."""

    async def reserve(self, request: Request) -> Reservation:
        """Wait until one more request may be sent."""

    def settle(self, reserved: Reservation, *, sent: bool, used: int | None) -> None:
        """Return the unused part of a reservation."""


class AccountQueue(Protocol):
    """Request queue of one account."""

    async def enter(self, *, first: bool = False) -> Any:  # noqa: ANN401 - a ticket of its own kind
        """Wait for a place; return its ticket."""

    def leave(self, sent: Any, outcome: CallOutcome) -> None:  # noqa: ANN401 - the ticket
        """Free the place."""

    def pause(self, seconds: float) -> None:
        """Let no call of the account begin for ``seconds``."""


class ModelClients:
    """Factory of a study's model clients; models of one account share one adaptive limit.

    Args:
        report: Called with each change of a limit.
        start: Initial limit of concurrent calls.
        policy: Retry policy.
    """

    def __init__(
        self,
        *,
        report: LimitListener | None = None,
        start: int = 8,
        policy: RetryPolicy | None = None,
    ) -> None:
        self._report = report
        self._start = start
        self._policy = policy or RetryPolicy()
        self._queues: dict[str, RequestQueue] = {}

    def client(
        self,
        provider: Provider,
        *,
        alias: str,
        max_concurrency: int | None = None,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        timeout_seconds: float | None = None,
        faults: Mapping[str, float] = _NO_FAULTS,
    ) -> ModelClient:
        """Return the client of one model.

        Args:
            provider: The provider.
            alias: The model's name in the spec.
            max_concurrency: Maximum number of concurrent calls; None: the provider's own.
            requests_per_minute: Rate limit, or None.
            tokens_per_minute: The same in tokens.
            timeout_seconds: Timeout of each attempt; None: 600 for a hosted model, else none.
            faults: Rates of injected faults.
        """
        account = provider.account()
        if timeout_seconds is None and account is not None:
            timeout_seconds = HOSTED_TIMEOUT_SECONDS
        limited = requests_per_minute is not None or tokens_per_minute is not None
        room = max_concurrency or provider.default_concurrency
        key = (alias, str(account), max_concurrency, requests_per_minute, tokens_per_minute)
        local = max_concurrency is None or (account is None and provider.free)
        return ModelClient(
            provider,
            alias=alias,
            room=room,
            slots=asyncio.Semaphore(room) if local else self._slots(key, room),
            queue=None if account is None else self.queue(account),
            rates=self._rates(key, requests_per_minute, tokens_per_minute) if limited else None,
            timeout_seconds=timeout_seconds,
            faults=faults,
            policy=self._policy,
        )

    def _slots(self, key: tuple[object, ...], room: int) -> CallSlots:  # noqa: ARG002 - of remote ones
        return asyncio.Semaphore(room)

    def _rates(
        self, key: tuple[object, ...], requests: float | None, tokens: float | None
    ) -> RateLimit:
        del key
        return RateLimits(requests=requests, tokens=tokens)

    def queue(self, account: str) -> AccountQueue:
        """Return the one request queue of an account."""
        if account not in self._queues:
            self._queues[account] = RequestQueue(
                account, AdaptiveLimit(start=self._start), report=self._report
            )
        return self._queues[account]


class ModelClient:
    """Client of one model, made by ``ModelClients.client``.

    Attributes:
        room: Maximum number of concurrent calls worth starting.
    """

    def __init__(
        self,
        provider: Provider,
        *,
        alias: str,
        room: int,
        queue: AccountQueue | None,
        rates: RateLimit | None,
        timeout_seconds: float | None,
        faults: Mapping[str, float],
        policy: RetryPolicy,
        slots: CallSlots,
    ) -> None:
        self.room = room
        self._provider = provider
        self._alias = alias
        self._slots = slots
        self._queue = queue
        self._rates = rates
        self._timeout = timeout_seconds
        self._faults = faults
        self._policy = policy
        self._direct = queue is None and rates is None and not faults

    async def call(
        self,
        request: Request,
        guard: AttemptGuard,
        faults: Mapping[str, float] = _NO_FAULTS,
    ) -> Completion:
        """Call the model, and retry errors that may pass.

        Args:
            request: The call.
            guard: Guards each attempt.
            faults: Rates of injected faults of the calling role, added to the model's.

        Returns:
            The reply; ``waiting_seconds`` is all time but that of the answered attempt.

        Raises:
            ProviderError: The last attempt failed, or an error is not retryable.
        """
        if self._direct and not faults:
            return await self._call_directly(request, guard)
        async with self._slots:
            call = _Call(
                request=request,
                injected=InjectedFaults(combined_rates(self._faults, faults), request.identity),
                started=asyncio.get_running_loop().time(),
            )
            while True:
                completion = await self._attempt(call, guard)
                if completion is not None:
                    return completion
                await asyncio.sleep(call.pause)

    # --- a model in this process: no queue, no rate limit, no retries -------------------------

    async def _call_directly(self, request: Request, guard: AttemptGuard) -> Completion:
        clock = asyncio.get_running_loop().time
        queued_at = clock() if self._slots.locked() else None
        async with self._slots:
            await guard.reserve(0)
            waited = 0.0 if queued_at is None else clock() - queued_at
            await guard.begin(0)
            try:
                reply = await self._complete(request)
            except ProviderError as error:
                error.waiting_seconds += waited
                raise
        return replace(reply, waiting_seconds=reply.waiting_seconds + waited) if waited else reply

    async def _complete(self, request: Request) -> Completion:
        if self._timeout is None:
            return await self._provider.complete(request)
        try:
            async with asyncio.timeout(self._timeout) as limit:
                return await self._provider.complete(request)
        except TimeoutError as late:
            if not limit.expired():
                raise
            message = f"no reply within {self._timeout:g} seconds"
            raise Unavailable(message, cut=not self._provider.free) from late

    # --- a model whose calls are limited or retried --------------------------------------------

    async def _attempt(self, call: _Call, guard: AttemptGuard) -> Completion | None:
        """Make one attempt; return None where it is to be retried."""
        call.attempt += 1
        call.pause = 0.0
        await guard.reserve(call.cut)
        injected = call.injected.before(call.attempt)
        if injected is not None:
            await guard.begin(call.cut)
            error, note = injected
            call.notes.setdefault(note)
            self._failed(call, error, injected=True)
            return None
        async with _Place(self._queue, self._rates, call) as place:
            await guard.begin(call.cut)
            place.send()
            sent = call.clock()
            try:
                reply = await self._complete(call.request)
            except ProviderError as error:
                place.refused(error)
                self._failed(call, error, place=place)
                return None
            place.answered(reply)
        seconds = reply.service_seconds or call.clock() - sent
        reply = call.injected.after(reply, call.request, call.attempt)
        return call.answered(replace(reply, service_seconds=seconds))

    def _failed(
        self,
        call: _Call,
        error: ProviderError,
        *,
        injected: bool = False,
        place: _Place | None = None,
    ) -> None:
        """Count an error; return where the call is to be retried.

        Raises:
            ProviderError: The call is not to be retried.
        """
        call.count(error)
        decision = self._policy.after(
            error,
            attempt=call.attempt,
            waited=call.paused,
            identity=call.request.identity,
        )
        if self._queue is None and not injected:
            decision = GiveUp()
        if isinstance(decision, GiveUp):
            raise call.given_up(error, decision.why)
        if injected:  # waiting would not change an injected fault
            return
        call.paused += decision.seconds
        if place is not None and isinstance(error, RateLimited):
            place.pause(decision.seconds)  # it waits at the head of the queue
        else:
            call.pause = decision.seconds


@dataclass(kw_only=True, slots=True)
class _Call:
    """State of one call over all its attempts."""

    request: Request
    injected: InjectedFaults
    started: float
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
        """Return the reply with the usage of all attempts."""
        self.count(reply)
        return replace(
            reply,
            usage=self.usage or reply.usage,
            attempts=self.attempts,
            cut=self.cut,
            waiting_seconds=self._waiting_seconds(reply.service_seconds),
            notes=tuple(self.notes),
        )

    def given_up(self, error: ProviderError, why: str) -> ProviderError:
        """Return the error with the usage of all attempts and the reason to give up."""
        error.attempts, error.cut, error.usage = self.attempts, self.cut, self.usage
        error.waiting_seconds = self._waiting_seconds(0.0)
        error.notes = tuple(self.notes)
        if why:
            error.args = (f"{error}; {why}", *error.args[1:])
        return error

    def _waiting_seconds(self, service: float) -> float:
        # A simulated service takes longer than the clock knows.
        return max(0.0, self.clock() - self.started - service)


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
    """Reservation of one attempt: its share of the rate limit and its place in the queue."""

    def __init__(self, queue: AccountQueue | None, rates: RateLimit | None, call: _Call) -> None:
        self._queue = queue
        self._rates = rates
        self._call = call
        self._ticket: Any = None
        self._reserved: Reservation | None = None
        self._outcome: CallOutcome = "nothing"
        self._used: int | None = 0
        self._sent = False

    async def __aenter__(self) -> _Place:
        if self._rates is not None:
            self._reserved = await self._rates.reserve(self._call.request)
        try:
            if self._queue is not None:
                self._ticket = await self._queue.enter(first=self._call.attempt > 1)
        except BaseException:
            self._settle()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._settle()
        if self._queue is not None and self._ticket is not None:
            self._queue.leave(self._ticket, self._outcome)

    def send(self) -> None:
        """Mark the request as sent: its tokens are unknown until it ends."""
        self._sent, self._used = True, None

    def answered(self, reply: Completion) -> None:
        self._outcome = "answered"
        self._used = reply.usage.input + reply.usage.output

    def refused(self, error: ProviderError) -> None:
        if isinstance(error, RateLimited):
            self._outcome = "rate limited"
        elif isinstance(error, Unavailable):
            self._outcome = "server error"
        if error.usage is not None:
            self._used = error.usage.input + error.usage.output
        elif not error.cut:
            self._used = 0

    def pause(self, seconds: float) -> None:
        if self._queue is not None:
            self._queue.pause(seconds)

    def _settle(self) -> None:
        if self._rates is not None and self._reserved is not None:
            self._rates.settle(self._reserved, sent=self._sent, used=self._used)
            self._reserved = None
