"""Texts that look like English and mean nothing: filler of fields, and sentences of reports.

Words and sentence patterns are data: ``words.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Final

import yaml

from orglab.providers.base import JSON, Message
from orglab.providers.simulated.random_stream import RandomStream


def _split(data: JSON) -> JSON:
    """Return word lists, which are one string in the file, as lists."""
    if isinstance(data, dict):
        return {key: _split(value) for key, value in data.items()}
    return data.split() if isinstance(data, str) and "{" not in data else data


def plural(word: str) -> str:
    """Return a noun's regular plural, or a verb's third person: ``batteries``, ``switches``."""
    if word.endswith("y") and word[-2] not in "aeiou":
        return f"{word[:-1]}ies"
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return f"{word}es"
    return f"{word}s"


WORDS: Final[Mapping[str, JSON]] = _split(
    yaml.safe_load((files(__package__) / "words.yaml").read_text(encoding="utf-8"))
)
"""Word lists and sentence patterns."""

HEDGES: Final[Mapping[str, Sequence[str]]] = WORDS["hedges"]
"""Words put before a verb, by the classes of the evaluators' hedge lexicon."""

SHORT_FIELDS: Final = frozenset(WORDS["short_fields"])
"""Names of fields whose text is a phrase."""

_REPORT: Final = WORDS["report"]
_FILLER: Final = WORDS["filler"]
_COMMON: Final = frozenset(WORDS["common"])
_TOPIC: Final = re.compile(r"[A-Za-z][A-Za-z'-]{4,17}")
_TOPICS: Final = 12
_PROMPT_CHARACTERS: Final = 4000  # of a prompt, read for topics
_TOPICAL: Final = 0.05
_FEWEST: Final = 12
_NEW: Final = 0.3
_SLOT: Final = re.compile(r"\{(.)\}")
_WORD: Final = re.compile(r"\d+(?:[.,]\d+)*[^\W_]*|[^\W_]+(?:'[^\W_]+)*")
_CONTENT: Final = {"n": WORDS["nouns"], "a": WORDS["adjectives"], "v": WORDS["verbs"]}
#: Of nouns; verbs take the same ending in the third person.
_PLURALS: Final = {word: plural(word) for words in _CONTENT.values() for word in words}
_NO_TOPICS: Final = {
    form for slot in "av" for word in _CONTENT[slot] for form in (word, plural(word))
}
_ANY_HEDGE: Final = sorted({word for words in HEDGES.values() for word in words})
_HEDGE: Final = re.compile(rf"\b(?:{'|'.join(_ANY_HEDGE)})\b", re.IGNORECASE)
_CONCEDES: Final = re.compile("|".join(WORDS["concessions"]))


def topic_words(messages: Sequence[Message]) -> list[str]:
    """Return a few longer words of the last user message: what the task is about."""
    prompt = next((each.content for each in reversed(messages) if each.role == "user"), "")
    distinct: dict[str, None] = {}
    for match in _TOPIC.finditer(prompt[:_PROMPT_CHARACTERS]):
        word = match.group()
        if word.lower() not in _COMMON:
            distinct[word] = None
            if len(distinct) == _TOPICS:
                break
    return list(distinct) or ["the task"]


class Prose:
    """Writes sentences about ``topics`` with the random stream of one call."""

    def __init__(self, stream: RandomStream, topics: Sequence[str]) -> None:
        self._stream = stream
        self._topics = topics

    def text(self, words: int) -> str:
        """Return sentences of at least ``words`` words, and few more."""
        sentences: list[str] = []
        count = 0
        while count < words:
            sentence = self._fill(self._stream.pick(_FILLER["sentences"]))
            sentences.append(sentence)
            count += sentence.count(" ") + 1
        return " ".join(sentences)

    def phrase(self) -> str:
        """Return two words."""
        return f"{self._stream.pick(_FILLER['adjectives'])} {self.word()}"

    def word(self) -> str:
        """Return one word."""
        return str(self._stream.pick(_FILLER["nouns"]))

    def remark(self, action: str, words: int) -> str:
        """Return a verdict's reason; that of a question ends with a question mark."""
        sentence = self._fill(self._stream.pick(_FILLER["verdicts"][action]))
        if action == "question":
            return sentence
        left = words - sentence.count(" ") - 1
        return f"{sentence} {self.text(left)}" if left > 3 else sentence

    def _fill(self, pattern: str) -> str:
        stream = self._stream
        made = pattern.replace("{t}", stream.pick(self._topics)).replace(
            "{u}", stream.pick(self._topics)
        )
        for mark, kind in (("{n}", "nouns"), ("{a}", "adjectives"), ("{v}", "verbs")):
            while mark in made:
                made = made.replace(mark, stream.pick(_FILLER[kind]), 1)
        return made


def _is_topic(word: str) -> bool:
    """Return whether a word is neither a hedge nor an adjective or verb of our lists."""
    return not hedges_in(word) and word.lower() not in _NO_TOPICS


def count_words(text: str) -> int:
    """Return the number of words; a hyphen separates two, a point between digits does not."""
    return len(_WORD.findall(text))


def hedges_in(text: str) -> int:
    """Return the number of hedges that ``Sentences`` can write."""
    return len(_HEDGE.findall(text))


def concessions_in(text: str) -> int:
    """Return the number of sentences that concede to a superior."""
    return len(_CONCEDES.findall(text))


class Sentences:
    """Writes sentences with the random stream of one call.

    Args:
        stream: Where chance comes from.
        topics: Words of the task, which come up now and then.
        vocabulary: The share of the words known that one text makes use of, from 0 to 1.
        draft: A text whose words are used again, if it has enough of them.
    """

    def __init__(
        self, stream: RandomStream, topics: Sequence[str], vocabulary: float, draft: str = ""
    ) -> None:
        self._stream = stream
        self._topics = [each for each in topics if _is_topic(each)] or ["the task"]
        found = set(_WORD.findall(draft.lower()))
        self._words = {
            slot: _within(words, found, stream)
            or stream.some(words, max(_FEWEST, round(vocabulary * len(words))))
            for slot, words in _CONTENT.items()
        }

    def opening(self) -> str:
        """Return a sentence on a topic, for the beginning of a text."""
        return self._fill(self._stream.pick(_REPORT["about"]))

    def plain(self) -> str:
        """Return a sentence without a hedge."""
        about = self._stream.chance(_TOPICAL)
        return self._fill(self._stream.pick(_REPORT["about" if about else "plain"]))

    def hedged(self, rates: Mapping[str, float]) -> str:
        """Return a sentence with one hedge, its class sampled by ``rates``."""
        word = self._stream.pick(HEDGES[self._stream.weighted(rates)])
        return self._fill(self._stream.pick(_REPORT["plain"]), hedge=word)

    def concession(self) -> str:
        """Return a sentence that says that a superior's request was met."""
        return self._fill(
            _REPORT["concession"].replace("{c}", self._stream.pick(WORDS["concessions"]))
        )

    def _fill(self, pattern: str, hedge: str = "") -> str:
        """Return the pattern with its slots filled, and ``hedge`` before its first verb."""
        left = [hedge] if hedge else []

        def word(match: re.Match[str]) -> str:
            slot = match.group(1)
            if slot == "t":
                return self._stream.pick(self._topics)
            found = self._stream.pick(self._words[{"b": "v"}.get(slot, slot.lower())])
            if slot in "bv":
                return self._verb(found, slot == "v", left.pop() if left else "")
            return {"N": _PLURALS[found], "A": found.capitalize()}.get(slot, found)

        made = _SLOT.sub(word, pattern)
        return made[0].upper() + made[1:]

    def _verb(self, verb: str, one: bool, hedge: str) -> str:
        if hedge in HEDGES["modal"]:
            return f"{hedge} {verb}"
        form = _PLURALS[verb] if one else verb
        return f"{hedge} {form}" if hedge else form


def _within(words: Sequence[str], found: set[str], stream: RandomStream) -> list[str]:
    """Return those of ``words`` in ``found``, and some more; none if few are in it."""
    known = [word for word in words if word in found or _PLURALS[word] in found]
    if len(known) < _FEWEST:
        return []
    return known + stream.some(words, round(_NEW * len(known)))
