"""One request of the Messages API over the anthropic SDK, and the reply as it comes.

This is the one module that imports the SDK, and only the provider imports it, at its first call.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

import anthropic
import httpx2

from orglab.providers.anthropic.request import OWN_URL, PreparedRequest
from orglab.providers.anthropic.response import StreamedReply
from orglab.providers.base import BadRequest, ProviderError, QuotaExhausted, Unavailable
from orglab.providers.hosted.account import Account
from orglab.providers.hosted.errors import ServerMessage, body_error, sdk_error, sdk_message
from orglab.providers.hosted.http import ClientPool, open_sdk_client

_END_SECONDS: Final = 1.0  # waited for the end of a stream whose reply is whole
_SPENT: Final = frozenset(
    (
        "contract_spend_limit_reached",
        "enforced_spend_limit_reached",
        "linked_organization_billing_unavailable",
        "linked_organization_spend_limit_reached",
    )
)
"""Codes of a limit of spending, which minutes of waiting do not lift; some come as a 429."""


class Refused(NamedTuple):
    """A request that the server refused before it began to reply.

    Attributes:
        message: What the server said.
        error: What that means, where the request cannot be sent another way.
    """

    message: ServerMessage
    error: ProviderError


class Sender:
    """Sends the requests of one account."""

    def __init__(self, account: Account) -> None:
        """Open no connection yet.

        Args:
            account: The server and its key.
        """
        self._account = account
        self._clients = ClientPool(partial(_client, account))

    async def send(self, sent: PreparedRequest) -> StreamedReply | Refused:
        """Send a request and gather its reply.

        Raises:
            ProviderError: The request cannot be sent, the connection failed, or the reply broke off.
        """
        with self._clients.one() as client:
            return await self._post(client, sent)

    async def _post(
        self, client: anthropic.AsyncAnthropic, sent: PreparedRequest
    ) -> StreamedReply | Refused:
        try:
            stream = await client.post(
                "/v1/messages",
                body={**sent.body, "stream": True},
                options={"headers": sent.headers, "follow_redirects": False},
                cast_to=object,
                stream=True,
                stream_cls=anthropic.AsyncStream[object],
            )
        except anthropic.APIStatusError as error:
            return self._refused(error)
        except anthropic.APIConnectionError as error:
            raise sdk_error(error, account=self._account) from None
        except UnicodeEncodeError:
            raise BadRequest("the request contains a lone surrogate") from None
        gathered = StreamedReply()
        async with stream:
            await self._gather(stream, gathered)
        return gathered

    async def aclose(self) -> None:
        """Close the connections."""
        for client in self._clients.taken():
            await client.close()

    def _refused(self, error: anthropic.APIStatusError) -> Refused:
        message = sdk_message(error) or ServerMessage(status=error.status_code)
        meaning = sdk_error(error, account=self._account)
        if error.error_code in _SPENT or "specified API usage limits" in message.message:
            meaning = QuotaExhausted(f"{meaning} (a limit of spending is reached)")
        return Refused(message, meaning)

    async def _gather(self, stream: anthropic.AsyncStream[object], into: StreamedReply) -> None:
        """Take events to the end of the reply; what comes after its end is not missed."""
        try:
            await _read_stream(stream, into)
        except anthropic.APIStatusError as error:
            if not into.whole:
                headers = error.response.headers
                reported = body_error(error.body, account=self._account, headers=headers, cut=True)
                raise _interrupted(reported, into) from None
        except (anthropic.APIError, httpx2.HTTPError, httpx2.StreamError, ValueError) as error:
            if not into.whole:
                raise _interrupted(sdk_error(error, account=self._account), into) from None
        if not into.whole:
            words = f"{self._account.host} ended the reply before it was complete"
            raise _interrupted(Unavailable(words), into)


def _client(account: Account) -> anthropic.AsyncAnthropic:
    client: anthropic.AsyncAnthropic = open_sdk_client(
        anthropic.AsyncAnthropic,
        account,
        own_url=OWN_URL,
        http_kind=anthropic.DefaultAsyncHttpxClient,
        open_telemetry=False,
    )
    return client


def _interrupted(error: ProviderError, gathered: StreamedReply) -> ProviderError:
    """Return the error of a reply that broke off, with what the server had counted by then."""
    error.cut = 1
    error.usage = gathered.usage if gathered.counts else None
    return error


async def _read_stream(stream: anthropic.AsyncStream[object], into: StreamedReply) -> None:
    """Take what comes: events, or from a server that does not stream the whole message."""
    if "json" in stream.response.headers.get("content-type", ""):
        message = json.loads(await stream.response.aread())
        into.message(message if isinstance(message, dict) else {})
        return
    async for event in _events(stream):
        into.take(event)
        if into.finished:
            break
    with suppress(TimeoutError, anthropic.APIError, httpx2.HTTPError, ValueError):
        async with asyncio.timeout(_END_SECONDS):  # read to its end, a connection serves again
            async for _ in _events(stream):
                pass


async def _events(stream: anthropic.AsyncStream[object]) -> AsyncIterator[object]:
    """Return what is left of a stream; breaking off does not end it, as it would in a loop over it."""
    while True:
        try:
            event = await anext(stream)
        except StopAsyncIteration:
            return
        yield event
