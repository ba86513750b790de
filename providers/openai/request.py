"""The body of a Chat Completions request: what is sent, and nothing that the author did not write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from orglab.providers.base import JSON, BadRequest, Message, Request, ToolCall, ToolDefinition
from orglab.providers.openai.capabilities import ChatCapabilities, SchemaMode
from orglab.providers.structured_output.strict_json import spaced
from orglab.providers.structured_output.tool_call_emulation import with_actions

PARAMETERS: Final = frozenset(
    (
        "extra_body",
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "max_output_tokens",
        "min_p",
        "parallel_tool_calls",
        "presence_penalty",
        "prompt_cache_key",
        "reasoning_effort",
        "repeat_penalty",
        "repetition_penalty",
        "seed",
        "service_tier",
        "stop",
        "store",
        "temperature",
        "top_k",
        "top_p",
        "user",
        "verbosity",
    )
)
"""Parameters by name; ``extra_body`` is a map of any others that a server takes."""

OURS: Final = frozenset(
    (
        "max_completion_tokens",
        "max_tokens",
        "messages",
        "model",
        "n",
        "response_format",
        "stream",
        "stream_options",
        "tool_choice",
        "tools",
    )
)
"""Fields that only the engine sets."""

LONGEST_BOUND: Final = 500
"""Characters; a text's longer bound is sent as this where a schema goes beside ``json_object``."""

_SCHEMA_INTRODUCTION: Final = (
    "Reply with one JSON value that fits this JSON Schema, and with nothing else:\n"
)


def adapted_request(request: Request, capabilities: ChatCapabilities) -> Request:
    """Return the request as this model takes it: with tools of its own, or as a JSON action."""
    return with_actions(request) if capabilities.tools == "actions" else request


def request_body(request: Request, capabilities: ChatCapabilities) -> dict[str, JSON]:
    """Return the body for a request that ``adapted_request`` gave.

    Raises:
        BadRequest: A parameter is the engine's own.
    """
    tools = _tools(request, capabilities)
    structure = _schema_mode(request, capabilities)
    messages = [_message(message) for message in _with_schema_text(request, structure)]
    body: dict[str, JSON] = {"model": request.model, "messages": messages}
    body |= _parameters(request, capabilities)
    if tools:
        body["tools"] = tools
        if request.must_answer and capabilities.choice:
            body["tool_choice"] = "none"
    form = None if structure is None else _response_format(request, structure)
    if form is not None:
        body["response_format"] = form
    return body


def is_enforced(body: Mapping[str, JSON], capabilities: ChatCapabilities) -> bool:
    """Return whether the server was asked to hold the reply to the whole schema."""
    form = body.get("response_format", {})
    if form.get("type") == "json_schema":
        return bool(form["json_schema"]["strict"]) or not capabilities.vendor
    return "schema" in form


def request_notes(
    request: Request, body: Mapping[str, JSON], capabilities: ChatCapabilities
) -> tuple[str, ...]:
    """Return what of a request (as ``adapted_request`` gave it) this model was not sent; said with each reply."""
    left_out = sorted(capabilities.dropped.intersection(request.params))
    notes = [f"{name} was not sent: this model does not take it" for name in left_out]
    sent = body.get("response_format", {}).get("schema")
    if sent is not None and sent != request.schema:
        notes.append(
            f"texts were held to {LONGEST_BOUND} characters: this server takes no longer bound"
        )
    return tuple(notes)


# -- parameters


def _parameters(request: Request, capabilities: ChatCapabilities) -> dict[str, JSON]:
    written = dict(request.params)
    extra = written.pop("extra_body", None) or {}
    if not isinstance(extra, Mapping):
        raise BadRequest(f"extra_body must be a mapping, not {extra!r}")
    for name in (*written, *extra):
        if name in OURS:
            raise BadRequest(f"{name} is set by the engine; for the limit write max_output_tokens")
    sent: dict[str, JSON] = {**written, **extra}
    if "max_output_tokens" in sent:
        sent[capabilities.limit] = sent.pop("max_output_tokens")
    if (
        "seed" in written
    ):  # the author wants seeds sent: each call has its own, made of the written one
        sent["seed"] = request.seed
    if "logprobs" in sent:
        sent |= _logprobs(sent.pop("logprobs"))
    kept = {name: value for name, value in sent.items() if name not in capabilities.dropped}
    if "logprobs" not in kept:
        kept.pop("top_logprobs", None)
    return kept


def _logprobs(written: JSON) -> dict[str, JSON]:
    """Return ``true``, or so many of the likeliest tokens beside each."""
    if written is True or written is False:
        return {"logprobs": True} if written else {}
    if not isinstance(written, int) or written < 0:
        raise BadRequest(f"logprobs must be true or a non-negative integer, not {written!r}")
    return {"logprobs": True, "top_logprobs": written} if written else {"logprobs": True}


# -- schema


def _schema_mode(request: Request, capabilities: ChatCapabilities) -> SchemaMode | None:
    if request.schema is None:
        return None
    if request.tools and not request.must_answer and capabilities.tools == "apart":
        return SchemaMode.WORDS
    return capabilities.structure_of(request.schema)


def _response_format(request: Request, structure: SchemaMode) -> dict[str, JSON] | None:
    schema = dict(request.schema or {})
    if structure <= SchemaMode.SCHEMA:
        strict = structure is SchemaMode.STRICT and strict_allows(schema)
        form = {"name": "reply", "schema": schema, "strict": strict}
        return {"type": "json_schema", "json_schema": form}
    if structure is SchemaMode.OBJECT_SCHEMA:
        return {"type": "json_object", "schema": _with_short_bounds(schema)}
    return {"type": "json_object"} if structure is SchemaMode.OBJECT else None


def _with_short_bounds(schema: JSON) -> JSON:
    """llama-cpp-python nests a grammar as deep as a text may be long: at 1,500 its process ends."""
    if isinstance(schema, Mapping):
        return {key: _short_bound(key, value) for key, value in schema.items()}
    return [_with_short_bounds(each) for each in schema] if isinstance(schema, list) else schema


def _short_bound(key: str, value: JSON) -> JSON:
    if key == "maxLength" and isinstance(value, int):
        return min(value, LONGEST_BOUND)
    return _with_short_bounds(value)


def _with_schema_text(request: Request, structure: SchemaMode | None) -> tuple[Message, ...]:
    """Return the messages; the schema in words where nothing else tells of it."""
    if structure is None or structure < SchemaMode.OBJECT or request.schema is None:
        return request.messages
    words = _SCHEMA_INTRODUCTION + spaced(request.schema)
    first = request.messages[0] if request.messages else None
    if first is None or first.role != "system":
        return (Message(role="system", content=words), *request.messages)
    return (replace(first, content=f"{first.content}\n\n{words}"), *request.messages[1:])


# -- tools


def _tools(request: Request, capabilities: ChatCapabilities) -> list[JSON]:
    alone = capabilities.tools == "apart" and request.schema is not None
    if request.must_answer and (alone or not capabilities.choice):
        return []
    return [_tool(tool, strict=capabilities.strict_tools) for tool in request.tools]


def _tool(tool: ToolDefinition, *, strict: bool) -> dict[str, JSON]:
    function: dict[str, JSON] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    if strict and strict_allows(tool.parameters):
        function["strict"] = True
    return {"type": "function", "function": function}


# -- messages


def _message(message: Message) -> dict[str, JSON]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content}
    body: dict[str, JSON] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        body["content"] = message.content or None
        body["tool_calls"] = [_call(call) for call in message.tool_calls]
    return body


def _call(call: ToolCall) -> dict[str, JSON]:
    function = {"name": call.name, "arguments": _arguments(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _arguments(written: str) -> str:
    """Return a model's own arguments, given back; servers that read them fail on what is no object."""
    try:
        value = json.loads(written)
    except (ValueError, RecursionError):
        value = None
    return written if isinstance(value, dict) else spaced({"unreadable": written})


_STRICT_KEYWORDS: Final = frozenset(
    (
        "$defs",
        "$ref",
        "additionalProperties",
        "anyOf",
        "const",
        "description",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "items",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "multipleOf",
        "pattern",
        "properties",
        "required",
        "title",
        "type",
    )
)


def strict_allows(schema: Mapping[str, JSON]) -> bool:
    """Return whether ``schema`` is of the strict kind: closed objects, every field required, no logic.

    The outermost value must be an object that is no choice. A server may refuse still more.
    """
    return schema.get("type") == "object" and "anyOf" not in schema and _is_strict(schema)


def _is_strict(schema: JSON) -> bool:
    if not isinstance(schema, Mapping) or not schema.keys() <= _STRICT_KEYWORDS:
        return False
    properties = schema.get("properties", {})
    if "object" in _schema_types(schema) or properties:
        closed = schema.get("additionalProperties") is False
        if not closed or set(schema.get("required", ())) != set(properties):
            return False
    inner = [*properties.values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", ())]
    inner += [schema["items"]] if "items" in schema else []
    return all(_is_strict(each) for each in inner)


def _schema_types(schema: Mapping[str, JSON]) -> tuple[str, ...]:
    written = schema.get("type", ())
    return (written,) if isinstance(written, str) else tuple(written)
