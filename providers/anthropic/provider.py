"""Anthropic's models, and any server that speaks the Messages API, by the anthropic SDK.

One call is one streamed request; ``docs/how-to/hosted-models.md`` tells what an author may write. The SDK
repeats nothing: what can be retried is retried by the model client.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias, cast, get_args

from orglab.providers.anthropic.capabilities import CallAdjustments, Refusal, capabilities_of, learn
from orglab.providers.anthropic.messages import MessageBlock, safe_id
from orglab.providers.anthropic.request import (
    OWN_URL,
    PARAMETERS,
    PreparedRequest,
    RequestBuilder,
    schema_digest,
)
from orglab.providers.anthropic.response import StreamedReply, completion_of
from orglab.providers.base import (
    JSON,
    Completion,
    Message,
    Provider,
    ProviderError,
    Request,
)
from orglab.providers.hosted.account import Account, open_account
from orglab.providers.hosted.errors import ServerMessage
from orglab.providers.hosted.health import server_health
from orglab.providers.options import choice_option, flag_option, known_options

if TYPE_CHECKING:  # the SDK is optional, and slow to import
    from orglab.providers.anthropic.transport import Sender

StructureOption: TypeAlias = Literal["format", "tool"]
"""How structured answers are asked for: by the server's output format, or as a tool's input."""

KEY_VARIABLE: Final = "ANTHROPIC_API_KEY"
"""The variable that holds the key for them by custom."""

_OPTIONS: Final = frozenset({"api_key_env", "base_url", "cache", "structure"})
_VERSION: Final = "2023-06-01"  # of the API, as the SDK sends it
_MOST_TRIES: Final = 6  # one as written, and one for each thing that may be refused
_MOST_REMEMBERED: Final = 2048  # assistant messages with reasoning, in tool loops under way
_REFUSED: Final = frozenset((400, 422))


class AnthropicProvider(Provider):
    """One model of a server that speaks the Messages API."""

    parameters: ClassVar[frozenset[str] | None] = PARAMETERS | {"seed"}
    #: Keys of a model's entry beyond those that every model has.
    options: ClassVar[frozenset[str] | None] = _OPTIONS
    default_concurrency: ClassVar[int] = 256  # the limit of the account is found by trying

    def __init__(
        self,
        model: str,
        account: Account,
        *,
        cache: bool = False,
        structure: StructureOption | None = None,
    ) -> None:
        """Make a provider; nothing is sent.

        Args:
            model: The model's name.
            account: Where to ask, and who pays.
            cache: Mark conversations for the server's prompt cache.
            structure: How structured answers are asked for; None: by ``format``, which a server
                that is not Anthropic's may take and pass over.
        """
        self._account = account
        self._memory: OrderedDict[str, list[MessageBlock]] = OrderedDict()
        self._builder = RequestBuilder(
            capabilities=capabilities_of(account.base_url, model),
            cache=cache,
            by_tool=structure == "tool",
            holds=structure == "format" or account.base_url == OWN_URL,
            remembered=self._recall,
        )
        self._sender: Sender | None = None

    @classmethod
    def from_spec(cls, model: str, options: Mapping[str, JSON]) -> AnthropicProvider:
        """Make the provider of one model.

        Args:
            model: The model's name, such as ``claude-haiku-4-5``.
            options: ``base_url`` (default: Anthropic's own), ``api_key_env`` (default
                ``ANTHROPIC_API_KEY``), ``cache`` (default false), ``structure`` (``format`` or
                ``tool``).

        Raises:
            ValueError: The key is missing, or an option is wrong.
        """
        options = known_options(options, _OPTIONS, "model of provider anthropic")
        if not model:
            raise ValueError(
                "a model of provider anthropic needs `model`, such as claude-haiku-4-5"
            )
        cache = flag_option(options, "cache", "anthropic")
        structure = choice_option(options, "structure", "anthropic", get_args(StructureOption))
        account = open_account(options, own_url=OWN_URL, own_variable=KEY_VARIABLE)
        return cls(model, account, cache=cache, structure=cast("StructureOption | None", structure))

    def account(self) -> str:
        """Return the server and the variable that holds the key."""
        return str(self._account)

    async def complete(self, request: Request) -> Completion:
        """Ask the model; once more in another way for each thing that it refuses by name.

        Raises:
            ProviderError: The call gave no answer.
        """
        sender = self._open_sender()  # before the clock: the first call imports the SDK
        clock = asyncio.get_running_loop().time
        begun, adjustments, attempt = clock(), CallAdjustments(), 0
        while True:
            attempt += 1
            sent, sent_at = self._builder.sent(request, adjustments), clock()
            try:
                answer = await sender.send(sent)
            except ProviderError as error:
                raise _with_attempts(error, attempt, sent) from None
            if isinstance(answer, StreamedReply):
                self._remember(answer, sent)
                return replace(
                    completion_of(answer, sent),
                    attempts=attempt,
                    service_seconds=clock() - sent_at,
                    waiting_seconds=sent_at - begun,
                )
            if attempt == _MOST_TRIES or not self._other_way(
                request, sent, adjustments, answer.message
            ):
                raise _with_attempts(answer.error, attempt, sent)

    async def reachable(self, model: str) -> str:
        """Ask the server for its list of models, which costs nothing."""
        headers = {"x-api-key": self._account.sent_key, "anthropic-version": _VERSION}
        return await server_health(self._account, "/v1/models?limit=1000", headers, model)

    async def aclose(self) -> None:
        """Close the connections."""
        sender, self._sender = self._sender, None
        if sender is not None:
            await sender.aclose()

    def _open_sender(self) -> Sender:
        if self._sender is None:
            from orglab.providers.anthropic.transport import Sender

            self._sender = Sender(self._account)
        return self._sender

    def _other_way(
        self,
        request: Request,
        sent: PreparedRequest,
        adjustments: CallAdjustments,
        message: ServerMessage,
    ) -> bool:
        """Return whether the request can be sent another way, which another call may have found."""
        if message.status not in _REFUSED:
            return False
        refusal = Refusal(
            message=message.message,
            body=sent.body,
            capabilities=self._builder.capabilities,
            adjustments=adjustments,
            limited=request.params.get("max_output_tokens") is not None,
            schema=schema_digest(request.schema),
        )
        return self._builder.sent(request, adjustments).body != sent.body or learn(refusal)

    # --- reasoning that belongs to tool calls -----------------------------------------------

    def _remember(self, gathered: StreamedReply, sent: PreparedRequest) -> None:
        """Keep a message with reasoning and tool calls: it must be sent back as it came."""
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

    def _recall(self, message: Message) -> Sequence[MessageBlock] | None:
        key = safe_id(message.tool_calls[0].id) if message.tool_calls else ""
        if key in self._memory:
            self._memory.move_to_end(key)
        return self._memory.get(key)


def _with_attempts(error: ProviderError, attempts: int, sent: PreparedRequest) -> ProviderError:
    error.attempts, error.notes = attempts, (*sent.notes, *error.notes)
    return error
