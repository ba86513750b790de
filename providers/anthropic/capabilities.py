"""What a server would not take, learned from its refusals and remembered for the process.

Models of one vendor differ in the parameters that they take, and the lists grow old faster than
releases. So a request is sent as the author wrote it; a refusal that names what it does not like is
read, the request is sent once the other way, and every later request to that model is sent so at
once, with a note.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

SAMPLING: Final = ("temperature", "top_p", "top_k")
"""Sampling parameters, which only older models and API versions take."""

_OPTIONAL: Final = (*SAMPLING, "service_tier", "cache_control")


@dataclass(kw_only=True, slots=True)
class MessagesCapabilities:
    """How one model of one server wants to be asked.

    Attributes:
        unsent: Parameters that it does not take.
        most_output: The largest ``max_tokens`` that it takes; None: not known.
        adaptive: It takes no thinking budget and decides by itself how long to think.
        by_tool: It knows no output format: structured answers are asked for as a tool's input.
        unheld: Digests of schemas that it cannot hold a reply to.
        unforced: No tool can be forced on it (while it thinks).
    """

    unsent: set[str] = field(default_factory=set)
    most_output: int | None = None
    adaptive: bool = False
    by_tool: bool = False
    unheld: set[str] = field(default_factory=set)
    unforced: bool = False


@dataclass(kw_only=True, slots=True)
class CallAdjustments:
    """What one call alone is bent by.

    Attributes:
        most_output: Tokens that the window leaves for the reply; None: not known.
        unthinking: The reasoning that belongs to earlier tool calls is lost, so there is none now.
    """

    most_output: int | None = None
    unthinking: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """A refused request, and what may be learned from it.

    Attributes:
        message: What the server said.
        body: What was sent.
        capabilities: What is known of the model; it grows.
        adjustments: What this call alone is bent by; it grows.
        limited: The author wrote how long the reply may be.
        schema: Digest of the reply's schema, "" where there is none.
    """

    message: str
    body: Mapping[str, Any]
    capabilities: MessagesCapabilities
    adjustments: CallAdjustments
    limited: bool = False
    schema: str = ""

    def says(self, pattern: str) -> re.Match[str] | None:
        """Return where the server's message matches ``pattern``, ignoring case."""
        return re.search(pattern, self.message, re.IGNORECASE | re.DOTALL)


_KNOWN: dict[tuple[str, str], MessagesCapabilities] = {}


def capabilities_of(base_url: str, model: str) -> MessagesCapabilities:
    """Return the capabilities of a model, the same object for the whole process."""
    return _KNOWN.setdefault((base_url, model), MessagesCapabilities())


def learn(refusal: Refusal) -> bool:
    """Read a refusal; True where the request can now be sent another way."""
    return any(rule(refusal) for rule in _RULES)


def _limit(refusal: Refusal) -> bool:
    """Learn from ``max_tokens: 200000 > 128000, which is the maximum …``: the model can write no more."""
    found = refusal.says(r"max_tokens\W{0,3}(\d+) > (\d+)")
    if found is None or int(found[2]) < 1 or refusal.capabilities.most_output == int(found[2]):
        return False
    refusal.capabilities.most_output = int(found[2])
    return True


def _window(refusal: Refusal) -> bool:
    """Learn from ``… exceed context limit: 190000 + 20000 > 200000``: a default of ours is lowered."""
    found = refusal.says(r"max_tokens.{0,80}?(\d+) \+ (\d+) > (\d+)")
    if found is None or refusal.limited or refusal.adjustments.most_output is not None:
        return False
    left = int(found[3]) - int(found[1])
    refusal.adjustments.most_output = left if left > 0 else None
    return left > 0


def _lost_thinking(refusal: Refusal) -> bool:
    """Learn from ``Expected `thinking` or `redacted_thinking`, but found `tool_use```."""
    named = refusal.says(r"expected .{0,30}thinking.{0,60}found")
    if refusal.adjustments.unthinking or not named:
        return False
    refusal.adjustments.unthinking = True
    return True


def _forced(refusal: Refusal) -> bool:
    choice = refusal.body.get("tool_choice", {}).get("type")
    named = refusal.says(r"tool_choice|tool choice|forces tool use")
    if refusal.capabilities.unforced or choice not in ("any", "tool") or not named:
        return False
    refusal.capabilities.unforced = True
    return True


def _budget(refusal: Refusal) -> bool:
    written = refusal.body.get("thinking", {}).get("type")
    named = refusal.says(r"thinking\.type\.enabled|adaptive|budget_tokens.{0,40}not supported")
    if refusal.capabilities.adaptive or written != "enabled" or not named:
        return False
    refusal.capabilities.adaptive = True
    return True


def _format(refusal: Refusal) -> bool:
    named = refusal.says(r"output_config|output.?format|structured output|schema|grammar")
    if "format" not in refusal.body.get("output_config", {}) or not named:
        return False
    if refusal.says(r"extra inputs|not support(ed)?\b.{0,60}(model|format|output)|this model"):
        refusal.capabilities.by_tool = True
    else:
        refusal.capabilities.unheld.add(refusal.schema)
    return True


def _effort(refusal: Refusal) -> bool:
    named = refusal.says(r"effort.{0,60}(not|extra)|not support.{0,40}effort|output_config: extra")
    if "effort" not in refusal.body.get("output_config", {}) or not named:
        return False
    refusal.capabilities.unsent.add("effort")
    return True


def _optional(refusal: Refusal) -> bool:
    """Return a parameter that can be left out, refused by name, and not for its value."""
    sent = [name for name in _OPTIONAL if name in refusal.body]
    named = [name for name in sent if refusal.says(rf"(?<![a-z_]){name}(?![a-z_])")]
    if not named or _is_bad_value(refusal):
        return False
    if {"temperature", "top_p"} <= set(named) and refusal.says(r"\bboth\b|only one"):
        named = ["top_p"]
    refusal.capabilities.unsent.update(named)
    return True


def _is_bad_value(refusal: Refusal) -> bool:
    value = refusal.says(r"input should be|(greater|less) than|must be (in|between)|\brange\b")
    return bool(value) and not refusal.says(r"thinking|unset|deprecated|not support")


_RULES: Final = (
    _limit,
    _window,
    _lost_thinking,
    _forced,
    _budget,
    _format,
    _effort,
    _optional,
)
