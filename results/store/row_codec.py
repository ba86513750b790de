"""From a provider's reply to a journal entry, and from entries to rows of the store and back.

``Completion -> CallEntry -> row``: each conversion is written once, here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from orglab.providers.base import JSON, Completion, Message, TokenUsage, ToolCall
from orglab.providers.structured_output.strict_json import dumps, escape_surrogates, loads_stored
from orglab.results.records import (
    CallEntry,
    DecisionEntry,
    Event,
    JournalEntry,
    ToolEntry,
)
from orglab.results.store.group_commit import Row

BlobKeeper: TypeAlias = Callable[[JSON], str]
"""Stores a value as a blob and returns its hash."""
Texts: TypeAlias = Mapping[str, str]
"""Blobs by hash."""

REPLY_FIELDS: Final = (
    *("text", "tool_calls", "native", "reasoning", "fingerprint"),
    *("logprobs", "notes", "read", "error"),
)
"""Fields of a call without a column of their own: they are the JSON of ``calls.reply``."""
_REPLY_KEYS: Final = frozenset((*REPLY_FIELDS, "kept"))
_TOKENS: Final = ("input", "output", "cached_input", "reasoning")
_TOKEN_COLUMNS: Final = ("tokens_input", "tokens_output", "tokens_cached", "tokens_reasoning")
_CALL_COLUMNS: Final = (
    *("position", "identity", "copy", "role", "purpose", "visit", "provider", "model", "served"),
    *("stop", "cost_usd", "service_seconds", "waiting_seconds", "attempts", "cut", "reserved_usd"),
)

# --- replies --------------------------------------------------------------------------------


def message_body(message: Message) -> dict[str, JSON]:
    """Return a message as plain data; empty fields are left out."""
    body: dict[str, JSON] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        body["tool_calls"] = [_tool_call_body(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        body["tool_call_id"] = message.tool_call_id
    return body


def _tool_call_body(call: ToolCall) -> dict[str, JSON]:
    return {"id": call.id, "name": call.name, "arguments": call.arguments}


def reply_fields(completion: Completion) -> dict[str, JSON]:
    """Return the fields of ``CallEntry`` that a completion determines."""
    usage = completion.usage
    return {
        "text": completion.text,
        "tool_calls": [_tool_call_body(call) for call in completion.tool_calls],
        "native": completion.native,
        "reasoning": completion.reasoning,
        "stop": completion.stop,
        "tokens": {
            "input": usage.input,
            "output": usage.output,
            "cached_input": usage.cached_input,
            "reasoning": usage.reasoning,
        },
        "served": completion.model,
        "fingerprint": completion.fingerprint,
        "service_seconds": round(completion.service_seconds, 6),
        "waiting_seconds": round(completion.waiting_seconds, 6),
        "attempts": completion.attempts,
        "cut": completion.cut,
        "simulated": completion.simulated,
        "logprobs": completion.logprobs,
        "notes": list(completion.notes),
    }


def completion_of(entry: CallEntry) -> Completion:
    """Return the completion that an entry holds."""
    return Completion(
        text=entry.text,
        tool_calls=tuple(ToolCall(**call) for call in entry.tool_calls),
        native=entry.native,
        reasoning=entry.reasoning,
        stop=entry.stop,  # type: ignore[arg-type]  # as the provider gave it
        usage=TokenUsage(**entry.tokens),
        model=entry.served,
        fingerprint=entry.fingerprint,
        service_seconds=entry.service_seconds,
        waiting_seconds=entry.waiting_seconds,
        attempts=entry.attempts,
        cut=entry.cut,
        simulated=entry.simulated,
        logprobs=entry.logprobs,
        notes=tuple(entry.notes),
    )


def reply_json(entry: CallEntry) -> dict[str, JSON]:
    """Return the fields that have no column of their own, in stored order."""
    body = {name: getattr(entry, name) for name in REPLY_FIELDS}
    if entry.kept is not None:
        body["kept"] = entry.kept
    return body


# --- rows -----------------------------------------------------------------------------------


def _integer(value: JSON, name: str) -> int:
    """Refuse a number that would fail the commit, and other runs' rows with it."""
    if not isinstance(value, int) or not -(2**63) <= value < 2**63:
        raise ValueError(f"{name} must be a whole number of at most 63 bits, not {value!r}")
    return int(value)


def _number(value: JSON, name: str) -> float:
    if not isinstance(value, int | float) or not abs(value) < float("inf"):
        raise ValueError(f"{name} must be a finite number, not {value!r}")
    return float(value)


def _string(value: JSON, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, not {value!r}")
    return value if value.isascii() else escape_surrogates(value)


def event_row(run: int, event: Event) -> Row:
    """Return the row of an event.

    Raises:
        ValueError: Its body is no strict JSON.
    """
    return (run, event.seq, event.tick, event.kind, dumps(event.body))


def event_of_row(row: Row) -> Event:
    """Return the event of ``(seq, tick, kind, body)``."""
    seq, tick, kind, body = row
    return Event(seq=seq, tick=tick, kind=kind, body=loads_stored(body))


def entry_row(run: int, entry: JournalEntry, keep: BlobKeeper) -> tuple[str, Row]:
    """Return the statement and the row that hold ``entry``.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field is not strict JSON, or a number does not fit.
    """
    if isinstance(entry, CallEntry):
        return "call", _call_row(run, entry, keep)
    if isinstance(entry, ToolEntry):
        return "tool", _tool_row(run, entry)
    body = {
        "what": entry.what,
        "copy": entry.copy,
        "error": entry.error,
        "finding": entry.finding,
    }
    return "decision", (run, entry.position, 0, entry.output, dumps(body))


def _call_row(run: int, entry: CallEntry, keep: BlobKeeper) -> Row:
    request, tokens = entry.request, entry.tokens
    error, cost, seed = entry.error, entry.cost_usd, request.get("seed")
    reserved = entry.reserved_usd
    tools, schema = request.get("tools"), request.get("schema")
    return (
        run,
        entry.position,
        0,
        entry.identity,
        _string(entry.copy, "copy"),
        _string(entry.role, "role"),
        _string(entry.purpose, "purpose"),
        _integer(entry.visit, "visit"),
        _string(entry.provider, "provider"),
        _string(entry.model, "model"),
        _string(entry.served, "model"),
        _string(entry.stop, "stop"),
        None if error is None else _string(error.get("kind", "error"), "error.kind"),
        *[_integer(tokens.get(name, 0), f"usage.{name}") for name in _TOKENS],
        None if cost is None else _number(cost, "cost_usd"),
        _number(entry.service_seconds, "service_seconds"),
        _number(entry.waiting_seconds, "waiting_seconds"),
        _integer(entry.attempts, "attempts"),
        bool(entry.simulated),
        None if seed is None else _integer(seed, "seed"),
        dumps(request["params"]) if request.get("params") else "{}",
        _hash_list([keep(message) for message in request.get("messages", ())]),
        keep(tools) if tools else None,
        None if schema is None else keep(schema),
        dumps(reply_json(entry)),
        _integer(entry.cut, "cut"),
        None if reserved is None else _number(reserved, "reserved_usd"),
    )


def _hash_list(hashes: list[str]) -> str:
    """Return the JSON of hex digits, which need no escapes."""
    return '["' + '","'.join(hashes) + '"]' if hashes else "[]"


def _tool_row(run: int, entry: ToolEntry) -> Row:
    return (
        run,
        entry.position,
        0,
        "",
        _string(entry.copy, "copy"),
        _string(entry.role, "role"),
        _integer(entry.visit, "visit"),
        _string(entry.tool, "tool"),
        dumps(entry.arguments),
        dumps(entry.result),
        bool(entry.error),
        _string(entry.refused, "refused"),
        _number(entry.seconds, "seconds"),
        bool(entry.prompt),
        "{}",
    )


def entry_of_row(table: str, row: sqlite3.Row, texts: Texts) -> JournalEntry:
    """Return the entry that a row of ``calls``, ``tool_calls`` or ``decisions`` holds."""
    if table == "calls":
        return _call(row, texts)
    return _tool(row) if table == "tool_calls" else _decision(row)


def _decision(row: sqlite3.Row) -> DecisionEntry:
    body = loads_stored(row["body"])
    known = {key: body.get(key) for key in ("error", "finding")}
    what, copy = body.get("what", ""), body.get("copy", "")
    return DecisionEntry(
        position=row["position"], output=row["identity"], what=what, copy=copy, **known
    )


def _call(row: sqlite3.Row, texts: Texts) -> CallEntry:
    reply: Mapping[str, JSON] = loads_stored(row["reply"])
    tools, schema = row["tools"], row["schema"]
    return CallEntry(
        **{name: row[name] for name in _CALL_COLUMNS},
        request={
            "messages": [loads_stored(texts[name]) for name in loads_stored(row["messages"])],
            "tools": loads_stored(texts[tools]) if tools else [],
            "schema": loads_stored(texts[schema]) if schema else None,
            "params": loads_stored(row["params"]),
            "seed": row["seed"],
        },
        tokens={name: row[column] for name, column in zip(_TOKENS, _TOKEN_COLUMNS, strict=True)},
        simulated=bool(row["simulated"]),
        **{name: value for name, value in reply.items() if name in _REPLY_KEYS},
    )


def _tool(row: sqlite3.Row) -> ToolEntry:
    own = ("position", "copy", "role", "visit", "tool", "refused", "seconds")
    return ToolEntry(
        **{name: row[name] for name in own},
        arguments=loads_stored(row["arguments"]),
        result=loads_stored(row["result"]),
        error=bool(row["error"]),
        prompt=bool(row["prompt"]),
    )


def blob_hashes(rows: Iterator[sqlite3.Row]) -> set[str]:
    """Return the hashes of every blob that rows of ``calls`` need."""
    found: set[str] = set()
    for row in rows:
        found.update(loads_stored(row["messages"]))
        found.update(name for name in (row["tools"], row["schema"]) if name)
    return found
