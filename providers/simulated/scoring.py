"""Scores of a simulated judge: what it reads in the text, and chance.

The quality of a report is drawn from its first sentence, which a revision keeps: all judges see
the same, and only their chance differs. Hedges and concessions are counted in the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from orglab.providers.base import JSON, Message
from orglab.providers.simulated.profile import JudgingHabit
from orglab.providers.simulated.prose import concessions_in, count_words, hedges_in
from orglab.providers.simulated.random_stream import RandomStream
from orglab.providers.simulated.revision import first_sentence

_FENCED: Final = re.compile(r"^(={5,}[^\n]*)\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)


class Scorer:
    """Scores one report for one judge."""

    def __init__(
        self, messages: Sequence[Message], stream: RandomStream, habit: JudgingHabit
    ) -> None:
        report = reported(messages)
        self._stream = stream
        self._habit = habit
        self._opening = first_sentence(report)
        self._hedges = 1000 * hedges_in(report) / max(1, count_words(report))
        self._concessions = concessions_in(report)
        self._halo: dict[str, float] = {}

    def __call__(self, name: str, schema: Mapping[str, JSON]) -> int | None:
        """Return the score of a criterion; None if the field is not an integer with bounds."""
        if schema.get("type") != "integer" or not {"minimum", "maximum"} <= schema.keys():
            return None
        settings = self._habit.criterion(name)
        bother = settings.hedges * self._hedges + settings.concessions * self._concessions
        exact = (
            settings.level
            - self._habit.severity
            + quality(settings.kind, self._opening) * settings.shared
            + quality(f"{settings.kind} {name}", self._opening) * settings.own
            + self._habit.bother * bother
            + self._kind_halo(settings.kind) * settings.halo
            + self._stream.normal(0.0, settings.noise)
        )
        return int(min(max(round(exact), schema["minimum"]), schema["maximum"]))

    def _kind_halo(self, kind: str) -> float:
        """Return this judge's deviation in all criteria of a kind."""
        if kind not in self._halo:
            self._halo[kind] = self._stream.normal(0.0, 1.0)
        return self._halo[kind]


def quality(what: str, opening: str) -> float:
    """Return a quality of the text that begins with ``opening``, the same for every judge.

    Sampled from a normal distribution with mean 0 and standard deviation 1.
    """
    return RandomStream(f"{what} of {opening}").normal(0.0, 1.0)


def reported(messages: Sequence[Message]) -> str:
    """Return the text under judgement: between two fences, else the last message."""
    prompt = messages[-1].content
    found = _FENCED.search(prompt)
    return found.group(2) if found else prompt
