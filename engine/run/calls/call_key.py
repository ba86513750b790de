"""The identity of a call, and the seeds drawn from it.

The identity holds what ``docs/decisions/0003-identity.md`` lists. It is built of digests of its
parts, so that a message is hashed once however often it is sent again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from orglab.providers.base import JSON, Message
from orglab.providers.structured_output.strict_json import canonical
from orglab.results.store.run_id import parts_digest

digest = parts_digest

KEY_VERSION = "1"
"""Changes when the identity's parts do, so that stored calls of another meaning never match."""


def message_digest(message: Message) -> str:
    """Return a digest of all that a model sees of one message."""
    if not message.tool_calls and message.tool_call_id is None:
        return digest(message.role, message.content)
    calls = [part for call in message.tool_calls for part in (call.id, call.name, call.arguments)]
    return digest(message.role, message.content, message.tool_call_id or "", *calls)


def draw(seed: int, unit: str, replicate: int, what: str, who: str, visit: int) -> float:
    """Return a number in [0, 1) for one draw: never from call order, the same in all arms."""
    state = digest(str(seed), unit, str(replicate), what, who, str(visit))
    return int(state[:13], 16) / 16**13


def sampling_seed(identity: str) -> int:
    """Return a model's sampling seed, 0 to 2**31 - 1, from the identity of the call."""
    return int(digest("sampling", identity)[:8], 16) & 0x7FFFFFFF


@dataclass(kw_only=True, slots=True)
class CallCounter:
    """Numbers equal calls of a run, and digests what was called at earlier barriers.

    Attributes:
        scope: Digest of root seed, unit, replicate and (where arms share nothing) the arm.
        history: Digest of the run's calls at earlier barriers.
    """

    scope: str
    history: str = ""
    _counts: dict[str, int] = field(default_factory=dict)

    def identity(self, base: str, rank: int, earlier_in_turn: Sequence[str]) -> str:
        """Return the identity of a call whose content digests to ``base``.

        Args:
            base: Digest of provider, model, base URL, parameters, messages, tools, schema.
            rank: How many turns declared earlier in this tick began with an equal call.
            earlier_in_turn: The content digests of this turn's earlier calls.
        """
        number = self._counts.get(base, 0) + earlier_in_turn.count(base)
        return digest(KEY_VERSION, base, self.scope, self.history, str(number), str(rank))

    def close(self, calls: Sequence[tuple[str, str]]) -> None:
        """End a barrier: its calls (content digest, identity), in order, become history."""
        if not calls:
            return
        for base, _ in calls:
            self._counts[base] = self._counts.get(base, 0) + 1
        self.history = digest(self.history, *(identity for _, identity in calls))


def bound_model_digest(
    *, provider: str, model: str, base_url: str, options: JSON, params: Mapping[str, JSON]
) -> str:
    """Digest of who is asked and how: every parameter that is sent, a written seed included."""
    return digest(provider, model, base_url, canonical(options), canonical(params))
