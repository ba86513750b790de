"""Between journal entries and rows of the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import dumps, escape_surrogates, loads_stored
from orglab.results.records import Event
from orglab.results.store.group_commit import Row
from orglab.results.store.journal.journal import Entry

__all__ = [
    "BlobKeeper",
    "Texts",
    "blob_hashes",
    "entry_of_row",
    "entry_row",
    "event_of_row",
    "event_row",
]

BlobKeeper: TypeAlias = Callable[[JSON], str]
"""Keeps a value as a blob and returns its hash."""
Texts: TypeAlias = Mapping[str, str]
"""Blobs by hash."""

_TOKENS = ("input", "output", "cached_input", "reasoning")
# What has a column of its own, and what stands there when the body has none.
_CALL_COLUMNS: Mapping[str, JSON] = {
    "copy": "",
    "role": "",
    "purpose": "turn",
    "visit": 0,
    "model": "",
    "stop": "",
    "usage": {},
    "cost_usd": None,
    "service_seconds": 0.0,
    "waiting_seconds": 0.0,
    "attempts": 0,
    "cut": 0,
    "reserved_usd": None,
    "simulated": False,
    "request": {},
}
_TOOL_COLUMNS: Mapping[str, JSON] = {
    "copy": "",
    "role": "",
    "visit": 0,
    "tool": "",
    "arguments": None,
    "result": None,
    "error": False,
    "refused": "",
    "seconds": 0.0,
    "prompt": False,
}


def _integer(value: JSON, name: str) -> int:
    """Refuses here what would fail the whole commit, other runs' rows with it."""
    if not isinstance(value, int) or not -(2**63) <= value < 2**63:
        raise ValueError(f"{name} must be a whole number of at most 63 bits, not {value!r}")
    return int(value)


def _number(value: JSON, name: str) -> float:
    if not isinstance(value, int | float) or not abs(value) < float("inf"):
        raise ValueError(f"{name} must be a finite number, not {value!r}")
    return float(value)


def _text(value: JSON, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, not {value!r}")
    return escape_surrogates(value)


def event_row(run: int, event: Event) -> Row:
    """The row of an event.

    Raises:
        ValueError: Its body is no strict JSON.
    """
    return (run, event.seq, event.tick, event.kind, dumps(event.body))


def event_of_row(row: Row) -> Event:
    """The event of ``(seq, tick, kind, body)``."""
    seq, tick, kind, body = row
    return Event(seq=seq, tick=tick, kind=kind, body=loads_stored(body))


def entry_row(run: int, entry: Entry, keep: BlobKeeper) -> tuple[str, Row]:
    """The statement and the row that hold ``entry``.

    Raises:
        TypeError: A field of its body has the wrong type.
        ValueError: Its body is no strict JSON, or a number does not fit.
    """
    if entry.kind == "call":
        return "call", _call_row(run, entry, keep)
    if entry.kind == "tool":
        return "tool", _tool_row(run, entry)
    return "decision", (run, entry.position, 0, entry.identity, dumps(entry.body))


def _call_row(run: int, entry: Entry, keep: BlobKeeper) -> Row:
    body = entry.body
    get, request, usage = body.get, body.get("request") or {}, body.get("usage") or {}
    error, cost, seed = get("error"), get("cost_usd"), request.get("seed")
    reserved = get("reserved_usd")
    tools, schema = request.get("tools"), request.get("schema")
    return (
        run,
        entry.position,
        0,
        entry.identity,
        _text(get("copy", ""), "copy"),
        _text(get("role", ""), "role"),
        _text(get("purpose", "turn"), "purpose"),
        _integer(get("visit", 0), "visit"),
        _text(request.get("provider", ""), "provider"),
        _text(request.get("model", ""), "model"),
        _text(get("model", ""), "model"),
        _text(get("stop", ""), "stop"),
        None if error is None else _text(error.get("kind", "error"), "error.kind"),
        *[_integer(usage.get(name, 0), f"usage.{name}") for name in _TOKENS],
        None if cost is None else _number(cost, "cost_usd"),
        _number(get("service_seconds", 0.0), "service_seconds"),
        _number(get("waiting_seconds", 0.0), "waiting_seconds"),
        _integer(get("attempts", 0), "attempts"),
        bool(get("simulated", False)),
        None if seed is None else _integer(seed, "seed"),
        dumps(request["params"]) if request.get("params") else "{}",
        _hash_list([keep(message) for message in request.get("messages", ())]),
        keep(tools) if tools else None,
        None if schema is None else keep(schema),
        dumps({key: value for key, value in body.items() if key not in _CALL_COLUMNS}),
        _integer(get("cut", 0), "cut"),
        None if reserved is None else _number(reserved, "reserved_usd"),
    )


def _hash_list(hashes: list[str]) -> str:
    """JSON of hex digits, which need no escapes."""
    return '["' + '","'.join(hashes) + '"]' if hashes else "[]"


def _tool_row(run: int, entry: Entry) -> Row:
    get = entry.body.get
    return (
        run,
        entry.position,
        0,
        entry.identity,
        _text(get("copy", ""), "copy"),
        _text(get("role", ""), "role"),
        _integer(get("visit", 0), "visit"),
        _text(get("tool", ""), "tool"),
        dumps(get("arguments")),
        dumps(get("result")),
        bool(get("error", False)),
        _text(get("refused", ""), "refused"),
        _number(get("seconds", 0.0), "seconds"),
        bool(get("prompt", False)),
        dumps({key: value for key, value in entry.body.items() if key not in _TOOL_COLUMNS}),
    )


def entry_of_row(table: str, row: sqlite3.Row, texts: Texts) -> Entry:
    """The entry that a row of ``calls``, ``tool_calls`` or ``decisions`` holds."""
    make = {"calls": _call_body, "tool_calls": _tool_body, "decisions": _decision_body}[table]
    kind = {"calls": "call", "tool_calls": "tool", "decisions": "decision"}[table]
    return Entry(
        position=row["position"],
        kind=kind,  # type: ignore[arg-type]  # one of the three, above
        identity=row["identity"],
        body=make(row, texts),
    )


def _decision_body(row: sqlite3.Row, _: Texts) -> dict[str, JSON]:
    return dict(loads_stored(row["body"]))


def _call_body(row: sqlite3.Row, texts: Texts) -> dict[str, JSON]:
    usage = ("tokens_input", "tokens_output", "tokens_cached", "tokens_reasoning")
    own = (
        "copy",
        "role",
        "purpose",
        "visit",
        "stop",
        "cost_usd",
        "attempts",
        "cut",
        "reserved_usd",
    )
    return {
        "request": _request(row, texts),
        **{name: row[name] for name in (*own, "service_seconds", "waiting_seconds")},
        "model": row["served"],
        "usage": {name: row[column] for name, column in zip(_TOKENS, usage, strict=True)},
        "simulated": bool(row["simulated"]),
        **loads_stored(row["reply"]),
    }


def _request(row: sqlite3.Row, texts: Texts) -> dict[str, JSON]:
    tools, schema = row["tools"], row["schema"]
    return {
        "provider": row["provider"],
        "model": row["model"],
        "params": loads_stored(row["params"]),
        "seed": row["seed"],
        "messages": [loads_stored(texts[name]) for name in loads_stored(row["messages"])],
        "tools": loads_stored(texts[tools]) if tools else [],
        "schema": loads_stored(texts[schema]) if schema else None,
    }


def _tool_body(row: sqlite3.Row, _: Texts) -> dict[str, JSON]:
    return {
        **{name: row[name] for name in ("copy", "role", "visit", "tool", "refused", "seconds")},
        "arguments": loads_stored(row["arguments"]),
        "result": loads_stored(row["result"]),
        "error": bool(row["error"]),
        "prompt": bool(row["prompt"]),
        **loads_stored(row["more"]),
    }


def blob_hashes(rows: Iterator[sqlite3.Row]) -> set[str]:
    """The hashes of every blob that rows of ``calls`` need."""
    found: set[str] = set()
    for row in rows:
        found.update(loads_stored(row["messages"]))
        found.update(name for name in (row["tools"], row["schema"]) if name)
    return found
