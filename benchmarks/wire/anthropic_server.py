"""A server on loopback that speaks Anthropic's Messages API, streams included, and plays its faults.

No language model is behind it: replies are made up, and say so. The events have the documented form
and order; a test holds each of them against the SDK's own types. It counts what it served, so that
a study's own count can be held against it. Standard library alone.

    python benchmarks/wire/anthropic_server.py --port 8124 --latency 1.0
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from openai_server import Answer, Call, Reply, Server

__all__ = [
    "MessagesServer",
    "Streamed",
    "answering",
    "error",
    "events",
    "in_turn",
    "message",
    "redacted",
    "sse",
    "streamed",
    "text",
    "thinking",
    "use",
]

Block = dict[str, Any]
End = Literal["end", "drop", "hang"]
"""The stream ends as it should; the connection is lost; nothing comes any more."""


@dataclass(frozen=True, kw_only=True)
class Streamed(Reply):
    """A reply in server-sent events, chunk by chunk.

    ``usage``: what it counts for; ``end``: how it ends.
    """

    chunks: Sequence[bytes] = ()
    usage: Mapping[str, int] = field(default_factory=dict)
    end: End = "end"


class MessagesServer(Server):
    """Answers each request by a function; tokens of whole replies and of lost ones are counted."""

    @property
    def base_url(self) -> str:
        """The address to point a client at; the SDK adds the version itself."""
        return super().base_url.removesuffix("/v1")

    async def send(self, reply: Reply, writer: asyncio.StreamWriter) -> bool:
        """Sends a reply or plays its fault; whether all of a good reply was written."""
        if isinstance(reply, Streamed) and not reply.fault:
            return await _stream(reply, writer)
        return await super().send(reply, writer)

    def _count(self, reply: Reply, whole: bool) -> None:
        if reply.status != 200:
            return
        body = reply.body if isinstance(reply.body, dict) else {}
        usage = reply.usage if isinstance(reply, Streamed) else body.get("usage") or {}
        kinds = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        read, written = sum(usage.get(kind) or 0 for kind in kinds), usage.get("output_tokens", 0)
        counts = self.counts
        if whole:
            counts.whole += 1
            counts.input += read
            counts.output += written
        else:
            counts.lost += 1
            counts.lost_input += read
            counts.lost_output += written


async def _stream(reply: Streamed, writer: asyncio.StreamWriter) -> bool:
    if reply.latency:
        await asyncio.sleep(reply.latency)
    headers = {
        "Content-Type": "text/event-stream; charset=utf-8",
        "Transfer-Encoding": "chunked",
        **reply.headers,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 200 OK\r\n{head}\r\n".encode("latin-1"))
    for chunk in reply.chunks:
        writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        if len(reply.chunks) < 200:
            await writer.drain()
            await asyncio.sleep(0)
    if reply.end == "hang":
        await writer.drain()
        await asyncio.Event().wait()
    if reply.end == "end":
        writer.write(b"0\r\n\r\n")
    await writer.drain()
    return reply.end == "end"


# -- blocks


def text(words: str) -> Block:
    """A block of text."""
    return {"type": "text", "text": words}


def thinking(words: str, signature: str = "c2lnbmVk") -> Block:
    """A block of reasoning."""
    return {"type": "thinking", "thinking": words, "signature": signature}


def redacted(data: str = "ZW5jcnlwdGVk") -> Block:
    """A block of reasoning that only the server can read."""
    return {"type": "redacted_thinking", "data": data}


def use(name: str, arguments: str, *, identity: str = "toolu_1") -> Block:
    """A call of a tool; ``arguments`` is the text as the model writes it, which may be cut."""
    return {"type": "tool_use", "id": identity, "name": name, "input": {}, "written": arguments}


# -- replies


def message(
    *blocks: Block | str,
    stop: str | None = "end_turn",
    read: int = 10,
    written: int = 2,
    cache_read: int = 0,
    cache_written: int = 0,
    thought: int | None = None,
    model: str = "wire-model-1",
    **outer: Any,
) -> dict[str, Any]:
    """A message; texts are blocks of text, and ``outer`` adds to the whole."""
    usage: dict[str, Any] = {
        "input_tokens": read,
        "cache_creation_input_tokens": cache_written,
        "cache_read_input_tokens": cache_read,
        "output_tokens": written,
        "service_tier": "standard",
    }
    if thought is not None:
        usage["output_tokens_details"] = {"thinking_tokens": thought}
    return {
        "id": "msg_wire",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [text(each) if isinstance(each, str) else each for each in blocks],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
        **outer,
    }


def events(said: Mapping[str, Any], *, size: int = 7) -> list[dict[str, Any]]:
    """The events of a message, in the documented order; texts in pieces of ``size`` letters."""
    usage = said["usage"]
    begun = {**said, "content": [], "stop_reason": None, "stop_details": None}
    begun["usage"] = {**usage, "output_tokens": 1}
    made: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(said["content"]):
        made += _block_events(index, block, size)
        made += [{"type": "ping"}] if index == 0 else []
    delta = {"stop_reason": said["stop_reason"], "stop_sequence": said.get("stop_sequence")}
    if said.get("stop_details"):
        delta["stop_details"] = said["stop_details"]
    return [
        *made,
        {"type": "message_delta", "delta": delta, "usage": usage},
        {"type": "message_stop"},
    ]


def _block_events(index: int, block: Block, size: int) -> Iterator[dict[str, Any]]:
    yield {"type": "content_block_start", "index": index, "content_block": _empty(block)}
    for delta in _deltas(block, size):
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _empty(block: Block) -> Block:
    kind = block["type"]
    if kind == "thinking":
        return {**block, "thinking": "", "signature": ""}
    if kind == "text":
        return {**block, "text": ""}
    return {name: value for name, value in block.items() if name != "written"}


def _deltas(block: Block, size: int) -> Iterator[dict[str, Any]]:
    if block["type"] == "tool_use":
        yield {"type": "input_json_delta", "partial_json": ""}
        for piece in _pieces(block["written"], size):
            yield {"type": "input_json_delta", "partial_json": piece}
    elif block["type"] == "text":
        for piece in _pieces(block["text"], size):
            yield {"type": "text_delta", "text": piece}
    elif block["type"] == "thinking":
        for piece in _pieces(block["thinking"], size):
            yield {"type": "thinking_delta", "thinking": piece}
        yield {"type": "signature_delta", "signature": block["signature"]}


def _pieces(words: str, size: int) -> list[str]:
    return [words[at : at + size] for at in range(0, len(words), size)]


def sse(event: Mapping[str, Any]) -> bytes:
    """An event as it goes over the wire."""
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def streamed(
    said: Mapping[str, Any],
    *,
    first: int | None = None,
    then: Mapping[str, Any] | None = None,
    end: End = "end",
    size: int = 7,
    latency: float = 0.0,
) -> Streamed:
    """A message as a stream: its first events (None: all), then perhaps an error, then the end."""
    made = events(said, size=size)[:first]
    failed = [{"type": "error", "error": dict(then), "request_id": "req_wire"}] if then else []
    return Streamed(
        chunks=[sse(event) for event in [*made, *failed]],
        usage=said["usage"],
        end=end,
        latency=latency,
    )


def error(
    status: int,
    message: str = "no",
    *,
    kind: str = "invalid_request_error",
    headers: Mapping[str, str] | None = None,
    details: Mapping[str, Any] | None = None,
) -> Reply:
    """A refusal in Anthropic's form."""
    said: dict[str, Any] = {"type": kind, "message": message}
    if details is not None:
        said["details"] = dict(details)
    body = {"type": "error", "error": said, "request_id": "req_wire"}
    return Reply(status=status, body=body, headers=headers or {})


def answering(reply: Reply | Mapping[str, Any], call: Call) -> Reply:
    """A message as a stream where one was asked for, else as JSON; a refusal as it stands."""
    if isinstance(reply, Reply):
        return reply
    asked = isinstance(call.body, dict) and call.body.get("stream")
    return streamed(reply) if asked else Reply(body=dict(reply))


def in_turn(*replies: Reply | Mapping[str, Any]) -> Answer:
    """Answers the n-th request with the n-th reply; the last one repeats."""

    def answer(call: Call) -> Reply:
        return answering(replies[min(call.number, len(replies)) - 1], call)

    return answer


async def _main(port: int, latency: float) -> None:
    reply = streamed(message("a made-up reply", read=20, written=5), latency=latency)
    server = MessagesServer(lambda _: reply, keep=False)
    await server.start(port)
    try:
        print(server.base_url, flush=True)
        await asyncio.Event().wait()
    finally:
        await server.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0)
    asked = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_main(asked.port, asked.latency))
