"""How a simulated judge scores: what it reads in the text, and chance.

The quality of a report is drawn from its first sentence, which a revision keeps: all judges see
the same, and only their chance differs. Hedges and concessions are counted in the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from orglab.providers.base import JSON, Message
from orglab.providers.simulated.profile import JudgingHabit
from orglab.providers.simulated.random_stream import Draws
from orglab.providers.simulated.revision import first_sentence
from orglab.providers.simulated.sentences import concessions_in, count_words, hedges_in

__all__ = ["Scorer", "quality", "reported"]

_FENCED: Final = re.compile(r"^(={5,}[^\n]*)\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)


class Scorer:
    """Scores one report for one judge."""

    def __init__(self, messages: Sequence[Message], draws: Draws, habit: JudgingHabit) -> None:
        report = reported(messages)
        self._draws = draws
        self._habit = habit
        self._opening = first_sentence(report)
        self._hedges = 1000 * hedges_in(report) / max(1, count_words(report))
        self._concessions = concessions_in(report)
        self._halo: dict[str, float] = {}

    def __call__(self, name: str, schema: Mapping[str, JSON]) -> int | None:
        """The score of a criterion; None where the field is not one of its levels."""
        if schema.get("type") != "integer" or not {"minimum", "maximum"} <= schema.keys():
            return None
        knobs = self._habit.criterion(name)
        bother = knobs.hedges * self._hedges + knobs.concessions * self._concessions
        exact = (
            knobs.level
            - self._habit.severity
            + quality(knobs.kind, self._opening) * knobs.shared
            + quality(f"{knobs.kind} {name}", self._opening) * knobs.own
            + self._habit.bother * bother
            + self._of_kind(knobs.kind) * knobs.halo
            + self._draws.normal(0.0, knobs.noise)
        )
        return int(min(max(round(exact), schema["minimum"]), schema["maximum"]))

    def _of_kind(self, kind: str) -> float:
        """This judge's chance in all criteria of a kind."""
        if kind not in self._halo:
            self._halo[kind] = self._draws.normal(0.0, 1.0)
        return self._halo[kind]


def quality(what: str, opening: str) -> float:
    """A quality of the text that begins with ``opening``, the same for whoever reads it.

    Drawn from a normal distribution with mean 0 and standard deviation 1.
    """
    return Draws(f"{what} of {opening}").normal(0.0, 1.0)


def reported(messages: Sequence[Message]) -> str:
    """What is judged: the text between two fences, else all that was said last."""
    said = messages[-1].content
    found = _FENCED.search(said)
    return found.group(2) if found else said
