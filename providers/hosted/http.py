"""The HTTP client below the SDKs of hosted models: without deadlines and limits, which are ours."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Final

from orglab.providers.hosted.account import is_loopback

if TYPE_CHECKING:  # the SDKs are optional, and so is what they rest on
    import httpx2

__all__ = ["open_http"]

CONNECT_SECONDS: Final = 30.0
"""Seconds to reach a server; all else waits as long as the caller does."""


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
