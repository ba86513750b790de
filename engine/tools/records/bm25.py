"""Lexical search: BM25 over short texts, the same order every time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orglab.evaluators.text.normalize import fold_case, words

STOP_WORDS = frozenset(
    """
    a about after all also am an and any are as at be been before being between both but by
    can did do does doing down during each for from had has have having he her here him his how i
    if in into is it it's its itself just me more most my of off on once only or other our out over
    own s same she should so some such than that that's the their them then there these they this
    those through to too under until up very was we were what when where which while who whom why
    will with would you your
    """.split()  # noqa: SIM905 - a list would be four times as long
)
"""Words that say nothing of what a text is about; negations are not among them."""


def stem(word: str) -> str:
    """Return a word in small letters without its plural ending (the S-stemmer of Harman 1991)."""
    if len(word) > 3 and word.isalpha():
        if word.endswith("ies") and not word.endswith(("eies", "aies")):
            return f"{word[:-3]}y"
        if word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
            return word[:-1]
        if word.endswith("s") and not word.endswith(("us", "ss")):
            return word[:-1]
    return word


def stems(text: str, without: Iterable[str] = STOP_WORDS) -> list[str]:
    """Return the stems of a text's words, in order, those in ``without`` left out."""
    return [stem(word) for word in words(fold_case(text)) if word not in without]


_DIGITS = 6


class SearchHit(NamedTuple):
    """A text that was found.

    Attributes:
        position: Its place among the texts, from 0.
        score: BM25; larger is nearer.
    """

    position: int
    score: float


class Index:
    """BM25 (Lucene's variant, k1 1.5, b 0.75; Robertson & Zaragoza 2009) over texts.

    Immutable, so that all runs may share it.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        tokens = [stems(text) for text in texts]
        self.size = len(texts)
        vocabulary = sorted({word for each in tokens for word in each})
        self._ids = {word: place for place, word in enumerate(vocabulary)}
        self._scorer: Any = None
        if self._ids:
            import bm25s  # type: ignore[import-untyped]  # untyped, and slow to import: only who searches waits

            ids = [[self._ids[word] for word in each] for each in tokens]
            bm25s.logger.setLevel("WARNING")  # it logs every index
            self._scorer = bm25s.BM25(dtype="float64")
            self._scorer.index((ids, self._ids), show_progress=False)

    def scores(self, query: str) -> NDArray[np.float64]:
        """Return the score of every text; 0 where it has no word of the query."""
        asked = [self._ids[word] for word in dict.fromkeys(stems(query)) if word in self._ids]
        if self._scorer is None or not asked:
            return np.zeros(self.size)
        return np.asarray(self._scorer.get_scores_from_ids(asked), dtype=np.float64)

    def search(
        self, query: str, limit: int, allowed: Sequence[bool] | None = None
    ) -> list[SearchHit]:
        """Return the nearest texts, nearest first; equal scores stand in the texts' order.

        Args:
            query: What to look for.
            limit: Most results. Texts without any word of the query are none.
            allowed: Which texts may be found; None: all.
        """
        scores = np.round(self.scores(query), _DIGITS)
        if allowed is not None:
            scores = np.where(np.asarray(allowed, dtype=bool), scores, 0.0)
        order = np.argsort(-scores, kind="stable")[:limit]
        return [SearchHit(int(place), float(scores[place])) for place in order if scores[place] > 0]
