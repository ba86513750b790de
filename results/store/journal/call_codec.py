"""Between journal entries, records, and the provider's own words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields

from orglab.providers.base import JSON, Completion, Message, TokenUsage, ToolCall
from orglab.results.records import CallRecord, ToolCallRecord
from orglab.results.store.journal.journal import Entry

__all__ = [
    "call_record",
    "completion_body",
    "completion_of",
    "entry_of_call",
    "entry_of_tool",
    "is_answer",
    "message_body",
    "position_key",
    "records_of",
    "tool_record",
]


_NO_TOKENS = {"input": 0, "output": 0, "cached_input": 0, "reasoning": 0}
_WORDS = {"prompt": (0, 0, ""), "turn": (2, 0, ""), "review": (2, 1, "")}


def position_key(position: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key that puts positions in the order of the run.

    Numbers count as numbers and stand before words, but for ``prompt``: a prompt's tools are called
    before its turn's first call. ``turn`` stands before ``review``, since a tick's reviews follow
    its turns; any other word after both, by its letters.
    """
    return tuple(
        (1, int(part), "") if part.isdecimal() else _WORDS.get(part, (2, len(_WORDS), part))
        for part in position.split(".")
    )


def message_body(message: Message) -> dict[str, JSON]:
    """A message as plain data; what is empty is left out."""
    body: dict[str, JSON] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        body["tool_calls"] = [_tool_call_body(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        body["tool_call_id"] = message.tool_call_id
    return body


def _tool_call_body(call: ToolCall) -> dict[str, JSON]:
    return {"id": call.id, "name": call.name, "arguments": call.arguments}


def completion_body(completion: Completion) -> dict[str, JSON]:
    """A completion as the body of a ``call`` entry holds it."""
    return {
        "text": completion.text,
        "tool_calls": [_tool_call_body(call) for call in completion.tool_calls],
        "native": completion.native,
        "reasoning": completion.reasoning,
        "stop": completion.stop,
        "usage": {
            "input": completion.usage.input,
            "output": completion.usage.output,
            "cached_input": completion.usage.cached_input,
            "reasoning": completion.usage.reasoning,
        },
        "model": completion.model,
        "fingerprint": completion.fingerprint,
        "service_seconds": completion.service_seconds,
        "waiting_seconds": completion.waiting_seconds,
        "attempts": completion.attempts,
        "cut": completion.cut,
        "simulated": completion.simulated,
        "logprobs": completion.logprobs,
        "notes": list(completion.notes),
    }


_COMPLETION_FIELDS = frozenset(field.name for field in fields(Completion))


def completion_of(entry: Entry) -> Completion:
    """The completion that a ``call`` entry holds."""
    body = {key: value for key, value in entry.body.items() if key in _COMPLETION_FIELDS}
    body["tool_calls"] = tuple(ToolCall(**call) for call in body.get("tool_calls", ()))
    body["usage"] = TokenUsage(**body.get("usage", {}))
    body["notes"] = tuple(body.get("notes", ()))
    return Completion(**body)


def call_record(entry: Entry) -> CallRecord:
    """The record of a ``call`` entry."""
    body = entry.body
    request: Mapping[str, JSON] = body.get("request", {})
    return CallRecord(
        position=entry.position,
        identity=entry.identity,
        copy=body.get("copy", ""),
        role=body.get("role", ""),
        purpose=body.get("purpose", "turn"),
        visit=body.get("visit", 0),
        provider=request.get("provider", ""),
        model=request.get("model", ""),
        served=body.get("model", ""),
        request={
            key: request.get(key) for key in ("messages", "tools", "schema", "params", "seed")
        },
        text=body.get("text", ""),
        reasoning=body.get("reasoning", ""),
        tool_calls=body.get("tool_calls", ()),
        stop=body.get("stop", ""),
        read=body.get("read") or {},
        tokens=_NO_TOKENS | body.get("usage", {}),
        cost_usd=body.get("cost_usd"),
        service_seconds=body.get("service_seconds", 0.0),
        waiting_seconds=body.get("waiting_seconds", 0.0),
        attempts=body.get("attempts", 0),
        cut=body.get("cut", 0),
        reserved_usd=body.get("reserved_usd"),
        kept=body.get("kept"),
        simulated=body.get("simulated", False),
        error=body.get("error"),
        logprobs=body.get("logprobs"),
        notes=body.get("notes", ()),
    )


def is_answer(body: Mapping[str, JSON]) -> bool:
    """Whether a ``call`` entry's body is one: no failure, no refusal, nothing cut or unreadable."""
    whole = body["error"] is None and body["stop"] in ("stop", "tool_calls")
    return bool(whole and not body["read"].get("problem"))


def tool_record(entry: Entry) -> ToolCallRecord:
    """The record of a ``tool`` entry."""
    body = entry.body
    return ToolCallRecord(
        position=entry.position,
        copy=body.get("copy", ""),
        role=body.get("role", ""),
        visit=body.get("visit", 0),
        tool=body.get("tool", ""),
        arguments=body.get("arguments"),
        result=body.get("result"),
        error=body.get("error", False),
        refused=body.get("refused", ""),
        seconds=body.get("seconds", 0.0),
        prompt=body.get("prompt", False),
    )


def entry_of_call(record: CallRecord) -> Entry:
    """The entry whose record ``record`` is."""
    own = ("copy", "role", "purpose", "visit", "text", "reasoning", "stop", "read", "cost_usd")
    more = ("service_seconds", "waiting_seconds", "attempts", "cut", "reserved_usd")
    flags = ("simulated", "error", "logprobs")
    body = {name: getattr(record, name) for name in own + more + flags}
    body |= {
        "request": {"provider": record.provider, "model": record.model, **record.request},
        "model": record.served,
        "usage": dict(record.tokens),
        "tool_calls": list(record.tool_calls),
        "notes": list(record.notes),
    }
    if record.kept is not None:
        body["kept"] = dict(record.kept)
    return Entry(position=record.position, kind="call", identity=record.identity, body=body)


def entry_of_tool(record: ToolCallRecord) -> Entry:
    """The entry whose record ``record`` is."""
    body = asdict(record)
    position = body.pop("position")
    return Entry(position=position, kind="tool", identity="", body=body)


def records_of(
    entries: Iterable[Entry],
) -> tuple[tuple[CallRecord, ...], tuple[ToolCallRecord, ...]]:
    """The calls and the tool calls among ``entries``, each in the order of the run."""
    ordered = sorted(entries, key=lambda entry: position_key(entry.position))
    calls = tuple(call_record(entry) for entry in ordered if entry.kind == "call")
    tools = tuple(tool_record(entry) for entry in ordered if entry.kind == "tool")
    return calls, tools
