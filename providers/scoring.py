"""How a simulated judge scores: what it reads in the text, and chance.

The quality of a report is drawn from its first sentence, which a revision keeps: all judges see
the same, and only their chance differs. Hedges and concessions are counted in the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from orglab.providers.base import JSON, Message
from orglab.providers.draws import Draws
from orglab.providers.profile import JudgingHabit
from orglab.providers.revision import first_sentence
from orglab.providers.sentences import concessions_in, count_words, hedges_in

__all__ = ["Scorer"]

_FENCED: Final = re.compile(r"^(={8,})\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)


class Scorer:
    """Scores one report for one judge."""

    def __init__(self, messages: Sequence[Message], draws: Draws, habit: JudgingHabit) -> None:
        report = _report(messages)
        self._draws = draws
        self._habit = habit
        self._quality = first_sentence(report)
        self._hedges = 1000 * hedges_in(report) / max(1, count_words(report))
        self._concessions = concessions_in(report)
        self._halo = draws.normal(0.0, habit.halo)

    def __call__(self, name: str, schema: Mapping[str, JSON]) -> int | None:
        """The score of a criterion; None where the field is not one of its levels."""
        if schema.get("type") != "integer" or not {"minimum", "maximum"} <= schema.keys():
            return None
        knobs = self._habit.criterion(name)
        bother = knobs.hedges * self._hedges + knobs.concessions * self._concessions
        exact = (
            knobs.level
            - self._habit.severity
            + self._drawn(knobs.kind) * knobs.shared
            + self._drawn(f"{knobs.kind} {name}") * knobs.own
            + self._habit.bother * bother
            + self._halo
            + self._draws.normal(0.0, knobs.noise)
        )
        return int(min(max(round(exact), schema["minimum"]), schema["maximum"]))

    def _drawn(self, what: str) -> float:
        """A quality of this report, the same for every judge."""
        return Draws(f"{what} of {self._quality}").normal(0.0, 1.0)


def _report(messages: Sequence[Message]) -> str:
    """What is judged: the text between two fences, else all that was said last."""
    said = messages[-1].content
    found = _FENCED.search(said)
    return found.group(2) if found else said
