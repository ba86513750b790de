"""How many words an output has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from orglab.evaluators.base import Scale, Score
from orglab.evaluators.process.drafts import TextMeasure
from orglab.evaluators.text.normalize import words

__all__ = ["Words"]


@dataclass(frozen=True, kw_only=True)
class Words(TextMeasure):
    """Words of the output, after normalisation, and with ``drafts`` of each draft."""

    scale: ClassVar[Scale] = "count"

    def measured(self, text: str) -> Sequence[Score]:
        """Counts."""
        return [self.score(len(words(text)))]
