"""A request as the Messages API takes it, with notes of all that is not as it was asked.

Nothing is sent that the author did not write, but for ``max_tokens``, which the API wants: where
the author writes no ``max_output_tokens`` it is the most that the model can write.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from orglab.providers.anthropic.capabilities import SAMPLING, CallAdjustments, MessagesCapabilities
from orglab.providers.anthropic.messages import MessageBlock, conversation, safe_names
from orglab.providers.anthropic.output_schema import answer_schema, enforced_schema, is_wrapped
from orglab.providers.base import JSON, BadRequest, Message, Request
from orglab.providers.structured_output.strict_json import canonical

OWN_URL: Final = "https://api.anthropic.com"
"""Where Anthropic's own models are asked."""

PARAMETERS: Final = frozenset(
    {*SAMPLING, "effort", "extra_body", "max_output_tokens", "service_tier", "stop", "thinking"}
)
"""What an author may write under ``params``; ``extra_body`` is a map of any other fields."""

OURS: Final = frozenset(
    ("max_tokens", "messages", "model", "output_config", "stream", "system", "tool_choice", "tools")
)
"""Fields that only the engine sets."""

SAMPLING_VERSION: Final = "2023-06-01"
"""The API version that takes sampling parameters; the next one refuses them for every model."""

UNKNOWN_LIMIT: Final = 4096
"""Tokens of reply where a model is none of Anthropic's and the author writes no limit."""

# The most tokens that models write, as Anthropic's overview of models gives them; first match.
_LIMITS: Final = (
    (r"claude-3-(?:opus|sonnet|haiku)", 4096),
    (r"claude-3-5", 8192),
    (r"claude-opus-4(?:-[01])?(?:-2025\d{4})?$", 32_000),
    (r"claude-(?:3-7|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:-2025\d{4})?$)", 64_000),
    (r"claude-", 128_000),
)
_ADDENDUM: Final = "Give your final answer by calling the tool `{}`, and only so."
_TELL: Final = "Gives the final answer. Call it once, when you are done."

Tools: TypeAlias = list[dict[str, Any]]


def most_output(model: str) -> int:
    """Return the most tokens that a model writes, as far as it is known; a server corrects it."""
    name = model.rsplit("/", 1)[-1].replace(".", "-")
    return next((most for known, most in _LIMITS if re.match(known, name)), UNKNOWN_LIMIT)


def schema_digest(schema: Mapping[str, JSON] | None) -> str:
    """Return a schema's name in what is remembered of it."""
    if schema is None:
        return ""
    return hashlib.sha256(canonical(schema).encode("utf-8", "replace")).hexdigest()[:16]


@dataclass(kw_only=True, slots=True)
class PreparedRequest:
    """A request on its way, and how its reply is to be read.

    Attributes:
        body: The body.
        headers: Headers beyond the SDK's own.
        notes: What was changed, in words.
        answer: The name of the tool by which the answer is given, or None.
        wrapped: The answer stands inside the tool's input.
        names: The spec's names of tools by the names sent.
        native: The server holds the whole reply to the schema.
    """

    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    answer: str | None = None
    wrapped: bool = False
    names: dict[str, str] = field(default_factory=dict)
    native: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestBuilder:
    """Makes requests for one model.

    Attributes:
        capabilities: What the model is known not to take.
        cache: Mark the conversation for the server's cache.
        by_tool: Ask for structured answers as a tool's input, whatever the model can.
        holds: The server is known to hold replies to an output format, and does not pass it over.
        remembered: Blocks of an assistant message as the server sent them, where still known.
    """

    capabilities: MessagesCapabilities
    cache: bool = False
    by_tool: bool = False
    holds: bool = True
    remembered: Callable[[Message], Sequence[MessageBlock] | None] = lambda _: None

    def sent(self, request: Request, adjustments: CallAdjustments) -> PreparedRequest:
        """Return the request as it goes out.

        Raises:
            BadRequest: A parameter is none of the API's, or there is nothing to ask.
        """
        names = safe_names([tool.name for tool in request.tools])
        sent = PreparedRequest(
            body={"model": request.model}, names={new: old for old, new in names.items()}
        )
        self._write_params(sent, request, adjustments)
        talk = conversation(request.messages, names=names, remembered=self.remembered)
        sent.body["messages"] = talk.turns
        if talk.system:
            sent.body["system"] = talk.system
        if request.tools:
            sent.body["tools"] = _tools(request, names)
        self._structure(sent, request)
        if self.cache:
            self._optional(sent, "cache_control", {"type": "ephemeral"})
        return sent

    # --- parameters -------------------------------------------------------------------------

    def _write_params(
        self, sent: PreparedRequest, request: Request, adjustments: CallAdjustments
    ) -> None:
        params = {name: value for name, value in request.params.items() if value is not None}
        if unknown := sorted(set(params) - PARAMETERS):
            known = ", ".join(sorted(PARAMETERS))
            raise BadRequest(
                f"unknown parameter `{unknown[0]}` for provider `anthropic`; known: {known}"
            )
        self._limit(sent, params.pop("max_output_tokens", None), adjustments)
        self._think(sent, params.pop("thinking", None), adjustments)
        if (stop := params.pop("stop", None)) is not None:
            sent.body["stop_sequences"] = [stop] if isinstance(stop, str) else list(stop)
        if (effort := params.pop("effort", None)) is not None:
            self._effort(sent, effort)
        sent.body.update(_extra(params.pop("extra_body", {})))
        for name, value in params.items():
            self._optional(sent, name, value)
        if any(name in sent.body for name in SAMPLING):
            sent.headers["anthropic-version"] = SAMPLING_VERSION

    def _limit(self, sent: PreparedRequest, written: JSON, adjustments: CallAdjustments) -> None:
        tokens = most_output(sent.body["model"]) if written is None else written
        most = [
            each
            for each in (self.capabilities.most_output, adjustments.most_output)
            if each is not None
        ]
        sent.body["max_tokens"] = min([tokens, *most]) if type(tokens) is int else tokens
        now = sent.body["max_tokens"]
        if written is None:
            sent.notes.append(f"max_tokens is {now}, the most known for the model: none is written")
        elif now != written:
            sent.notes.append(
                f"max_tokens is {now} in place of {written}: the server takes no more"
            )

    def _think(self, sent: PreparedRequest, written: JSON, adjustments: CallAdjustments) -> None:
        thinking = None if written is None else _thinking(written)
        if adjustments.unthinking:
            thinking = {"type": "disabled"}
            sent.notes.append("no thinking in this call: what belongs to its tool calls is lost")
        elif thinking is not None and self.capabilities.adaptive and thinking["type"] == "enabled":
            budget = thinking.pop("budget_tokens", None)
            thinking["type"] = "adaptive"
            sent.notes.append(
                f"thinking is adaptive: the model takes no budget (of {budget} tokens)"
            )
        if thinking is not None:
            sent.body["thinking"] = thinking

    def _effort(self, sent: PreparedRequest, effort: JSON) -> None:
        if "effort" in self.capabilities.unsent:
            sent.notes.append(_unsent("effort"))
        else:
            sent.body["output_config"] = {"effort": effort}

    def _optional(self, sent: PreparedRequest, name: str, value: JSON) -> None:
        if name in self.capabilities.unsent:
            sent.notes.append(_unsent(name))
        else:
            sent.body[name] = value

    # --- the shape of the answer ------------------------------------------------------------

    def _structure(self, sent: PreparedRequest, request: Request) -> None:
        if request.schema is not None and not self._format(sent, request):
            self._by_tool(sent, request, request.schema)
        elif request.must_answer and request.tools:
            sent.body["tool_choice"] = {"type": "none"}

    def _format(self, sent: PreparedRequest, request: Request) -> bool:
        """Have the server hold the reply to the schema; False where it cannot."""
        if self.by_tool or self.capabilities.by_tool or request.schema is None:
            return False
        held = enforced_schema(request.schema)
        if held is None or schema_digest(request.schema) in self.capabilities.unheld:
            return False
        shape = {"type": "json_schema", "schema": held.schema}
        sent.body["output_config"] = {**sent.body.get("output_config", {}), "format": shape}
        sent.native = self.holds and not held.loose
        if held.loose:
            sent.notes.append(f"the server does not hold the reply to: {', '.join(held.loose)}")
        return True

    def _by_tool(self, sent: PreparedRequest, request: Request, schema: Mapping[str, JSON]) -> None:
        """Ask for the answer as the input of a tool, which is forced where that can be."""
        taken = set(sent.names)
        sent.answer = next(n for n in ("answer", "final_answer", "answer_") if n not in taken)
        sent.wrapped = is_wrapped(schema)
        tool = {"name": sent.answer, "description": _TELL, "input_schema": answer_schema(schema)}
        sent.body["tools"] = [*sent.body.get("tools", []), tool]
        if not self.by_tool:
            sent.notes.append("the answer is a tool's input: the server does not hold the schema")
        manual = sent.body.get("thinking", {}).get("type") == "enabled"
        if self.capabilities.unforced or manual:
            sent.notes.append("the answer's tool is asked for and not forced: the model thinks")
            system = sent.body.get("system")
            lines = [system] if system else []
            sent.body["system"] = "\n\n".join([*lines, _ADDENDUM.format(sent.answer)])
        elif request.must_answer or not request.tools:
            sent.body["tool_choice"] = {"type": "tool", "name": sent.answer}
        else:
            sent.body["tool_choice"] = {"type": "any"}


def _tools(request: Request, names: Mapping[str, str]) -> Tools:
    return [
        {
            "name": names[tool.name],
            "description": tool.description,
            "input_schema": dict(tool.parameters),
        }
        for tool in request.tools
    ]


def _extra(written: JSON) -> dict[str, Any]:
    if not isinstance(written, Mapping):
        raise BadRequest(f"extra_body must be a mapping, not {written!r}")
    if ours := sorted(OURS & set(written)):
        raise BadRequest(f"{ours[0]} is set by the engine: remove it from extra_body")
    return dict(written)


def _thinking(written: JSON) -> dict[str, Any]:
    """Return a budget in tokens, a word such as ``adaptive``, or the API's own object."""
    if isinstance(written, Mapping) and "type" in written:
        return dict(written)
    if isinstance(written, str):
        return {"type": written}
    if type(written) is int:
        return {"type": "enabled", "budget_tokens": written}
    raise BadRequest(
        "thinking must be a word (adaptive, disabled), a budget of tokens, or an object with `type`, "
        f"not {written!r}"
    )


def _unsent(name: str) -> str:
    return f"{name} was not sent: this model does not take it"
