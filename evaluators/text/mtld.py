"""Lexical diversity: MTLD."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from orglab.evaluators.base import Scale, Score
from orglab.evaluators.process.drafts import TextMeasure
from orglab.evaluators.text.normalize import fold_case, words

FEW_WORDS: Final = 50
"""A text with fewer words is measured, and flagged: its value is unsteady."""


class Factors(NamedTuple):
    """How often the type-token ratio of a text fell below the threshold.

    Attributes:
        whole: Completed factors.
        part: The share of a factor that the words after the last one make, from 0 to 1.
    """

    whole: int
    part: float


def factors(tokens: Sequence[str], threshold: float) -> Factors:
    """Return the factors of a text, read in the order of ``tokens``.

    A factor closes as soon as the type-token ratio since the last one is below ``threshold``.
    """
    whole, seen, count = 0, set[str](), 0
    for token in tokens:
        seen.add(token)
        count += 1
        if len(seen) / count < threshold:
            whole, seen, count = whole + 1, set(), 0
    rest = (1 - len(seen) / count) / (1 - threshold) if count else 0.0
    return Factors(whole, rest)


@dataclass(frozen=True, kw_only=True)
class Mtld(TextMeasure):
    """The measure of textual lexical diversity (McCarthy & Jarvis 2010).

    The mean number of words in which the type-token ratio stays at the threshold or above: the
    mean of a reading forward and one backward, the unfinished factor counted in part. There is no
    smallest length; where no reading completes a factor the value is missing, and so it is where a
    short text says one word only: every factor is then as short as can be, whatever was said.

    Attributes:
        threshold: The type-token ratio below which a factor closes.
    """

    scale: ClassVar[Scale] = "ratio"

    threshold: float = 0.72

    def __post_init__(self) -> None:
        if not 0 < self.threshold < 1:
            raise ValueError(f"`threshold: {self.threshold}` must lie between 0 and 1")

    def measured(self, text: str) -> Sequence[Score]:
        """Read the text in both directions."""
        tokens = words(fold_case(text))
        both = [factors(tokens, self.threshold), factors(tokens[::-1], self.threshold)]
        detail: dict[str, float] = {"words": len(tokens), "types": len(set(tokens))}
        if not any(each.whole for each in both):
            reason = f"{len(tokens)} words, no factor completed"
            return [self.score(None, reason, detail=detail)]
        if len(tokens) < FEW_WORDS and len(set(tokens)) == 1:
            reason = f"{len(tokens)} words, all the same: too few to measure"
            return [self.score(None, reason, detail=detail)]
        forward, backward = (len(tokens) / (each.whole + each.part) for each in both)
        detail |= {"forward": forward, "backward": backward}
        return [self.score((forward + backward) / 2, _flag(len(tokens)), detail=detail)]


def _flag(count: int) -> str:
    return f"{count} words, fewer than {FEW_WORDS}: unsteady" if count < FEW_WORDS else ""
