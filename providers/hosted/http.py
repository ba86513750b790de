"""The HTTP client below the SDKs of hosted models: without deadlines and limits, which are ours."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from orglab.providers.hosted.account import Account, is_loopback

if TYPE_CHECKING:  # the SDKs are optional, and so is what they rest on
    import httpx2

CONNECT_SECONDS: Final = 30.0
"""Seconds to reach a server; all else waits as long as the caller does."""


def open_sdk_client(
    make: Callable[..., Any],
    account: Account,
    *,
    own_url: str,
    http_kind: Callable[..., httpx2.AsyncClient],
    **settings: object,
) -> Any:  # noqa: ANN401 - an SDK's client
    """Return an SDK's client without retries and timeouts, which are the model client's.

    Headers of the environment go to the vendor's own address only.
    """
    http = open_http(account.base_url, http_kind)
    client = make(
        api_key=account.sent_key,
        base_url=account.base_url,
        max_retries=0,
        timeout=http.timeout,
        http_client=http,
        **settings,
    )
    if account.base_url != own_url:
        client._custom_headers = {}  # noqa: SLF001 - the SDKs have no public setting
    return client


def open_http(
    base_url: str, kind: Callable[..., httpx2.AsyncClient] | None = None
) -> httpx2.AsyncClient:
    """Return a client with as many connections as there are calls, that follows no server elsewhere.

    Args:
        base_url: The only address that it is for. One on this machine is reached without the proxy
            that the environment names: that could not reach it, and would see all requests.
        kind: An SDK's own class of clients, which sets up the sockets; None: the plain one.
    """
    import httpx2

    make = kind or httpx2.AsyncClient
    return make(
        timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
        follow_redirects=False,
        verify=_tls(),
        trust_env=not is_loopback(base_url),
    )


@cache
def _tls() -> ssl.SSLContext:
    """Return one for all clients: reading the certificates takes longer than all else."""
    import httpx2

    return httpx2.create_ssl_context()


CALLS_A_CLIENT = 16

Client = TypeVar("Client")


class ClientPool(Generic[Client]):
    """Pool of clients, made on demand; few concurrent calls always use the first."""

    def __init__(self, make: Callable[[], Client]) -> None:
        """Make none yet.

        Args:
            make: Makes one.
        """
        self._make = make
        self._all: list[Client] = []
        self._calls: list[int] = []

    @contextmanager
    def one(self) -> Iterator[Client]:
        """Return a client for one call."""
        place = self._free()
        self._calls[place] += 1
        try:
            yield self._all[place]
        finally:
            if place < len(self._calls):
                self._calls[place] -= 1

    def _free(self) -> int:
        for place, calls in enumerate(self._calls):
            if calls < CALLS_A_CLIENT:
                return place
        self._all.append(self._make())
        self._calls.append(0)
        return len(self._all) - 1

    def taken(self) -> list[Client]:
        """Return all clients, to be closed; those made later are others."""
        taken, self._all, self._calls = self._all, [], []
        return taken
