"""The provider port: what a model is asked, what it answers, how it fails.

A provider is one class with one required method, ``complete``. Tools that models call share this
module, so that the author of a plugin imports this and nothing else of orglab.

Errors::

    ProviderError                 a call that gave no answer
    ├── ContextOverflow           prompt and reply do not fit the window; never sent unchanged again
    ├── BadRequest                the server refuses the request as it stands
    ├── AuthenticationFailed      the key is missing or wrong
    ├── QuotaExhausted            waiting does not help
    ├── RateLimited               retry after a wait
    ├── Unavailable               the server fails or is out of reach; retry later
    └── NoScriptedReply           the script has no line left for this call
    ToolError                     a tool's refusal in words that a model can act on
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

__all__ = [
    "JSON",
    "AuthenticationFailed",
    "BadRequest",
    "Completion",
    "ContextOverflow",
    "Interrupted",
    "Labels",
    "Message",
    "NoScriptedReply",
    "Provider",
    "ProviderError",
    "QuotaExhausted",
    "RateLimited",
    "Request",
    "StopReason",
    "TokenUsage",
    "Tool",
    "ToolCall",
    "ToolDefinition",
    "ToolError",
    "Unavailable",
]

JSON: TypeAlias = Any
"""A value that strict JSON can hold: no NaN, no infinity, text keys only."""

StopReason: TypeAlias = Literal["stop", "length", "tool_calls", "refusal"]
"""Why the model stopped: by itself, cut by the token limit, to have tools called, or it refused."""


class ProviderError(Exception):
    """Raised when a call gave no answer. ``kind`` is the error's name in records.

    Attributes:
        attempts: Requests sent.
        cut: Of them, those that the server may have worked on and billed, unknown to us: stalled,
            or broken off before the count of tokens came.
        waiting_seconds: Seconds waited between them.
        usage: Tokens that the server counted all the same.
        notes: What was changed on the way, in words.
    """

    kind: ClassVar[str] = "provider error"
    attempts: int = 1
    cut: int = 0
    waiting_seconds: float = 0.0
    usage: TokenUsage | None = None
    notes: tuple[str, ...] = ()


class ContextOverflow(ProviderError):
    """Raised when prompt and reply do not fit the model's window.

    Attributes:
        needed: Tokens of the prompt and of the reply asked for, together; None where unknown.
        window: Tokens that the window holds; None where unknown.
    """

    kind = "context overflow"

    def __init__(
        self, message: str, *, needed: int | None = None, window: int | None = None
    ) -> None:
        super().__init__(message)
        self.needed = needed
        self.window = window


class BadRequest(ProviderError):
    """Raised when the server refuses the request as it stands."""

    kind = "bad request"


class AuthenticationFailed(ProviderError):
    """Raised when the key is missing or wrong."""

    kind = "authentication"


class QuotaExhausted(ProviderError):
    """Raised when the account is empty: waiting does not help."""

    kind = "quota exhausted"


class RateLimited(ProviderError):
    """Raised when the server asks to wait.

    Attributes:
        retry_after: Seconds the server names, or None.
    """

    kind = "rate limited"

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Unavailable(ProviderError):
    """Raised when the server fails, stalls or is out of reach.

    Attributes:
        retry_after: Seconds the server names, or None.
        overloaded: The server says that it has too much to do (503, 529, overload in a stream).
    """

    kind = "unavailable"

    def __init__(
        self,
        message: str,
        *,
        retry_after: float | None = None,
        overloaded: bool = False,
        cut: bool = False,
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.overloaded = overloaded
        self.cut = int(cut)


class NoScriptedReply(ProviderError):
    """Raised when the script has no line left that fits the call."""

    kind = "no scripted reply"


class Interrupted(BaseException):
    """Raised where a call is not begun, or not answered, because the user stops.

    The run can go on later. It is no ``Exception``, so that nothing which records the faults of
    plugins takes it for one.
    """


class ToolError(Exception):
    """Raised by a tool to refuse: its text goes to the model as the call's result."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """A model's wish to have a tool called.

    Attributes:
        id: The call's id, echoed in the message with its result.
        name: The tool's name as the model wrote it.
        arguments: The arguments' text exactly as the model wrote it; it may be no JSON at all.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One message of a conversation.

    Attributes:
        role: Who speaks.
        content: The text; for ``tool``, the result as JSON text.
        tool_calls: Calls that an assistant message asks for.
        tool_call_id: For ``tool``: the id of the call that this answers.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolDefinition:
    """Description of a tool for the model.

    Attributes:
        name: The name in the spec, by which the model calls it.
        description: What it does, in a sentence or two.
        parameters: JSON Schema of the arguments, an object with ``additionalProperties: false``.
    """

    name: str
    description: str
    parameters: Mapping[str, JSON]


@dataclass(frozen=True, kw_only=True, slots=True)
class Labels:
    """What a call is for. Providers of real models send none of it.

    Attributes:
        unit: The unit's id.
        replicate: The replicate, from 0.
        role: The role that speaks (the superior, in a review).
        copy: ``writer``, or ``writer#2`` for the second of several replicas.
        visit: Which turn of this copy in the run this is, reviews included, from 1.
        purpose: A role's own turn, a review, or a judge's work.
        reviewed: In a review: the copy whose output is under review.
        call: Which call of this turn it is, from 0 (after tool results and repairs it grows).
        earlier: The visit of each earlier call of this copy in the run, in order: with it a
            provider can tell what it answered before without keeping state.
        within: For a role of a team within the team: the output that its run is to give, such as
            ``lead@2``; role, copy and visit are then those of that run. "" else.
    """

    unit: str = ""
    replicate: int = 0
    role: str = ""
    copy: str = ""
    visit: int = 1
    purpose: Literal["turn", "review", "judge"] = "turn"
    reviewed: str | None = None
    call: int = 0
    earlier: tuple[int, ...] = ()
    within: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One call of a model.

    Attributes:
        model: The exact model name.
        messages: The conversation, system message (if any) first.
        tools: Tools that the conversation is about; they stay when none may be called any more.
        must_answer: No tool may be called now: the model must answer.
        schema: JSON Schema that the reply must fit, or None for free text.
        params: Sampling parameters, only those that the author wrote.
        seed: Sampling seed (0 to 2**31 - 1) derived by the engine from the identity of the call.
        identity: Hex digest of everything that makes this call what it is.
        labels: What the call is for.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    schema: Mapping[str, JSON] | None = None
    params: Mapping[str, JSON] = field(default_factory=dict)
    must_answer: bool = False
    seed: int = 0
    identity: str = ""
    labels: Labels = field(default_factory=Labels)


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenUsage:
    """Tokens of one call, as the provider counts them.

    Attributes:
        input: Tokens read, cached ones included.
        output: Tokens written, reasoning included.
        cached_input: Part of ``input`` that came from the provider's cache.
        reasoning: Part of ``output`` that was reasoning.
        cache_write: Part of ``input`` that was written to the provider's cache, where that is
            counted (and billed) apart.
    """

    input: int = 0
    output: int = 0
    cached_input: int = 0
    reasoning: int = 0
    cache_write: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """One reply of a model.

    Attributes:
        text: The reply's text, reasoning apart where the provider tells it apart.
        tool_calls: Tools that the model wants called.
        native: The text was held to the request's schema by the provider's own means.
        reasoning: Reasoning text that came apart from the reply.
        stop: Why the model stopped.
        usage: Tokens.
        model: The model that really served, as the provider names it.
        fingerprint: The provider's name for the serving configuration, where it gives one.
        service_seconds: Seconds from sending the request that was answered to its reply.
        waiting_seconds: Seconds waited before (rate limits, retries, a lock).
        attempts: Requests sent to get this reply.
        cut: Of them, those that the server may have billed unknown to us.
        simulated: No language model wrote this.
        logprobs: Log probabilities of the reply's tokens, where the provider gives them:
            a list of ``{token, logprob, top?}``.
        notes: What was changed on the way, in words.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    native: bool = False
    reasoning: str = ""
    stop: StopReason = "stop"
    usage: TokenUsage = field(default_factory=TokenUsage)
    model: str = ""
    fingerprint: str | None = None
    service_seconds: float = 0.0
    waiting_seconds: float = 0.0
    attempts: int = 1
    cut: int = 0
    simulated: bool = False
    logprobs: Sequence[Mapping[str, JSON]] | None = None
    notes: tuple[str, ...] = ()


class Provider(ABC):
    """A family of models behind one way of asking.

    A plugin registers a subclass under the entry point group ``orglab.providers``. The engine
    makes one instance for each model of a spec by ``from_spec`` and shares it among all runs.
    """

    #: Parameters (keys of ``params``) that this provider takes; None: any.
    parameters: ClassVar[frozenset[str] | None] = None
    #: Options (further keys of a model's entry) that this provider takes; None: any.
    options: ClassVar[frozenset[str] | None] = None
    #: What an unpriced call costs: True for a model that no one bills.
    free: ClassVar[bool] = False
    #: Whether its replies are kept for other studies: False where they cost nothing to have again,
    #: or where the one who answers is a person.
    kept: ClassVar[bool] = True
    #: The largest number of calls worth having under way at once.
    default_concurrency: ClassVar[int] = 16

    @classmethod
    @abstractmethod
    def from_spec(cls, model: str, options: Mapping[str, JSON]) -> Provider:
        """Make the provider of one model.

        Args:
            model: The model's name, "" where the spec gives none.
            options: The other fields of the model's entry in the spec (``base_url``, ``file``,
                ``profile``, ``seed``, …); files as absolute paths.

        Raises:
            ValueError: An option is wrong; the text says which, what was expected, and how to fix it.
        """

    @abstractmethod
    async def complete(self, request: Request) -> Completion:
        """Ask the model once.

        Raises:
            ProviderError: The call gave no answer.
        """

    @classmethod
    def weights(cls, model: str, options: Mapping[str, JSON]) -> Path | None:  # noqa: ARG003 - the port's
        """Return the file of weights that an entry means; None where there is none on this machine.

        Its content is part of what a spec and a call are known by.
        """
        return None

    def account(self) -> str | None:
        """Return what a server counts our calls by: its address and the variable that holds the key.

        Models of one account share one limit of calls at once. None: no server is asked, and the
        calls are neither limited adaptively nor sent again.
        """
        return None

    async def reachable(self, model: str) -> str:  # noqa: ARG002 - most have nothing to reach
        """Return whether the model could be asked, in words, for ``orglab models --check``.

        It costs nothing, takes some seconds at most, and raises nothing: an error is text too.

        Args:
            model: The model's name.
        """
        return "needs no server"

    async def aclose(self) -> None:  # noqa: B027 - most providers hold nothing
        """Free what the provider holds (connections, memory). Called once, at the end."""


class Tool(ABC):
    """A thing that roles may call, and that evaluators may use.

    A tool is a dataclass whose fields are its settings (``with:`` in a spec). A field annotated
    ``Path`` is a file: the engine resolves it and keeps it inside the spec's folder, before the
    tool is made. A plugin registers the class under the entry point group ``orglab.tools``.
    """

    #: Description of the tool for the model.
    description: ClassVar[str]
    #: JSON Schema of the arguments: ``type: object`` with ``additionalProperties: false``.
    parameters: ClassVar[Mapping[str, JSON]]

    @abstractmethod
    async def call(self, arguments: Mapping[str, JSON]) -> JSON:
        """Do the work on arguments that fit ``parameters``.

        Returns:
            A bounded value that strict JSON can hold.

        Raises:
            ToolError: The tool refuses; the text tells the model what to do instead.
        """
