"""Fault injection, to measure a team's robustness.

``docs/how-to/errors-and-retries.md`` explains each fault. A fault is drawn from its name, the call's identity and the attempt number: a study has the same
faults whatever the order of its calls, and the rate of one fault does not affect another.
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
from orglab.providers.simulated.random_stream import RandomStream
from orglab.providers.structured_output.parse import read_reply

FAULTS = ("timeout", "rate_limited", "server_error", "malformed", "truncated", "empty", "silent")
"""Names of all faults."""

_ATTEMPT_FAULTS = ("timeout", "rate_limited", "server_error")
_REPLY_FAULTS = ("malformed", "truncated", "empty")
_RANGE = 2.0**64


def combined_rates(model: Mapping[str, float], role: Mapping[str, float]) -> Mapping[str, float]:
    """Return the sums of a model's and a role's rates, at most 1 each."""
    if not role or not model:
        return role or model
    return {
        name: min(1.0, model.get(name, 0.0) + role.get(name, 0.0))
        for name in FAULTS
        if name in model or name in role
    }


class InjectedFaults:
    """Injected faults of one call.

    Args:
        rates: Rates (0 to 1) by fault name.
        identity: The call's identity.
    """

    def __init__(self, rates: Mapping[str, float], identity: str) -> None:
        self._rates = rates
        self._identity = identity

    def before(self, attempt: int) -> tuple[ProviderError, str] | None:
        """Return the error injected in place of an attempt and its note, or None.

        Args:
            attempt: Number of the request for this reply, from 1.
        """
        if self._hits("silent", 0):
            note = "planted fault: silent"
            return Unavailable(f"{note}: no attempt of this call is ever answered"), note
        for name in _ATTEMPT_FAULTS:
            if self._hits(name, attempt):
                note = f"planted fault: {name} at attempt {attempt}"
                error = RateLimited(note) if name == "rate_limited" else Unavailable(note)
                return error, note
        return None

    def after(self, completion: Completion, request: Request, attempt: int) -> Completion:
        """Return the reply, altered where a fault is drawn; its usage stays."""
        for name in _REPLY_FAULTS:
            if self._hits(name, attempt):
                return self._altered(name, completion, request)
        return completion

    def _hits(self, name: str, attempt: int) -> bool:
        rate = self._rates.get(name, 0.0)
        return rate > 0.0 and _uniform(name, self._identity, attempt) < rate

    def _altered(self, name: str, completion: Completion, request: Request) -> Completion:
        draws = RandomStream(f"{name} {self._identity}")
        marked = replace(
            completion, native=False, notes=(*completion.notes, f"planted fault: {name}")
        )
        if name == "empty":
            return replace(marked, text="", tool_calls=(), stop="stop", logprobs=None)
        if name == "truncated":
            return _truncated(marked, draws)
        return _malformed(marked, request, draws)


def _uniform(name: str, identity: str, attempt: int) -> float:
    """Return a uniform number in [0, 1)."""
    text = f"fault {name} {attempt} {identity}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") / _RANGE


def _truncated(completion: Completion, draws: RandomStream) -> Completion:
    """Return the reply as a token limit leaves it: its prefix, or its last tool call truncated."""
    calls = completion.tool_calls
    if calls:
        calls = (*calls[:-1], _truncated_call(calls[-1], draws))
    text = completion.text if calls else _random_prefix(completion.text, draws)
    return replace(completion, text=text, tool_calls=calls, stop="length", logprobs=None)


def _malformed(completion: Completion, request: Request, draws: RandomStream) -> Completion:
    """Return the reply with broken JSON in its tool calls or text; free text is shuffled."""
    if completion.tool_calls:
        calls = tuple(_truncated_call(call, draws) for call in completion.tool_calls)
        return replace(completion, tool_calls=calls)
    text = completion.text
    if request.schema is None:
        text = " ".join(draws.shuffled(text.split()))
    else:
        text = next(
            each for each in _broken(text, draws) if read_reply(each, request.schema).problem
        )
    return replace(completion, text=text, logprobs=None)


def _broken(text: str, draws: RandomStream) -> tuple[str, ...]:
    """Return broken forms of a JSON text, the most typical first; the last is never readable."""
    unquoted = text.replace('"', "")
    bare = "".join(mark for mark in unquoted if mark not in "{}[]:,")
    return (_random_prefix(text, draws), unquoted, bare, "not JSON")


def _truncated_call(call: ToolCall, draws: RandomStream) -> ToolCall:
    return replace(call, arguments=_random_prefix(call.arguments, draws))


def _random_prefix(text: str, draws: RandomStream) -> str:
    """Return a random prefix of a text, from a quarter to three quarters of it."""
    return text[: int(len(text) * draws.real(0.25, 0.75))]
