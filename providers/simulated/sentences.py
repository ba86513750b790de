"""Sentences that look like English, with or without a hedge. They mean nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from orglab.providers.simulated.random_stream import Draws
from orglab.providers.simulated.vocabulary import (
    ADJECTIVES,
    CONCESSIONS,
    HEDGES,
    MODALS,
    NOUNS,
    VERBS,
    plural,
)

__all__ = ["Sentences", "concessions_in", "count_words", "hedges_in"]

_PLAIN: Final = (
    "The {a} {n} of this {n} {v} {a} {N} and {N}.",
    "{A} {N} {b} {N} in the {n}, and {a} {N} {b} it.",
    "For {a} {N}, its {n} {v} the {n} that {N} {b}.",
    "Its {n} {v} {a} {N} because {N} {b} {a} {N}.",
    "Where {N} {b} the {n}, {a} {N} {b} {N}.",
    "{A} {N} and {N} {b} one {n} after another.",
    "Customers who {b} {a} {N} {b} its {n}, and {N} {b} them.",
    "Once {N} {b} the {a} {n}, {N} {b} {a} {N}.",
    "With {a} {N}, each {n} {v} {N} from {a} {N}.",
    "{N} that {b} {a} {N} {b} the {n} as well.",
    "No {a} {n} {v} {N}, while {N} {b} {a} {N}.",
    "This {n} is {a}: it {v} {N} by {a} {N}.",
    "Across {a} {N}, {n} and {n} {b} {N}.",
    "Without {a} {N}, those {N} {b} {N} at every {n}.",
)
_ABOUT: Final = (
    "For {t}, the {a} {n} {v} the {n} and the {a} {N}.",
    "{A} {N} {b} {t}, and the {n} {v} {a} {N}.",
    "With {t}, the {a} {n} of the {n} {v} {N}.",
)
_CONCESSION: Final = "{c}, the {n} now {v} the {a} {N} of the {n}."
_TOPICAL: Final = 0.05
_FEWEST: Final = 12
_NEW: Final = 0.3
_SLOT: Final = re.compile(r"\{(.)\}")
_WORD: Final = re.compile(r"\d+(?:[.,]\d+)*[^\W_]*|[^\W_]+(?:'[^\W_]+)*")
#: Of nouns; verbs take the same ending in the third person.
_PLURALS: Final = {word: plural(word) for word in (*NOUNS, *ADJECTIVES, *VERBS)}
_NO_TOPICS: Final = {form for word in (*ADJECTIVES, *VERBS) for form in (word, _PLURALS[word])}
_ADVERBS: Final = {word for words in HEDGES.values() for word in words if word not in MODALS}
_HEDGE: Final = re.compile(rf"\b(?:{'|'.join(sorted(_ADVERBS | set(MODALS)))})\b", re.IGNORECASE)
_CONCEDES: Final = re.compile("|".join(CONCESSIONS))


def _is_topic(word: str) -> bool:
    """No hedge, and no adjective or verb that an earlier text was made of."""
    return not hedges_in(word) and word.lower() not in _NO_TOPICS


def count_words(text: str) -> int:
    """Words of a text; a hyphen parts two, a point between digits does not."""
    return len(_WORD.findall(text))


def hedges_in(text: str) -> int:
    """Hedges of the kind that ``Sentences`` writes."""
    return len(_HEDGE.findall(text))


def concessions_in(text: str) -> int:
    """Sentences that answer a superior and not the reader."""
    return len(_CONCEDES.findall(text))


class Sentences:
    """Writes sentences with the draws of one call.

    Args:
        draws: Where chance comes from.
        topics: Words of the task, which come up now and then.
        vocabulary: The share of the words known that one text makes use of, from 0 to 1.
        draft: A text whose words it goes on with, where it has enough of them.
    """

    def __init__(
        self, draws: Draws, topics: Sequence[str], vocabulary: float, draft: str = ""
    ) -> None:
        self._draws = draws
        self._topics = [each for each in topics if _is_topic(each)] or ["the task"]
        found = set(_WORD.findall(draft.lower()))
        self._words = {
            slot: _within(words, found, draws)
            or draws.some(words, max(_FEWEST, round(vocabulary * len(words))))
            for slot, words in (("n", NOUNS), ("a", ADJECTIVES), ("v", VERBS))
        }

    def opening(self) -> str:
        """A sentence on a topic, for the beginning of a text."""
        return self._fill(self._draws.pick(_ABOUT))

    def plain(self) -> str:
        """A sentence without a hedge."""
        about = self._draws.chance(_TOPICAL)
        return self._fill(self._draws.pick(_ABOUT if about else _PLAIN))

    def hedged(self, rates: Mapping[str, float]) -> str:
        """A sentence with one hedge, of a class as likely as its rate."""
        word = self._draws.pick(HEDGES[self._draws.weighted(rates)])
        return self._fill(self._draws.pick(_PLAIN), hedge=word)

    def concession(self) -> str:
        """A sentence that says that a superior's wish was met."""
        return self._fill(_CONCESSION.replace("{c}", self._draws.pick(CONCESSIONS)))

    def _fill(self, pattern: str, hedge: str = "") -> str:
        """The pattern with its slots filled, and ``hedge`` before its first verb."""
        left = [hedge] if hedge else []

        def word(match: re.Match[str]) -> str:
            slot = match.group(1)
            if slot == "t":
                return self._draws.pick(self._topics)
            found = self._draws.pick(self._words[{"b": "v"}.get(slot, slot.lower())])
            if slot in "bv":
                return self._verb(found, slot == "v", left.pop() if left else "")
            return {"N": _PLURALS[found], "A": found.capitalize()}.get(slot, found)

        made = _SLOT.sub(word, pattern)
        return made[0].upper() + made[1:]

    def _verb(self, verb: str, one: bool, hedge: str) -> str:
        if hedge in MODALS:
            return f"{hedge} {verb}"
        form = _PLURALS[verb] if one else verb
        return f"{hedge} {form}" if hedge else form


def _within(words: Sequence[str], found: set[str], draws: Draws) -> list[str]:
    """Those of ``words`` that were found, in the plural too, and some more; none where few were."""
    known = [word for word in words if word in found or _PLURALS[word] in found]
    if len(known) < _FEWEST:
        return []
    return known + draws.some(words, round(_NEW * len(known)))
