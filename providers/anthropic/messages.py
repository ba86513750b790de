"""The conversation as the Messages API takes it: system apart, turns that alternate, no empty text.

Pure functions of the messages; what a tool call's id or arguments lack to be accepted is mended the
same way every time, so that the same conversation is always sent as the same bytes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from orglab.providers.base import BadRequest, Message, ToolCall
from orglab.providers.structured_output.strict_json import JSONError, loads

MessageBlock: TypeAlias = dict[str, Any]
"""A content block as the API takes it."""

UNREADABLE: Final = "unreadable"
"""Where arguments that are no JSON object stand, whole, in the object that the API wants."""

_UNSAFE: Final = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_ID: Final = 64


class Conversation(NamedTuple):
    """A conversation for the API.

    Attributes:
        system: The system text, "" where there is none.
        turns: Messages of the API, user and assistant in turn.
    """

    system: str
    turns: list[dict[str, Any]]


def conversation(
    messages: Sequence[Message],
    *,
    names: Mapping[str, str] | None = None,
    remembered: Callable[[Message], Sequence[MessageBlock] | None] = lambda _: None,
) -> Conversation:
    """Turn messages into what the API takes.

    System messages at the head become the system text; a later one is said by the user. Messages of
    one speaker in a row become one, all results of an assistant message first. Blank texts are left
    out, and a last message of the assistant loses the white space at its end: the API refuses both.

    Args:
        messages: The conversation.
        names: Names of tools as they are sent, by the spec's name.
        remembered: Gives the blocks of an assistant message as the server sent them, reasoning
            included, where they are still known.

    Raises:
        BadRequest: No text is left to answer.
    """
    head = next((i for i, each in enumerate(messages) if each.role != "system"), len(messages))
    turns: list[dict[str, Any]] = []
    for message in messages[head:]:
        _append_blocks(turns, message, remembered(message) or _blocks(message, names or {}))
    system = "\n\n".join(each.content for each in messages[:head] if each.content.strip())
    if not turns:  # the API wants a turn of the user: what there is to say is said there
        turns, system = _only_system(system), ""
    _results_first(turns)
    _trim_end(turns[-1])
    return Conversation(system, turns)


def _only_system(system: str) -> list[dict[str, Any]]:
    if not system:
        raise BadRequest("there is nothing to ask: all messages are blank")
    return [{"role": "user", "content": [_text_block(system)]}]


def _append_blocks(
    turns: list[dict[str, Any]], message: Message, blocks: Sequence[MessageBlock]
) -> None:
    if not blocks:
        return
    role = "assistant" if message.role == "assistant" else "user"
    if turns and turns[-1]["role"] == role:
        turns[-1]["content"].extend(blocks)
    else:
        turns.append({"role": role, "content": list(blocks)})


def _blocks(message: Message, names: Mapping[str, str]) -> list[MessageBlock]:
    if message.role == "tool":
        return [_result_block(message)]
    blocks = [_text_block(message.content)] if message.content.strip() else []
    return blocks + [_call_block(call, names) for call in message.tool_calls]


def _text_block(text: str) -> MessageBlock:
    return {"type": "text", "text": text}


def _result_block(message: Message) -> MessageBlock:
    block: MessageBlock = {
        "type": "tool_result",
        "tool_use_id": safe_id(message.tool_call_id or ""),
    }
    if message.content.strip():
        block["content"] = message.content
    return block


def _call_block(call: ToolCall, names: Mapping[str, str]) -> MessageBlock:
    name = names.get(call.name) or _UNSAFE.sub("_", call.name)[:_LONGEST_ID] or "_"
    return {
        "type": "tool_use",
        "id": safe_id(call.id),
        "name": name,
        "input": _call_input(call.arguments),
    }


def _call_input(arguments: str) -> MessageBlock:
    """Return the arguments as an object; what is none is shown to the model as it wrote it."""
    if not arguments.strip():
        return {}
    try:
        value = loads(arguments)
    except JSONError:
        return {UNREADABLE: arguments}
    return value if isinstance(value, dict) else {UNREADABLE: arguments}


def _results_first(turns: list[dict[str, Any]]) -> None:
    for turn in turns:
        if turn["role"] == "user":
            turn["content"].sort(key=lambda block: block["type"] != "tool_result")


def _trim_end(last: dict[str, Any]) -> None:
    block = last["content"][-1]
    if last["role"] == "assistant" and block["type"] == "text":
        last["content"][-1] = _text_block(block["text"].rstrip())


def safe_id(call_id: str) -> str:
    """Return a tool call's id with the API's letters only; different ids stay different."""
    if call_id and len(call_id) <= _LONGEST_ID and not _UNSAFE.search(call_id):
        return call_id
    mark = hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:12]
    return f"{_UNSAFE.sub('_', call_id)[:40]}_{mark}"


def safe_names(names: Sequence[str]) -> dict[str, str]:
    """Return each tool's name with the API's letters only, by the name in the spec."""
    return {
        name: name if len(name) <= _LONGEST_ID and not _UNSAFE.search(name) else safe_id(name)
        for name in names
    }
