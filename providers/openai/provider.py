"""Models behind Chat Completions: OpenAI's, and every server that speaks the same.

``base_url`` names the server: vLLM, Ollama, llama.cpp, OpenRouter, a vendor's own compatible
address. Only what the author wrote is sent; what a server does not take is sent once the other way,
remembered for the process, and listed in the reply's notes. ``docs/how-to/hosted-models.md`` has the details.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, cast

from orglab.providers.base import JSON, Completion, Provider, ProviderError, Request, Unavailable
from orglab.providers.hosted.account import Account, open_account
from orglab.providers.hosted.errors import ServerMessage, sdk_error, sdk_message
from orglab.providers.hosted.health import server_health
from orglab.providers.hosted.http import ClientPool, open_sdk_client
from orglab.providers.openai.capabilities import ChatCapabilities, SchemaMode, ToolMode, learn
from orglab.providers.openai.request import (
    PARAMETERS,
    adapted_request,
    is_enforced,
    request_body,
    request_notes,
)
from orglab.providers.openai.response import completion_of, read_json, refusal_of
from orglab.providers.openai.stream import join_stream
from orglab.providers.options import choice_option, flag_option, known_options
from orglab.providers.structured_output.tool_call_emulation import read_action

if TYPE_CHECKING:  # the SDK is optional, and slow to import
    import httpx2
    from openai import AsyncOpenAI

OWN_URL: Final = "https://api.openai.com/v1"
OWN_VARIABLE: Final = "OPENAI_API_KEY"

MOST_ATTEMPTS: Final = 8
"""Ways of asking that one request may try; each refusal settles one for all later requests."""

_OPTIONS: Final = frozenset({"api_key_env", "base_url", "stream", "structure", "tool_calls"})
_STRUCTURES: Final[Mapping[str, SchemaMode]] = {
    "json_schema": SchemaMode.STRICT,
    "json_object": SchemaMode.OBJECT,
    "words": SchemaMode.WORDS,
}
_TOOL_CALLS: Final[Mapping[str, ToolMode]] = {"native": "native", "actions": "actions"}
_CAPABILITIES: dict[tuple[JSON, ...], ChatCapabilities] = {}
"""What was learnt of each model on each server, for the process."""


class OpenAIProvider(Provider):
    """One model of a server that speaks Chat Completions."""

    parameters: ClassVar[frozenset[str] | None] = PARAMETERS
    options: ClassVar[frozenset[str] | None] = _OPTIONS
    default_concurrency: ClassVar[int] = 256  # the limit of the account is found by trying

    def __init__(
        self, account: Account, capabilities: ChatCapabilities, *, stream: bool = False
    ) -> None:
        """Open no connection yet.

        Args:
            account: The server and its key.
            capabilities: How the model wants to be asked.
            stream: Have replies sent in pieces.
        """
        self._account = account
        self._capabilities = capabilities
        self._stream = stream
        self._clients = ClientPool(partial(_client, account))

    @classmethod
    def from_spec(cls, model: str, options: Mapping[str, JSON]) -> OpenAIProvider:
        """Make the provider of one model; the key is read here.

        Args:
            model: The model's name, as the server knows it.
            options: ``base_url`` (default: OpenAI's own), ``api_key_env`` (default: OPENAI_API_KEY for
                OpenAI's own address, no key for any other), ``stream`` (replies in pieces, for
                proxies that cut silent connections), ``structure`` (``json_schema``, ``json_object`` or
                ``words``), ``tool_calls`` (``native``, or ``actions`` for models without).

        Raises:
            ValueError: The key is missing, or an option is wrong.
        """
        options = known_options(options, _OPTIONS, "model of provider openai")
        if not model:
            raise ValueError("a model of provider openai needs `model`, the name the server knows")
        stream = flag_option(options, "stream", "openai")
        account = open_account(options, own_url=OWN_URL, own_variable=OWN_VARIABLE)
        return cls(account, _capabilities_of(account, model, options), stream=stream)

    def account(self) -> str | None:
        """Return the server's address and the variable that holds the key."""
        return str(self._account)

    async def complete(self, request: Request) -> Completion:
        """Ask the server; once, unless it refuses a way of asking that can be changed.

        Raises:
            ProviderError: The call gave no answer; ``attempts``, ``cut`` and ``notes`` are set.
        """
        with self._clients.one() as client:  # before the clock: the first call imports the SDK
            return await self._complete(client, request)

    async def _complete(self, client: AsyncOpenAI, request: Request) -> Completion:
        clock = asyncio.get_running_loop().time
        begun = clock()
        notes: list[str] = []
        for attempt in range(1, MOST_ATTEMPTS + 1):
            sent = clock()
            try:
                completion = await self._attempt(client, request, notes)
            except ProviderError as error:
                error.attempts = attempt
                error.notes = (*notes, *error.notes)
                raise
            if completion is not None:
                return replace(
                    completion,
                    attempts=attempt,
                    service_seconds=clock() - sent,
                    waiting_seconds=sent - begun,
                    notes=(*notes, *completion.notes),
                )
        raise Unavailable(
            f"{self._account.host} refuses every form of the request: {'; '.join(notes)}"
        )

    async def reachable(self, model: str) -> str:
        """Ask the server for its list of models, which costs nothing."""
        headers = {"Authorization": f"Bearer {self._account.sent_key}"}
        return await server_health(self._account, "/models", headers, model)

    async def _attempt(
        self, client: AsyncOpenAI, request: Request, notes: list[str]
    ) -> Completion | None:
        """Return one request of the server; None where it must be sent another way, which is noted."""
        import httpx2
        import openai

        asked = adapted_request(request, self._capabilities)
        body = request_body(asked, self._capabilities)
        try:
            data = await self._post(client, body)
        except (openai.OpenAIError, httpx2.HTTPError, httpx2.StreamError) as error:
            message = sdk_message(error)
            if message is not None:
                refused = refusal_of(message, self._account)
                if refused is not None:
                    return refused
                if self._other_way(request, body, message, notes):
                    return None
            raise sdk_error(error, account=self._account) from None
        completion = completion_of(data, request, self._account)
        completion = replace(
            completion,
            native=is_enforced(body, self._capabilities),
            notes=(*request_notes(asked, body, self._capabilities), *completion.notes),
        )
        return read_action(completion, request) if asked is not request else completion

    def _other_way(
        self, request: Request, body: Mapping[str, JSON], message: ServerMessage, notes: list[str]
    ) -> bool:
        """Return whether the request can be sent another way, which another call may have found."""
        asked = adapted_request(request, self._capabilities)
        if request_body(asked, self._capabilities) != body:
            notes.append("sent again in the form that another call had found")
            return True
        note = learn(self._capabilities, body, asked.schema, message)
        if note is not None:
            notes.append(note)
        return note is not None

    async def _post(self, client: AsyncOpenAI, body: dict[str, JSON]) -> Mapping[str, JSON]:
        import httpx2

        if not self._stream:
            response = await client.post("/chat/completions", body=body, cast_to=httpx2.Response)
            return read_json(response.text, self._account)
        response = await self._streamed(client, body)
        try:
            if "json" in response.headers.get("content-type", ""):  # it does not send in pieces
                await response.aread()
                return read_json(response.text, self._account)
            return await join_stream(response.aiter_lines(), self._account)
        finally:
            await response.aclose()

    async def _streamed(self, client: AsyncOpenAI, body: dict[str, JSON]) -> httpx2.Response:
        import httpx2
        from openai import AsyncStream

        pieces = {**body, "stream": True, "stream_options": {"include_usage": True}}
        response: object = await client.post(
            "/chat/completions",
            body=pieces,
            cast_to=httpx2.Response,
            stream=True,
            stream_cls=AsyncStream[object],
        )
        return cast("httpx2.Response", response)  # unread, whatever stream_cls says

    async def aclose(self) -> None:
        """Close the connections."""
        for client in self._clients.taken():
            await client.close()


def _client(account: Account) -> AsyncOpenAI:
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    # An empty `admin_api_key` keeps the SDK from reading one from the environment.
    client: AsyncOpenAI = open_sdk_client(
        *(AsyncOpenAI, account),
        own_url=OWN_URL,
        http_kind=DefaultAsyncHttpxClient,
        admin_api_key="",
    )
    if account.base_url != OWN_URL:
        client.organization = client.project = None
    return client


def _capabilities_of(account: Account, model: str, options: Mapping[str, JSON]) -> ChatCapabilities:
    structure = choice_option(options, "structure", "openai", _STRUCTURES) or "json_schema"
    tools = choice_option(options, "tool_calls", "openai", _TOOL_CALLS) or "native"
    key = (account.base_url, model, structure, tools)
    if key not in _CAPABILITIES:
        vendor = account.base_url == OWN_URL
        _CAPABILITIES[key] = ChatCapabilities(
            vendor=vendor,
            limit="max_completion_tokens" if vendor else "max_tokens",
            structure=_STRUCTURES[structure],
            tools=_TOOL_CALLS[tools],
        )
    return _CAPABILITIES[key]
