"""On a worker: leave for calls, asked of the client, who holds the limits of all workers.

A written limit (``max_concurrency``, requests and tokens per minute) and the limit that an account
turns out to have hold for the study as a whole: each attempt takes what it needs where all workers
take it. What nobody wrote and no account limits, a model in the worker's own process, stays here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from orglab.engine.run.calls.call_key import digest
from orglab.engine.study.cluster.worker.session import Session
from orglab.providers.base import Provider, Request
from orglab.providers.client.adaptive_limit import Outcome
from orglab.providers.client.model_client import (
    HOSTED_TIMEOUT_SECONDS,
    Caller,
    InLine,
    Lines,
    Rated,
    Slots,
)
from orglab.providers.client.rate_limit import Reserved, likely_tokens
from orglab.providers.client.retry import RetryPolicy

__all__ = ["RemoteLines"]

_NO_FAULTS: Mapping[str, float] = {}


class RemoteLines(Lines):
    """The accounts of a study, held by its client.

    Args:
        session: The client.
    """

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

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
        """The caller of one model; see ``Lines``."""
        account = provider.account()
        limits = (max_concurrency, requests_per_minute, tokens_per_minute)
        model = digest(alias, str(account), *map(str, limits))
        slots: Slots | None = None
        if max_concurrency is not None and not (account is None and provider.free):
            slots = _Slots(self._session, model, max_concurrency)
        rates: Rated | None = None
        if requests_per_minute is not None or tokens_per_minute is not None:
            rates = _Rates(self._session, model, requests_per_minute, tokens_per_minute)
        line: InLine | None = None
        if account is not None:
            line = _Line(self._session, account)
        return Caller(
            provider,
            alias=alias,
            room=max_concurrency or provider.default_concurrency,
            line=line,
            rates=rates,
            timeout_seconds=_timeout(timeout_seconds, account),
            faults=faults,
            policy=RetryPolicy(),
            slots=slots,
        )


def _timeout(written: float | None, account: str | None) -> float | None:
    return HOSTED_TIMEOUT_SECONDS if written is None and account is not None else written


class _Slots:
    """The calls that a model takes at once, of all workers."""

    def __init__(self, session: Session, model: str, most: int) -> None:
        self._session, self._model, self._most = session, model, most

    def locked(self) -> bool:
        return True  # who knows: it is asked for elsewhere

    async def __aenter__(self) -> None:
        await self._session.ask("slot", self._model, self._most)

    async def __aexit__(self, *_: object) -> None:
        if not self._session.gone:
            self._session.tell("free", self._model)


class _Rates:
    """Requests and tokens per minute, of all workers."""

    def __init__(
        self, session: Session, model: str, requests: float | None, tokens: float | None
    ) -> None:
        self._session, self._model, self._per_minute = session, model, [requests, tokens]

    async def reserve(self, request: Request) -> Reserved:
        tokens = likely_tokens(request)
        await self._session.ask("reserve", self._model, self._per_minute, tokens)
        return Reserved(tokens)

    def settle(self, reserved: Reserved, *, sent: bool, used: int | None) -> None:
        if not self._session.gone:
            self._session.tell("settle", self._model, reserved.tokens, sent, used)


class _Ticket(NamedTuple):
    """A place in the line of an account, as the client numbers it."""

    number: int


class _Line:
    """The line of an account, of all workers."""

    def __init__(self, session: Session, account: str) -> None:
        self._session, self._account = session, account

    async def enter(self, *, first: bool = False) -> _Ticket:
        return _Ticket(await self._session.ask("enter", self._account, first))

    def leave(self, sent: _Ticket, outcome: Outcome) -> None:
        if not self._session.gone:
            self._session.tell("leave", self._account, sent.number, outcome)

    def pause(self, seconds: float) -> None:
        if not self._session.gone:
            self._session.tell("pause", self._account, seconds)
