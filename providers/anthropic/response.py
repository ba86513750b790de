"""The reply of the Messages API as a completion: text, calls and reasoning separated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orglab.providers.anthropic.request import PreparedRequest
from orglab.providers.anthropic.stream import StreamedReply
from orglab.providers.base import Completion, StopReason, ToolCall
from orglab.providers.structured_output.tool_call_emulation import written_members

__all__ = ["completion_of"]


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
        tool_calls=tuple(_with_spec_names(others, sent)),
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


def _with_spec_names(calls: Sequence[ToolCall], sent: PreparedRequest) -> list[ToolCall]:
    return [replace(call, name=sent.names.get(call.name, call.name)) for call in calls]
