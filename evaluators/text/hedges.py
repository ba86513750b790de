"""How often an output hedges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from orglab.evaluators.base import Scale, Score
from orglab.evaluators.process.drafts import TextMeasure
from orglab.evaluators.text.lexicon import Lexicon, load_lexicon
from orglab.evaluators.text.normalize import words


@dataclass(frozen=True, kw_only=True)
class Hedges(TextMeasure):
    """Hedges per 1,000 words: of all terms, and of each class of the lexicon.

    Attributes:
        lexicon: Another list of terms by class, ``.yaml``, ``.csv`` or ``.txt``.
    """

    scale: ClassVar[Scale] = "ratio"

    lexicon: Path | None = None

    def measured(self, text: str) -> Sequence[Score]:
        """Count the terms of the lexicon, the longest at each place."""
        count = len(words(text))
        if not count:
            return self.missing_scores("the text has no words")
        terms = self._terms()
        by_term = Counter(terms.found(text))
        by_class = Counter[str]()
        for term, times in by_term.items():
            by_class[terms.classes[term]] += times
        detail = {
            "count": by_term.total(),
            "words": count,
            "by_class": {name: by_class[name] for name in terms.counted},
            "by_term": dict(sorted(by_term.items())),
        }
        return [
            self.score(1000 * by_term.total() / count, detail=detail),
            *(_of_class(name, 1000 * by_class[name] / count) for name in terms.counted),
        ]

    def missing_scores(self, reason: str) -> Sequence[Score]:
        """Return all scores, missing."""
        classes = self._terms().counted
        return [self.score(None, reason), *(_of_class(name, None, reason) for name in classes)]

    def _terms(self) -> Lexicon:
        return load_lexicon(self.lexicon, "hedges.yaml")


def _of_class(name: str, value: float | None, reason: str = "") -> Score:
    return Score(name=f"hedges.{name}", value=value, scale="ratio", reason=reason)
