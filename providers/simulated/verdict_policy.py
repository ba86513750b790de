"""Verdicts of a simulated superior, by its profile's rates and the output under review."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final

from orglab.providers.base import JSON
from orglab.providers.simulated.call_context import CallContext
from orglab.providers.simulated.revision import first_sentence
from orglab.providers.simulated.schema_sampler import LEAVE_OUT, NOTHING
from orglab.providers.simulated.scoring import quality

_OBLIGING: Final = ("question", "revise", "reject")
_OBLIGED: Final = re.compile(r"^- [^:\n]+: (?:question|revise|reject)\.", re.MULTILINE)
_UNDER_REVIEW: Final = "\n## Output of {role} under review\n"
_FROM: Final = "\n### From {role}\n"
_KINDS: Final = ("form", "substance")
_BOARD: Final = re.compile(r"^## Blackboard$|^### From ", re.MULTILINE)


class VerdictHints:
    """Hints for one verdict: the action first, then its texts."""

    def __init__(self, context: CallContext) -> None:
        self._request, self._profile = context.request, context.profile
        self._stream, self._prose = context.stream, context.prose
        self._action: str | None = None

    def __call__(self, name: str, schema: Mapping[str, JSON]) -> JSON:
        """Return the value of a field, ``LEAVE_OUT``, or ``NOTHING`` where this is no verdict."""
        if name == "action" and self._offers_verdicts(schema):
            weights = self._weights()
            self._action = self._stream.weighted({each: weights[each] for each in schema["enum"]})
            return self._action
        return NOTHING if self._action is None else self._of_verdict(name, schema)

    @property
    def verdict(self) -> bool:
        """Return whether an action was chosen: this is a verdict."""
        return self._action is not None

    def _offers_verdicts(self, schema: Mapping[str, JSON]) -> bool:
        offered = schema.get("enum")
        return bool(offered) and all(each in self._profile.verdicts for each in offered or ())

    def _weights(self) -> dict[str, float]:
        """Return the weights for this role's output; those of obliging actions may be reduced."""
        reviewed = (self._request.labels.reviewed or "").partition("#")[0]
        weights = dict(self._profile.verdicts_on.get(reviewed, self._profile.verdicts))
        prompt = self._request.messages[-1].content if self._request.messages else ""
        held = self._profile.again if _OBLIGED.search(prompt) else 1.0
        held *= 1.0 if _BOARD.search(prompt) else self._profile.unseen
        if self._profile.discerning:
            held *= math.exp(-self._profile.discerning * _quality(prompt, reviewed))
        return {
            action: weight * held if action in _OBLIGING else weight
            for action, weight in weights.items()
        }

    def _of_verdict(self, name: str, schema: Mapping[str, JSON]) -> JSON:
        if name == "target":
            named = self._action == "revise" and self._stream.chance(self._profile.target)
            return NOTHING if named else LEAVE_OUT
        if name == "suggestion" and self._action == "approve":
            return LEAVE_OUT
        if name in ("reason", "suggestion") and schema.get("type") == "string":
            remark = self._prose.remark(str(self._action), round(self._profile.field_words.mean))
            return remark if len(remark) <= schema.get("maxLength", len(remark)) else NOTHING
        return NOTHING


def _quality(prompt: str, role: str) -> float:
    """Return the quality of the last output of ``role`` in the prompt; 0 if there is none."""
    for mark in (_UNDER_REVIEW, _FROM):
        text = prompt.rpartition(mark.format(role=role))[2]
        if text and text != prompt:
            opening = first_sentence(text)
            each = [quality(kind, opening) for kind in _KINDS]
            return sum(each) / math.sqrt(len(each))
    return 0.0
