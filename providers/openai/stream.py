"""A reply that arrives in pieces, joined to what it would have been as a whole."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping

from orglab.providers.base import JSON, Unavailable
from orglab.providers.hosted.account import Account


async def join_stream(lines: AsyncIterator[str], account: Account) -> dict[str, JSON]:
    """Return the body of a whole reply, from the lines of server-sent events.

    Pieces of one tool call are joined by their index; the usage comes in a chunk of its own. A
    stream that ends without ``[DONE]`` and without a reason to stop is not whole.

    Raises:
        Unavailable: The stream broke off, or a piece is no JSON.
    """
    reply = _Joining()
    async for line in lines:
        if not line.startswith("data:"):
            continue
        data = line[5:].strip()
        if data == "[DONE]":
            reply.done = True
            break
        reply.take(_parse_piece(data, account))
    if not reply.whole:
        raise Unavailable(f"{account.host} closed the connection within the reply", cut=True)
    return reply.body()


def _parse_piece(data: str, account: Account) -> Mapping[str, JSON]:
    data = account.hide(data) if account.key and account.key in data else data
    try:
        piece = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Unavailable(f"{account.host} sent a piece that is not JSON", cut=True) from error
    return piece if isinstance(piece, dict) else {}


class _Joining:
    """What has come of one reply."""

    def __init__(self) -> None:
        self.done = False
        self.outer: dict[str, JSON] = {}
        self.texts: dict[str, list[str]] = {}
        self.calls: dict[int, dict[str, list[str]]] = {}
        self.logprobs: list[JSON] = []
        self.finish: JSON = None
        self.began = False

    @property
    def whole(self) -> bool:
        """Return whether the end was seen, or an error that ends it."""
        return self.done or self.finish is not None or bool(self.outer.get("error"))

    def take(self, piece: Mapping[str, JSON]) -> None:
        """Add a piece; a field outside the choices counts as it was last fields."""
        fields = {name: value for name, value in piece.items() if name != "choices" and value}
        self.outer |= fields
        choices = piece.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, dict) and choice.get("index", 0) == 0:
                self._choose(choice)

    def body(self) -> dict[str, JSON]:
        """Return the reply as a whole."""
        message: dict[str, JSON] = {name: "".join(parts) for name, parts in self.texts.items()}
        if self.calls:
            message["tool_calls"] = [_call(call) for _, call in sorted(self.calls.items())]
        choice: dict[str, JSON] = {"message": message, "finish_reason": self.finish}
        if self.logprobs:
            choice["logprobs"] = {"content": self.logprobs}
        return {**self.outer, "choices": [choice] if self.began else []}

    def _choose(self, choice: Mapping[str, JSON]) -> None:
        self.began = True
        self.finish = choice.get("finish_reason") or self.finish
        if choice.get("error"):
            self.outer["error"] = choice["error"]
        logprobs = choice.get("logprobs")
        content = logprobs.get("content") if isinstance(logprobs, dict) else None
        self.logprobs += content if isinstance(content, list) else []
        delta = choice.get("delta")
        for name, value in delta.items() if isinstance(delta, dict) else ():
            if name == "tool_calls" and isinstance(value, list):
                for place, part in enumerate(value):
                    self._call(part if isinstance(part, dict) else {}, place)
            elif isinstance(value, str) and name != "role":
                self.texts.setdefault(name, []).append(value)

    def _call(self, part: Mapping[str, JSON], place: int) -> None:
        index = part.get("index", place)
        known = self.calls.setdefault(index if isinstance(index, int) else place, {})
        function = part.get("function")
        fields = function if isinstance(function, dict) else {}
        for name, value in (("id", part.get("id")), *fields.items()):
            if isinstance(value, str):
                known.setdefault(name, []).append(value)


def _call(parts: Mapping[str, list[str]]) -> dict[str, JSON]:
    """Return one call; its id and name come once, its arguments in pieces."""
    function = {
        "name": next(iter(parts.get("name", ())), ""),
        "arguments": "".join(parts.get("arguments", ())),
    }
    return {"id": next(iter(parts.get("id", ())), ""), "type": "function", "function": function}
