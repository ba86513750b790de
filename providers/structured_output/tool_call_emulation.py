"""Tools for models that cannot call them: one constrained JSON object a turn, an action or an answer.

A request with tools becomes one whose schema is a union: ``{"tool": NAME, "arguments": {…}}`` for
each tool, or ``{"answer": …}``. The reply is read back into tool calls or text, so that the engine
sees no difference. Pure functions of their arguments: any provider can use them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from orglab.providers.base import JSON, Completion, Message, Request, ToolCall, ToolDefinition
from orglab.providers.structured_output.schema_merge import closed_object

ANSWER_CHARACTERS = 2000
"""Longest answer in free text beside tools, in characters: a grammar needs a bound."""

# Some servers' grammars let a text hold a bare line break; whoever reads the answer judges that.
_LENIENT = json.JSONDecoder(strict=False)

_INTRODUCTION = """\
Reply with one JSON object: {"tool": NAME, "arguments": {...}} to use a tool, \
or {"answer": ...} to finish.
Tools:"""


def with_actions(request: Request) -> Request:
    """Return the same request for a model without tool calls of its own.

    Tools become a schema and a few lines of the system text, which stay the same when the model
    must answer, so that what was read of the conversation can be reused; the schema then offers
    the answer alone. Calls and results in the conversation become plain messages.

    Args:
        request: What the engine asks.

    Returns:
        A request without tools and without tool messages.
    """
    messages = _folded(request.messages)
    if not request.tools:
        return replace(request, messages=messages)
    return replace(
        request,
        messages=_introduced(messages, request.tools),
        tools=(),
        schema=action_schema(() if request.must_answer else request.tools, request.schema),
    )


def action_schema(
    tools: Sequence[ToolDefinition], reply: Mapping[str, JSON] | None
) -> dict[str, JSON]:
    """JSON Schema of one action: a call of one of ``tools``, or an answer that fits ``reply``."""
    answer = {"type": "string", "maxLength": ANSWER_CHARACTERS} if reply is None else reply
    branches = [
        closed_object(
            {"tool": {"const": tool.name}, "arguments": _moved(tool.parameters, i, "arguments")}
        )
        for i, tool in enumerate(tools)
    ]
    branches.append(closed_object({"answer": _moved(answer, len(tools), "answer")}))
    return {"anyOf": branches}


def read_action(completion: Completion, request: Request) -> Completion:
    """Turn the action in a reply into a tool call, or into the answer's text.

    Args:
        completion: The reply to ``with_actions(request)``.
        request: The request as the engine asked it.

    Returns:
        The completion with ``tool_calls`` or with the answer as its text (JSON text where the
        request has a schema). A reply that is no action, such as a truncated one, stays as it is.
    """
    if not request.tools:
        return completion
    members = written_members(completion.text)
    if set(members) == {"tool", "arguments"}:
        return _called(completion, request, members)
    if set(members) == {"answer"}:
        return replace(completion, text=_answer(members["answer"], request))
    return replace(completion, notes=(*completion.notes, "the reply is no action"))


def _called(completion: Completion, request: Request, members: Mapping[str, str]) -> Completion:
    name = _LENIENT.decode(members["tool"])
    call = ToolCall(
        id=f"call-{request.labels.visit}-{request.labels.call}",
        name=name if isinstance(name, str) else members["tool"],
        arguments=members["arguments"],
    )
    stop = "tool_calls" if completion.stop == "stop" else completion.stop
    return replace(completion, text="", tool_calls=(call,), stop=stop)


def _answer(raw: str, request: Request) -> str:
    value = _LENIENT.decode(raw)
    return value if request.schema is None and isinstance(value, str) else raw


def written_members(text: str) -> dict[str, str]:
    """Return the members of one JSON object, each value as it was written; {} for anything else."""
    try:
        if not isinstance(_LENIENT.decode(text), dict):
            return {}
        pairs = list(_written(text))
    except (ValueError, RecursionError):
        return {}
    members = dict(pairs)
    return members if len(members) == len(pairs) else {}


def _written(text: str) -> Iterator[tuple[str, str]]:
    """Return name and raw value of each member of an object that is known to parse."""
    at = text.index("{") + 1
    while True:
        at = _skip(text, at, ",")
        if text[at] == "}":
            return
        name, at = _LENIENT.raw_decode(text, at)
        begin = _skip(text, at, ":")
        _, at = _LENIENT.raw_decode(text, begin)
        yield name, text[begin:at]


def _skip(text: str, at: int, mark: str) -> int:
    while text[at] in " \t\r\n" + mark:
        at += 1
    return at


def _moved(schema: JSON, branch: int, member: str) -> JSON:
    """Return ``schema`` with its local references pointing to its new place in the union."""
    return _rebased(schema, f"#/anyOf/{branch}/properties/{member}")


def _rebased(value: JSON, base: str) -> JSON:
    if isinstance(value, Mapping):
        return {key: _reference(key, item, base) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rebased(item, base) for item in value]
    return value


def _reference(key: str, value: JSON, base: str) -> JSON:
    if key == "$ref" and isinstance(value, str) and value.startswith("#"):
        return base + value[1:]
    return _rebased(value, base)


def _introduced(
    messages: tuple[Message, ...], tools: Sequence[ToolDefinition]
) -> tuple[Message, ...]:
    text = "\n".join([_INTRODUCTION, *(f"- {_signature(t)}: {t.description}" for t in tools)])
    if messages and messages[0].role == "system":
        first = replace(messages[0], content=f"{messages[0].content}\n\n{text}")
        return (first, *messages[1:])
    return (Message(role="system", content=text), *messages)


def _signature(tool: ToolDefinition) -> str:
    """Return ``head(table: string, rows?: 1 to 20)``: a schema's JSON would cost a small model its window."""
    required = tool.parameters.get("required", ())
    fields = [
        f"{name}{'' if name in required else '?'}: {_kind(schema)}"
        for name, schema in tool.parameters.get("properties", {}).items()
    ]
    return f"{tool.name}({', '.join(fields)})"


def _kind(schema: JSON) -> str:
    if not isinstance(schema, Mapping):
        return "any"
    if "enum" in schema:
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    if "const" in schema:
        return json.dumps(schema["const"], ensure_ascii=False)
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    if "minimum" in schema and "maximum" in schema:
        return f"{schema['minimum']} to {schema['maximum']}"
    kind = schema.get("type", "any")
    return " | ".join(kind) if isinstance(kind, list | tuple) else str(kind)


def _folded(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Call as the actions they would have been, results as what the user says next."""
    names: dict[str | None, str] = {}
    folded: list[Message] = []
    results = False
    for message in messages:
        names |= {call.id: call.name for call in message.tool_calls}
        if message.role != "tool":
            folded.append(_spoken(message))
        else:
            text = f"Result of {names.get(message.tool_call_id, 'the tool')}: {message.content}"
            if results:
                text = f"{folded.pop().content}\n{text}"
            folded.append(Message(role="user", content=text))
        results = message.role == "tool"
    return tuple(folded)


def _spoken(message: Message) -> Message:
    if not message.tool_calls:
        return message
    lines = [message.content] if message.content else []
    lines += [_written_call(call) for call in message.tool_calls]
    return Message(role=message.role, content="\n".join(lines))


def _written_call(call: ToolCall) -> str:
    name = json.dumps(call.name, ensure_ascii=False)
    try:
        json.loads(call.arguments)
    except (ValueError, RecursionError):
        return f'{{"tool": {name}, "arguments": {json.dumps(call.arguments, ensure_ascii=False)}}}'
    return f'{{"tool": {name}, "arguments": {call.arguments}}}'
