"""How long an output is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import regex

from orglab.evaluators.base import Context, Output, OutputEvaluator, Scale, Score
from orglab.evaluators.process.drafts import TextMeasure
from orglab.evaluators.structured.field_path import no_field, text_at
from orglab.evaluators.text.normalize import fold, sentences, words


@dataclass(frozen=True, kw_only=True)
class Length(OutputEvaluator):
    """Words, characters or sentences of the output, after normalisation.

    Attributes:
        unit: What is counted. A character is what a reader sees as one.
        field: Look at this field of a structured output alone.
    """

    scale: ClassVar[Scale] = "count"

    unit: Literal["words", "characters", "sentences"] = "words"
    field: str | None = None

    def score_name(self) -> str:
        """Return ``words``, ``characters`` or ``sentences``."""
        return self.unit

    async def look(self, output: Output, context: Context) -> Score:
        """Count the units."""
        held = text_at(output, self.field)
        if held is None:
            return self.score(None, no_field(self.field))
        return self.score(self._count_units(held))

    def _count_units(self, text: str) -> int:
        if self.unit == "words":
            return len(words(text))
        if self.unit == "sentences":
            return len(sentences(text))
        return len(regex.findall(r"\X", fold(text)))


@dataclass(frozen=True, kw_only=True)
class Words(TextMeasure):
    """Words of the output, after normalisation, and with ``drafts`` of each draft."""

    scale: ClassVar[Scale] = "count"

    def measured(self, text: str) -> Sequence[Score]:
        """Count the units."""
        return [self.score(len(words(text)))]
