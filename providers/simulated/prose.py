"""Filler that looks like English: what a simulated model writes. It means nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from orglab.providers.base import Message
from orglab.providers.simulated.random_stream import Draws

__all__ = ["Prose", "topic_words"]

_NOUNS = [
    "pattern",
    "figure",
    "group",
    "result",
    "measure",
    "share",
    "range",
    "trend",
    "table",
    "sample",
    "level",
    "difference",
    "case",
    "source",
    "value",
    "detail",
    "reading",
    "account",
    "answer",
    "reason",
    "part",
    "order",
]
_ADJECTIVES = [
    "clear",
    "small",
    "steady",
    "plain",
    "large",
    "narrow",
    "common",
    "early",
    "recent",
    "strong",
    "weak",
    "even",
    "full",
    "open",
    "short",
    "typical",
    "useful",
    "careful",
]
_VERBS = [
    "shows",
    "supports",
    "follows",
    "changes",
    "explains",
    "matches",
    "precedes",
    "limits",
    "repeats",
    "reaches",
]
_SENTENCES = (
    "The {a} {n} of {t} {v} the {n}.",
    "For {t}, the {n} {v} a {a} {n} in most cases.",
    "Taken together, {t} and {u} give a {a} {n}.",
    "A {a} {n} stands beside {t}, and the {n} {v} it.",
    "Looking at {t}, the {a} {n} comes first and the {n} second.",
    "The {n} on {t} is {a}, while the {n} on {u} {v} little.",
    "Readers who work with {t} can use this {n}.",
    "The {n} {v} {t} in each {a} {n}.",
)
_VERDICTS = {
    "approve": ("The {n} on {t} is {a} and the words follow it.", "It answers the task about {t}."),
    "comment": (
        "The {n} on {t} could be said in fewer words.",
        "A {a} point about {u} would help.",
    ),
    "question": (
        "Does the {n} on {t} hold within each {n}?",
        "What {n} would {t} show without the {a} cases?",
        "How many rows does the {n} on {u} rest on?",
    ),
    "revise": ("Say which {n} the claim on {t} rests on.", "The part on {u} needs a {a} {n}."),
    "reject": ("The {n} does not bear out the claim on {t}.", "Nothing here rests on {t}."),
}
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]{4,17}")
_COMMON = frozenset(
    [
        "about",
        "above",
        "after",
        "again",
        "below",
        "could",
        "first",
        "given",
        "other",
        "report",
        "their",
        "there",
        "these",
        "those",
        "under",
        "which",
        "while",
        "would",
        "write",
        "answer",
        "output",
        "schema",
        "should",
        "before",
        "being",
        "every",
        "field",
        "format",
        "question",
        "text",
        "value",
        "values",
        "verdict",
        "inbox",
        "string",
        "number",
        "object",
        "reply",
        "round",
        "turns",
    ]
)
_TOPICS = 12
_SEEN = 4000


def topic_words(messages: Sequence[Message]) -> list[str]:
    """A few longer words of the last user message: what the task is about."""
    said = next((each.content for each in reversed(messages) if each.role == "user"), "")
    distinct: dict[str, None] = {}
    for match in _WORD.finditer(said[:_SEEN]):
        word = match.group()
        if word.lower() not in _COMMON:
            distinct[word] = None
            if len(distinct) == _TOPICS:
                break
    return list(distinct) or ["the task"]


class Prose:
    """Writes sentences about ``topics`` with the draws of one call."""

    def __init__(self, draws: Draws, topics: Sequence[str]) -> None:
        self._draws = draws
        self._topics = topics

    def text(self, words: int) -> str:
        """Sentences of at least ``words`` words, and few more."""
        sentences: list[str] = []
        count = 0
        while count < words:
            sentence = self._fill(self._draws.pick(_SENTENCES))
            sentences.append(sentence)
            count += sentence.count(" ") + 1
        return " ".join(sentences)

    def phrase(self) -> str:
        """Two words."""
        return f"{self._draws.pick(_ADJECTIVES)} {self._draws.pick(_NOUNS)}"

    def word(self) -> str:
        """One word."""
        return self._draws.pick(_NOUNS)

    def remark(self, action: str, words: int) -> str:
        """The words of a verdict; those of a question end with a question mark."""
        sentence = self._fill(self._draws.pick(_VERDICTS[action]))
        if action == "question":
            return sentence
        left = words - sentence.count(" ") - 1
        return f"{sentence} {self.text(left)}" if left > 3 else sentence

    def _fill(self, pattern: str) -> str:
        draws = self._draws
        made = pattern.replace("{t}", draws.pick(self._topics)).replace(
            "{u}", draws.pick(self._topics)
        )
        for mark, words in (("{n}", _NOUNS), ("{a}", _ADJECTIVES), ("{v}", _VERBS)):
            while mark in made:
                made = made.replace(mark, draws.pick(words), 1)
        return made
