"""A server on loopback that speaks Chat Completions and plays every fault of one, for tests.

No language model is behind it: replies are made up, and say so. It counts what it served, so that a
study's own count can be held against it. Standard library alone.

    python benchmarks/wire/openai_server.py --port 8123 --latency 1.0
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = [
    "Call",
    "Counts",
    "Fault",
    "Reply",
    "Server",
    "chat",
    "echo",
    "error",
    "in_turn",
    "serving",
    "serving_in_thread",
    "stream",
    "tool_call",
]

Fault = Literal["", "before", "headers", "body", "stall", "truncated"]
"""Nothing; the connection is dropped before any byte, after the headers, inside the body; no byte
ever comes; the body is cut JSON of the length that the header says."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request as it came."""

    number: int
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What is answered: a value is sent as JSON, a text as it is."""

    status: int = 200
    body: Any = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    latency: float = 0.0
    fault: Fault = ""
    pieces: Sequence[bytes] = ()  # server-sent events, each sent by itself, in place of the body


@dataclass(kw_only=True)
class Counts:
    """What was served. Tokens of a reply count as ``whole`` when all of its bytes were written.

    ``lost``: replies with tokens that were cut on the way; the client cannot know what they used.
    """

    requests: int = 0
    whole: int = 0
    lost: int = 0
    input: int = 0
    output: int = 0
    lost_input: int = 0
    lost_output: int = 0
    at_once: int = 0
    most_at_once: int = 0


Answer = Callable[[Call], Reply]


class Server:
    """Answers each request by a function, on one event loop."""

    def __init__(self, answer: Answer, *, keep: bool = True) -> None:
        """Takes the function; ``keep``: remember each call (a benchmark's memory must stay flat)."""
        self.answer = answer
        self.counts = Counts()
        self.calls: list[Call] = []
        self._keep = keep
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._number = 0

    @property
    def base_url(self) -> str:
        """The address to point a client at."""
        assert self._server is not None
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://{host}:{port}/v1"

    async def start(self, port: int = 0) -> None:
        """Listens on loopback."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port, backlog=2048)

    async def stop(self) -> None:
        """Closes every connection, stalled ones too."""
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while (call := await self._read(reader)) is not None:
                if not await self._reply(call, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client went away, or the server is being stopped
        finally:
            self._tasks.discard(task)
            writer.transport.abort() if task.cancelling() else writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> Call | None:
        head = await reader.readuntil(b"\r\n\r\n") if not reader.at_eof() else b""
        if not head:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.split(":", 1) for line in lines if ":" in line)
        headers = {name.strip().lower(): value.strip() for name, value in pairs}
        text = await reader.readexactly(int(headers.get("content-length", "0")))
        self._number += 1
        path = first.split(" ")[1]
        call = Call(number=self._number, path=path, headers=headers, body=_parsed(text))
        if self._keep:
            self.calls.append(call)
        return call

    async def _reply(self, call: Call, writer: asyncio.StreamWriter) -> bool:
        """Answers; False where the connection is to be closed."""
        counts = self.counts
        counts.requests += 1
        counts.at_once += 1
        counts.most_at_once = max(counts.most_at_once, counts.at_once)
        reply = self.answer(call)
        whole = False
        try:
            whole = await self.send(reply, writer)
        finally:
            counts.at_once -= 1
            self._count(reply, whole)
        return whole or reply.fault == "truncated"

    async def send(self, reply: Reply, writer: asyncio.StreamWriter) -> bool:
        """Sends a reply or plays its fault; whether all of a good reply was written."""
        return await _send(reply, writer)

    def _count(self, reply: Reply, whole: bool) -> None:
        usage = reply.body.get("usage") if isinstance(reply.body, dict) else None
        read = usage.get("prompt_tokens", 0) if usage else 0
        written = usage.get("completion_tokens", 0) if usage else 0
        counts = self.counts
        if reply.status != 200:
            return
        if whole:
            counts.whole += 1
            counts.input += read
            counts.output += written
        else:
            counts.lost += 1
            counts.lost_input += read
            counts.lost_output += written


async def _send(reply: Reply, writer: asyncio.StreamWriter) -> bool:
    """Sends a reply or plays its fault; whether all of a good reply was written."""
    if reply.latency:
        await asyncio.sleep(reply.latency)
    if reply.fault == "stall":
        await asyncio.Event().wait()
    if reply.fault == "before":
        return False
    text = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
    data = text.encode()
    if reply.fault == "truncated":
        data = data[: len(data) // 2]
    kind = "application/json" if not isinstance(reply.body, str) else "text/plain"
    headers = {"Content-Type": kind, "Content-Length": str(len(data)), **reply.headers}
    if reply.pieces:
        headers.pop("Content-Length")
        headers |= {"Content-Type": "text/event-stream", "Connection": "close"}
    head = f"HTTP/1.1 {reply.status} Wire\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
    if reply.fault == "headers":
        data = b""
    elif reply.fault == "body":
        data = data[: len(data) // 2]
    writer.write(head.encode("latin-1") + (b"" if reply.pieces else data))
    for piece in reply.pieces:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0)
    await writer.drain()
    return reply.fault == "" and not reply.pieces


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text.decode("utf-8", "replace")


# -- replies


def chat(
    text: str | None = "OK",
    *,
    finish: str | None = "stop",
    read: int = 10,
    written: int = 2,
    model: str = "wire-model",
    message: Mapping[str, Any] | None = None,
    **outer: Any,
) -> dict[str, Any]:
    """The body of a reply; ``message`` adds to the message, ``outer`` to the whole."""
    said = {"role": "assistant", "content": text, **(message or {})}
    usage = {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
    }
    return {
        "id": "wire-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": said, "finish_reason": finish}],
        "usage": usage,
        **outer,
    }


def tool_call(name: str, arguments: str, *, identity: str = "c1") -> dict[str, Any]:
    """A message that asks for a tool."""
    function = {"name": name, "arguments": arguments}
    return {"tool_calls": [{"id": identity, "type": "function", "function": function}]}


def error(
    status: int,
    message: str = "no",
    *,
    code: str | None = None,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """A refusal in OpenAI's form."""
    said = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return Reply(status=status, body={"error": said}, headers=headers or {})


def stream(data: bytes, *, every: int = 0) -> Reply:
    """Server-sent events as they stand, cut after ``every`` bytes (0: sent at once)."""
    cuts = range(0, len(data), every) if every else [0]
    return Reply(pieces=[data[at : at + every] if every else data for at in cuts])


def in_turn(*replies: Reply | Mapping[str, Any]) -> Answer:
    """Answers the n-th request with the n-th reply; the last one repeats."""
    made = [each if isinstance(each, Reply) else Reply(body=dict(each)) for each in replies]

    def answer(call: Call) -> Reply:
        return made[min(call.number, len(made)) - 1]

    return answer


def echo(latency: float = 0.0) -> Answer:
    """Answers every request with a few words after ``latency`` seconds."""

    reply = Reply(body=chat("a made-up reply", read=20, written=5), latency=latency)
    return in_turn(reply)


# -- running it


@contextlib.asynccontextmanager
async def serving(answer: Answer, *, keep: bool = True, port: int = 0) -> AsyncIterator[Server]:
    """A server on this event loop."""
    server = Server(answer, keep=keep)
    await server.start(port)
    try:
        yield server
    finally:
        await server.stop()


@contextlib.contextmanager
def serving_in_thread(answer: Answer, *, keep: bool = True) -> Iterator[Server]:
    """A server on an event loop of its own, for code that is not asynchronous."""
    server = Server(answer, keep=keep)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.start(), loop).result(10)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


async def _main(port: int, latency: float) -> None:
    async with serving(echo(latency), keep=False, port=port) as server:
        print(server.base_url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0)
    asked = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_main(asked.port, asked.latency))
