"""Anthropic's models, and any server that speaks the Messages API, by the anthropic SDK.

One call is one streamed request; ``docs/hosted-models.md`` tells what an author may write. The SDK
repeats nothing: what can be asked again is asked again by the caller.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import ClassVar, Final

import anthropic
import httpx2

from orglab.providers.anthropic_manners import Bends, Refusal, learn, manners_of
from orglab.providers.anthropic_messages import Block, safe_id
from orglab.providers.anthropic_reply import completion_of
from orglab.providers.anthropic_request import PARAMETERS, Asking, Sent, schema_digest
from orglab.providers.anthropic_stream import Gathered
from orglab.providers.base import (
    JSON,
    Completion,
    Message,
    Provider,
    ProviderError,
    QuotaExhausted,
    Request,
    Unavailable,
)
from orglab.providers.hosted import Account, open_account
from orglab.providers.hosted_faults import body_fault, sdk_fault, words_of, words_of_sdk
from orglab.providers.options import known_only

__all__ = ["KEY_VARIABLE", "OWN_URL", "AnthropicProvider"]

OWN_URL: Final = "https://api.anthropic.com"
"""Where Anthropic's own models are asked."""

KEY_VARIABLE: Final = "ANTHROPIC_API_KEY"
"""The variable that holds the key for them by custom."""

_OPTIONS: Final = frozenset({"api_key_env", "base_url", "cache", "structure"})
_STRUCTURES: Final = ("format", "tool")
_SPENT: Final = frozenset(
    (
        "contract_spend_limit_reached",
        "enforced_spend_limit_reached",
        "linked_organization_billing_unavailable",
        "linked_organization_spend_limit_reached",
    )
)
"""Codes of a limit of spending, which no waiting of minutes cures; some come as a 429."""

_END_SECONDS: Final = 1.0  # waited for the end of a stream whose reply is whole
_MOST_TRIES: Final = 6  # one as written, and one for each thing that may be refused
_MOST_REMEMBERED: Final = 4096  # assistant messages with reasoning, in tool loops under way
_REFUSED: Final = frozenset((400, 422))


class AnthropicProvider(Provider):
    """One model of a server that speaks the Messages API."""

    parameters: ClassVar[frozenset[str] | None] = PARAMETERS | {"seed"}
    #: Keys of a model's entry beyond those that every model has.
    options: ClassVar[frozenset[str] | None] = _OPTIONS
    default_concurrency: ClassVar[int] = 64

    def __init__(
        self, model: str, account: Account, *, cache: bool = False, by_tool: bool = False
    ) -> None:
        """Makes a provider; nothing is sent.

        Args:
            model: The model's name.
            account: Where to ask, and who pays.
            cache: Mark conversations for the server's prompt cache.
            by_tool: Ask for structured answers as a tool's input, never by an output format.
        """
        self._account = account
        self._memory: OrderedDict[str, list[Block]] = OrderedDict()
        self._asking = Asking(
            manners=manners_of(account.base_url, model),
            cache=cache,
            by_tool=by_tool,
            remembered=self._recall,
        )
        self._client: anthropic.AsyncAnthropic | None = None

    @classmethod
    def from_spec(cls, model: str, options: Mapping[str, JSON]) -> AnthropicProvider:
        """Makes the provider of one model.

        Args:
            model: The model's name, such as ``claude-haiku-4-5``.
            options: ``base_url`` (default: Anthropic's own), ``api_key_env`` (default
                ``ANTHROPIC_API_KEY``), ``cache`` (default false), ``structure`` (``format`` or
                ``tool``).

        Raises:
            ValueError: An option is wrong, or the variable with the key is not set.
        """
        options = known_only(options, _OPTIONS, "model of provider anthropic")
        if not model:
            raise ValueError(
                "a model of provider anthropic needs `model`, such as claude-haiku-4-5"
            )
        cache, structure = options.get("cache", False), options.get("structure", "format")
        if not isinstance(cache, bool):
            raise ValueError(f"cache of provider anthropic must be true or false, not {cache!r}")
        if structure not in _STRUCTURES:
            raise ValueError(
                f"structure of provider anthropic must be format or tool, not {structure!r}"
            )
        account = open_account(options, own_url=OWN_URL, own_variable=KEY_VARIABLE)
        return cls(model, account, cache=cache, by_tool=structure == "tool")

    def account(self) -> str:
        """The server and the variable that holds the key."""
        return str(self._account)

    async def complete(self, request: Request) -> Completion:
        """Asks the model; once more in another way for each thing that it refuses by name.

        Raises:
            ProviderError: The call gave no answer.
        """
        bends, attempts = Bends(), 0
        while True:
            attempts += 1
            sent = self._asking.sent(request, bends)
            begun = time.perf_counter()
            try:
                gathered = await self._streamed(sent)
            except ProviderError as fault:
                fault.attempts, fault.notes = attempts, tuple(sent.notes)
                raise
            except anthropic.APIStatusError as error:
                if attempts < _MOST_TRIES and self._learned(error, request, sent, bends):
                    continue
                raise self._fault(error, attempts, sent) from None
            self._remember(gathered, sent)
            seconds = time.perf_counter() - begun
            completion = completion_of(gathered, sent)
            return replace(completion, service_seconds=seconds, attempts=attempts)

    async def aclose(self) -> None:
        """Closes the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    # --- sending ----------------------------------------------------------------------------

    def _opened(self) -> anthropic.AsyncAnthropic:
        if self._client is None:
            self._client = anthropic.AsyncAnthropic(
                api_key=self._account.sent_key,
                base_url=self._account.base_url,
                max_retries=0,
                timeout=None,
                open_telemetry=False,
            )
        return self._client

    async def _streamed(self, sent: Sent) -> Gathered:
        """Sends a request and gathers its reply.

        Raises:
            anthropic.APIStatusError: The server refused before it began to reply.
            ProviderError: The connection failed, or the reply broke off.
        """
        try:
            stream = await self._opened().post(
                "/v1/messages",
                body={**sent.body, "stream": True},
                options={"headers": sent.headers, "follow_redirects": False},
                cast_to=object,
                stream=True,
                stream_cls=anthropic.AsyncStream[object],
            )
        except anthropic.APIConnectionError as error:
            raise sdk_fault(error, account=self._account) from None
        gathered = Gathered()
        async with stream:
            await self._gather(stream, gathered)
        return gathered

    async def _gather(self, stream: anthropic.AsyncStream[object], into: Gathered) -> None:
        """Takes events to the end of the reply; what comes after its end is not missed."""
        try:
            await _take(stream, into)
        except anthropic.APIStatusError as error:
            if not into.whole:
                raise self._broken(self._said_inside(error), into) from None
        except (anthropic.APIError, httpx2.HTTPError, httpx2.StreamError, ValueError) as error:
            if not into.whole:
                raise self._broken(sdk_fault(error, account=self._account), into) from None
        if not into.whole:
            words = f"{self._account.host} ended the reply before it was whole"
            raise self._broken(Unavailable(words, cut=True), into)

    def _said_inside(self, error: anthropic.APIStatusError) -> ProviderError:
        headers = error.response.headers
        return body_fault(error.body, account=self._account, headers=headers, cut=True)

    def _broken(self, fault: ProviderError, gathered: Gathered) -> ProviderError:
        """The fault of a reply that broke off, with what the server had counted by then."""
        fault.cut = 1
        fault.usage = gathered.usage if gathered.counts else None
        return fault

    # --- refusals ---------------------------------------------------------------------------

    def _learned(
        self, error: anthropic.APIStatusError, request: Request, sent: Sent, bends: Bends
    ) -> bool:
        words = words_of_sdk(error)
        if words is None or words.status not in _REFUSED:
            return False
        refusal = Refusal(
            words=words.message,
            body=sent.body,
            manners=self._asking.manners,
            bends=bends,
            limited=request.params.get("max_output_tokens") is not None,
            schema=schema_digest(request.schema),
        )
        return learn(refusal)

    def _fault(self, error: anthropic.APIStatusError, attempts: int, sent: Sent) -> ProviderError:
        fault = sdk_fault(error, account=self._account)
        if _is_spent(error):
            fault = QuotaExhausted(f"{fault} (a limit of spending is reached)")
        fault.attempts, fault.notes = attempts, tuple(sent.notes)
        return fault

    # --- reasoning that belongs to tool calls -----------------------------------------------

    def _remember(self, gathered: Gathered, sent: Sent) -> None:
        """Keeps a message with reasoning and tool calls: it must be sent back as it came."""
        kinds = {part.kind for part in gathered.parts.values()}
        if "tool_use" not in kinds or not kinds & {"thinking", "redacted_thinking"}:
            return
        blocks = [part.echo() for part in gathered.ordered]
        calls = [part.call for part in gathered.ordered if part.kind == "tool_use"]
        if any(block is None for block in blocks) or any(c.name == sent.answer for c in calls):
            return
        self._memory[safe_id(calls[0].id)] = [block for block in blocks if block]
        while len(self._memory) > _MOST_REMEMBERED:
            self._memory.popitem(last=False)

    def _recall(self, message: Message) -> Sequence[Block] | None:
        if message.role != "assistant" or not message.tool_calls:
            return None
        return self._memory.get(safe_id(message.tool_calls[0].id))


async def _take(stream: anthropic.AsyncStream[object], into: Gathered) -> None:
    """Takes what comes: events, or from a server that does not stream the whole message."""
    if "json" in stream.response.headers.get("content-type", ""):
        message = json.loads(await stream.response.aread())
        into.message(message if isinstance(message, dict) else {})
        return
    async for event in _events(stream):
        into.take(event)
        if into.finished:
            break
    with suppress(TimeoutError, anthropic.APIError, httpx2.HTTPError, ValueError):
        async with asyncio.timeout(_END_SECONDS):  # read to its end, a connection can be used again
            async for _ in _events(stream):
                pass


async def _events(stream: anthropic.AsyncStream[object]) -> AsyncIterator[object]:
    """What is left of a stream; breaking off does not end it, as it would in a loop over it."""
    while True:
        try:
            event = await anext(stream)
        except StopAsyncIteration:
            return
        yield event


def _is_spent(error: anthropic.APIStatusError) -> bool:
    said = words_of(error.status_code, error.body).message
    return error.error_code in _SPENT or "specified API usage limits" in said
