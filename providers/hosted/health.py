"""Whether a hosted model's server answers: asked for its list of models, which costs nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from orglab.providers.base import JSON
from orglab.providers.hosted.account import Account
from orglab.providers.structured_output.strict_json import loads

if TYPE_CHECKING:  # what the SDKs rest on is optional
    import httpx2

SECONDS: Final = 10.0
"""Longest wait for the list."""
LARGEST: Final = 8_000_000
"""Bytes of a list that are read at most."""

_STATUSES: Final[Mapping[int, str]] = {
    401: "answers, and refuses the key",
    403: "answers, and refuses the key",
    404: "answers, and has no list of models",
    429: "answers: too many requests, or an empty account",
}


async def server_health(account: Account, path: str, headers: Mapping[str, str], model: str) -> str:
    """Ask once for the list of models; in words, none of them the server's.

    Args:
        account: The server and its key.
        path: Where the list is, below the address.
        headers: How the key is sent.
        model: The model that the list should hold.
    """
    import httpx2

    from orglab.providers.hosted.http import open_http

    try:
        async with asyncio.timeout(SECONDS), open_http(account.base_url) as client:
            request = client.build_request("GET", account.base_url + path, headers=dict(headers))
            response = await client.send(request, stream=True)
            try:
                return await _model_status(response, model)
            finally:
                await response.aclose()
    except TimeoutError:
        return f"no answer from {account.host} within {SECONDS:g} seconds"
    except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL) as error:
        return f"{account.host} cannot be reached ({type(error).__name__})"


async def _model_status(response: httpx2.Response, model: str) -> str:
    status = response.status_code
    if status != 200:
        return _STATUSES.get(status, f"answers with status {status}")
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > LARGEST:
            return "answers with a list of models that is too long to read"
    names = _model_names(body)
    if names is None:
        return "answers, but not with a list of models"
    return "answers, and has the model" if model in names else "answers; its list lacks the model"


def _model_names(body: bytes) -> set[str] | None:
    try:
        data: JSON = loads(body.decode("utf-8")).get("data")
        return {str(entry["id"]) for entry in data}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
