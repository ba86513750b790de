"""A streamed reply of the Messages API: its events gathered, then read as a completion.

Pieces are joined once, at the end, exactly as they came. What was counted is known at any moment,
so that a stream that breaks off can still report its usage.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from orglab.providers.anthropic.messages import MessageBlock
from orglab.providers.anthropic.request import PreparedRequest
from orglab.providers.base import JSON, Completion, StopReason, TokenUsage, ToolCall
from orglab.providers.hosted.account import MOST_TOKENS, as_map
from orglab.providers.structured_output.strict_json import spaced
from orglab.providers.structured_output.tool_call_emulation import written_members


def completion_of(gathered: StreamedReply, sent: PreparedRequest) -> Completion:
    """Return what a whole reply says.

    Where the answer was asked for as a tool's input, the text is that input exactly as it was
    written, and what stood beside it goes to the reasoning. An answer given beside calls of other
    tools was given before their results: the calls count.

    Args:
        gathered: The reply.
        sent: The request that it answers.
    """
    text = "".join(part.text for part in gathered.ordered if part.kind == "text")
    thoughts = [part.text for part in gathered.ordered if part.kind == "thinking"]
    calls = [part.call for part in gathered.ordered if part.kind == "tool_use"]
    answers = [call for call in calls if call.name == sent.answer]
    others = [call for call in calls if call.name != sent.answer]
    notes = [*sent.notes, *gathered.notes()]
    stop = gathered.stop
    if answers and others:
        notes.append("an answer was given beside calls of tools: left out")
    elif answers:
        thoughts.append(text)
        text = "\n".join(_answer(call, stop, wrapped=sent.wrapped) for call in answers)
        stop = "stop" if stop == "tool_calls" else stop
    if any(part.kind == "redacted_thinking" for part in gathered.ordered):
        notes.append("some reasoning came encrypted and is not kept")
    if written := gathered.usage.cache_write:
        notes.append(f"{written} tokens were written to the server's cache")
    return Completion(
        text=text,
        tool_calls=tuple(
            replace(call, name=sent.names.get(call.name, call.name)) for call in others
        ),
        native=sent.native,
        reasoning="\n\n".join(each for each in thoughts if each.strip()),
        stop=stop,
        usage=gathered.usage,
        model=gathered.model,
        notes=tuple(notes),
    )


def _answer(call: ToolCall, stop: StopReason, *, wrapped: bool) -> str:
    """Return the answer in a tool's input; an input that was cut, or is no object, as it stands."""
    if not call.arguments.strip():
        return "" if stop == "length" else "{}"
    members = written_members(call.arguments) if wrapped else {}
    return members["answer"] if set(members) == {"answer"} else call.arguments


_STOPS: Final[Mapping[str, StopReason]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "length",
    "refusal": "refusal",
}
_COUNTS: Final = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
)


@dataclass(kw_only=True, slots=True)
class ContentPart:
    """One content block as it grows.

    Attributes:
        kind: ``text``, ``thinking``, ``redacted_thinking``, ``tool_use`` or another.
        begun: The block as it was begun.
        pieces: What was added.
        signature: What proves a thinking block to be the server's own.
    """

    kind: str
    begun: Mapping[str, JSON]
    pieces: list[str] = field(default_factory=list)
    signature: str = ""

    @property
    def text(self) -> str:
        """The block's text: what it began with and all that was added."""
        first = self.begun.get(self.kind if self.kind in ("text", "thinking") else "", "")
        return "".join([str(first or ""), *self.pieces])

    @property
    def call(self) -> ToolCall:
        """A tool call; its arguments as the model wrote them, "" where it wrote none."""
        arguments = "".join(self.pieces)
        given = self.begun.get("input")
        if not arguments and given:  # some servers send the input whole
            arguments = spaced(given)
        name, call_id = str(self.begun.get("name", "")), str(self.begun.get("id", ""))
        return ToolCall(id=call_id, name=name, arguments=arguments)

    def echo(self) -> MessageBlock | None:
        """Return the block as it must be sent back, unchanged; None where that cannot be done."""
        if self.kind == "text":
            return {"type": "text", "text": self.text} if self.text.strip() else {}
        if self.kind == "thinking":
            return {"type": "thinking", "thinking": self.text, "signature": self.signature}
        if self.kind == "redacted_thinking":
            return {"type": "redacted_thinking", "data": self.begun.get("data", "")}
        return self._echoed_call() if self.kind == "tool_use" else None

    def _echoed_call(self) -> MessageBlock | None:
        try:
            value = json.loads(self.call.arguments or "{}")
        except ValueError:
            return None
        block = {"type": "tool_use", "id": self.begun.get("id"), "name": self.begun.get("name")}
        return {**block, "input": value} if isinstance(value, dict) else None


@dataclass(kw_only=True, slots=True)
class StreamedReply:
    """What has come of a reply.

    Attributes:
        model: The model that serves, as the server names it.
        parts: Blocks by their index.
        counts: Tokens as the server counts them, the last word on each.
        reason: Why the model stopped, in the API's words; None: it has not.
        refusal: What the server says of a refusal.
        finished: The server said that the message is whole.
    """

    model: str = ""
    parts: dict[int, ContentPart] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    reason: str | None = None
    refusal: str = ""
    finished: bool = False

    def take(self, event: JSON) -> None:
        """Add an event; kinds that came after this was written are passed over."""
        event = as_map(event)
        match event.get("type"):
            case "message_start":
                self.message(as_map(event.get("message")))
            case "content_block_start":
                self._begin(event.get("index"), as_map(event.get("content_block")))
            case "content_block_delta":
                self._grow(event.get("index"), as_map(event.get("delta")))
            case "message_delta":
                self._stopped(as_map(event.get("delta")))
                self._count(as_map(event.get("usage")))
            case "message_stop":
                self.finished = True

    def message(self, message: Mapping[str, JSON]) -> None:
        """Add a message, as it begins in a stream, or whole from a server that does not stream."""
        self.model = str(message.get("model") or "")
        self._stopped(message)
        self._count(as_map(message.get("usage")))
        content = message.get("content")
        for index, block in enumerate(content if isinstance(content, list) else ()):
            self._begin(index, as_map(block))

    @property
    def whole(self) -> bool:
        """Return whether the reply is all there: its end was reported."""
        return self.reason is not None

    @property
    def stop(self) -> StopReason:
        """Return why the model stopped; a reason that came after this was written counts as a stop."""
        return _STOPS.get(self.reason or "", "stop")

    @property
    def ordered(self) -> list[ContentPart]:
        """The blocks in the order of their indices."""
        return [self.parts[index] for index in sorted(self.parts)]

    @property
    def usage(self) -> TokenUsage:
        """Tokens; those read from the cache and written to it stand beside the API's own count."""
        read = self.counts.get("cache_read_input_tokens", 0)
        written = self.counts.get("cache_creation_input_tokens", 0)
        return TokenUsage(
            input=self.counts.get("input_tokens", 0) + read + written,
            output=self.counts.get("output_tokens", 0),
            cached_input=read,
            cache_write=written,
            reasoning=self.counts.get("thinking_tokens", 0),
        )

    def notes(self) -> list[str]:
        """Return what an unusual end means, and what the server did not count."""
        found = [_ENDS[self.reason]] if self.reason in _ENDS else []
        if self.reason is not None and self.reason not in _STOPS:
            found.append(f"the server's reason to stop is not known here: {self.reason[:60]!r}")
        if self.refusal:
            found.append(f"refusal: {self.refusal}")
        if not self.counts:
            found.append("the server counted no tokens")
        return found

    def _begin(self, index: JSON, block: Mapping[str, JSON]) -> None:
        if isinstance(index, int):
            signature = str(block.get("signature") or "")
            self.parts[index] = ContentPart(
                kind=str(block.get("type")), begun=block, signature=signature
            )

    def _grow(self, index: JSON, delta: Mapping[str, JSON]) -> None:
        part = self.parts.get(index) if isinstance(index, int) else None
        piece = delta.get(_PIECES.get(str(delta.get("type")), ""))
        if part is None or not isinstance(piece, str):
            return
        if delta["type"] == "signature_delta":
            part.signature += piece
        else:
            part.pieces.append(piece)

    def _stopped(self, message: Mapping[str, JSON]) -> None:
        if message.get("stop_reason") is not None:
            self.reason = str(message["stop_reason"])
        if details := as_map(message.get("stop_details")):
            said = (details.get(name) for name in ("category", "explanation"))
            self.refusal = ": ".join(str(each)[:200] for each in said if each)

    def _count(self, usage: Mapping[str, JSON]) -> None:
        details = as_map(usage.get("output_tokens_details"))
        counts = {name: usage.get(name) for name in _COUNTS}
        counts["thinking_tokens"] = details.get("thinking_tokens")
        for name, tokens in counts.items():
            if not isinstance(tokens, int) or isinstance(tokens, bool):
                continue
            if 0 <= tokens <= MOST_TOKENS:
                self.counts[name] = tokens


_PIECES: Final = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
    "signature_delta": "signature",
}
_ENDS: Final[Mapping[str | None, str]] = {
    "model_context_window_exceeded": "the reply was cut: it filled the model's context window",
    "pause_turn": "the reply was cut: the server paused a long turn",
}
