"""Limits of calls on a worker, held by the client for all workers.

Written limits (``max_concurrency``, requests and tokens per minute) and the adaptive limits of
accounts hold for the study as a whole. A model in the worker's own process without a written limit
is limited here.
"""

from __future__ import annotations

from typing import NamedTuple

from orglab.engine.run.calls.call_key import digest
from orglab.engine.study.cluster.worker.session import Session
from orglab.providers.base import Request
from orglab.providers.client.adaptive_limit import CallOutcome
from orglab.providers.client.model_client import (
    AccountQueue,
    CallSlots,
    ModelClients,
    RateLimit,
)
from orglab.providers.client.rate_limit import Reservation, estimated_tokens


class RemoteModelClients(ModelClients):
    """Model clients whose limits the study's client holds.

    Args:
        session: The connection to the client.
    """

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

    def queue(self, account: str) -> AccountQueue:
        """Return the request queue of an account, which the client holds."""
        return _Queue(self._session, account)

    def _slots(self, key: tuple[object, ...], room: int) -> CallSlots:
        return _Slots(self._session, digest(*map(str, key)), room)

    def _rates(
        self, key: tuple[object, ...], requests: float | None, tokens: float | None
    ) -> RateLimit:
        return _Rates(self._session, digest(*map(str, key)), requests, tokens)


class _Slots:
    """Concurrency limit of a model over all workers."""

    def __init__(self, session: Session, model: str, most: int) -> None:
        self._session, self._model, self._most = session, model, most

    def locked(self) -> bool:
        return True  # only the client knows

    async def __aenter__(self) -> None:
        await self._session.ask("slot", self._model, self._most)

    async def __aexit__(self, *_: object) -> None:
        self._session.note("free", self._model)


class _Rates:
    """Rate limit of a model over all workers."""

    def __init__(
        self, session: Session, model: str, requests: float | None, tokens: float | None
    ) -> None:
        self._session, self._model, self._per_minute = session, model, [requests, tokens]

    async def reserve(self, request: Request) -> Reservation:
        tokens = estimated_tokens(request)
        await self._session.ask("reserve", self._model, self._per_minute, tokens)
        return Reservation(tokens)

    def settle(self, reserved: Reservation, *, sent: bool, used: int | None) -> None:
        self._session.note("settle", self._model, reserved.tokens, sent, used)


class _Ticket(NamedTuple):
    """A place in the queue of an account, as the client numbers it."""

    number: int


class _Queue:
    """Request queue of an account over all workers."""

    def __init__(self, session: Session, account: str) -> None:
        self._session, self._account = session, account

    async def enter(self, *, first: bool = False) -> _Ticket:
        return _Ticket(await self._session.ask("enter", self._account, first))

    def leave(self, sent: _Ticket, outcome: CallOutcome) -> None:
        self._session.note("leave", self._account, sent.number, outcome)

    def pause(self, seconds: float) -> None:
        self._session.note("pause", self._account, seconds)
