"""Faults on purpose, for trying how a team bears them. ``docs/how-to/errors-and-retries.md`` explains each.

A fault is drawn from its name, the identity of the call and the number of the attempt: the same
study has the same faults, in whatever order its calls are made, and another rate of one fault
moves no other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from orglab.providers.base import (
    Completion,
    ProviderError,
    RateLimited,
    Request,
    ToolCall,
    Unavailable,
)
from orglab.providers.simulated.random_stream import Draws
from orglab.providers.structured_output.parse import read_reply

__all__ = ["FAULTS", "PlantedFaults", "added"]

FAULTS = ("timeout", "rate_limited", "server_error", "malformed", "truncated", "empty", "silent")
"""Every fault that can be planted."""

_OF_ATTEMPTS = ("timeout", "rate_limited", "server_error")
_OF_REPLIES = ("malformed", "truncated", "empty")
_ALL = 2.0**64


def added(model: Mapping[str, float], role: Mapping[str, float]) -> Mapping[str, float]:
    """The rates of a model and of a role together: their sum, at most 1."""
    if not role or not model:
        return role or model
    return {
        name: min(1.0, model.get(name, 0.0) + role.get(name, 0.0))
        for name in FAULTS
        if name in model or name in role
    }


class PlantedFaults:
    """The faults of one call.

    Args:
        rates: Rates (0 to 1) by name.
        identity: The call's identity.
    """

    def __init__(self, rates: Mapping[str, float], identity: str) -> None:
        self._rates = rates
        self._identity = identity

    def before(self, attempt: int) -> tuple[ProviderError, str] | None:
        """The fault in place of an attempt, and its note; None where the attempt is made.

        Args:
            attempt: Which request for this reply, from 1.
        """
        if self._hits("silent", 0):
            words = "planted fault: silent"
            return Unavailable(f"{words}: no attempt of this call is ever answered"), words
        for name in _OF_ATTEMPTS:
            if self._hits(name, attempt):
                words = f"planted fault: {name} at attempt {attempt}"
                return _fault(name, words), words
        return None

    def after(self, completion: Completion, request: Request, attempt: int) -> Completion:
        """The reply, altered where a fault hits it; tokens were spent all the same."""
        for name in _OF_REPLIES:
            if self._hits(name, attempt):
                return self._altered(name, completion, request)
        return completion

    def _hits(self, name: str, attempt: int) -> bool:
        rate = self._rates.get(name, 0.0)
        return rate > 0.0 and _share(name, self._identity, attempt) < rate

    def _altered(self, name: str, completion: Completion, request: Request) -> Completion:
        draws = Draws(f"{name} {self._identity}")
        told = replace(
            completion, native=False, notes=(*completion.notes, f"planted fault: {name}")
        )
        if name == "empty":
            return replace(told, text="", tool_calls=(), stop="stop", logprobs=None)
        if name == "truncated":
            return _truncated(told, draws)
        return _malformed(told, request, draws)


def _share(name: str, identity: str, attempt: int) -> float:
    """A number from 0 to below 1, evenly spread."""
    text = f"fault {name} {attempt} {identity}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") / _ALL


def _fault(name: str, words: str) -> ProviderError:
    if name == "rate_limited":
        return RateLimited(words)
    return Unavailable(words)


def _truncated(completion: Completion, draws: Draws) -> Completion:
    """What a token limit leaves: the beginning; of several tool calls, the last is cut."""
    calls = completion.tool_calls
    if calls:
        calls = (*calls[:-1], _cut_call(calls[-1], draws))
    text = completion.text if calls else _beginning(completion.text, draws)
    return replace(completion, text=text, tool_calls=calls, stop="length", logprobs=None)


def _malformed(completion: Completion, request: Request, draws: Draws) -> Completion:
    """Broken JSON: of the arguments of tool calls, else of the reply; a free text is garbled."""
    if completion.tool_calls:
        calls = tuple(_cut_call(call, draws) for call in completion.tool_calls)
        return replace(completion, tool_calls=calls)
    text = completion.text
    if request.schema is None:
        text = " ".join(draws.shuffled(text.split()))
    else:
        text = next(each for each in _broken(text, draws) if _unreadable(each, request))
    return replace(completion, text=text, logprobs=None)


def _broken(text: str, draws: Draws) -> tuple[str, ...]:
    """Ways to break JSON, the likeliest first; nobody reads the last."""
    unquoted = text.replace('"', "")
    bare = "".join(mark for mark in unquoted if mark not in "{}[]:,")
    return (_beginning(text, draws), unquoted, bare, "not JSON")


def _unreadable(text: str, request: Request) -> bool:
    return read_reply(text, request.schema).problem is not None


def _cut_call(call: ToolCall, draws: Draws) -> ToolCall:
    return replace(call, arguments=_beginning(call.arguments, draws))


def _beginning(text: str, draws: Draws) -> str:
    """A drawn part of a text, from a quarter to three quarters; never all of it."""
    return text[: int(len(text) * draws.real(0.25, 0.75))]
