"""A second draft made from the first: most sentences kept, some replaced, some added.

The profile says how many hedges and concessions a directive adds. A draft revised without a directive
changes as much and gets neither.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from orglab.providers.base import Message
from orglab.providers.simulated.profile import Profile
from orglab.providers.simulated.prose import Sentences, count_words, hedges_in
from orglab.providers.simulated.random_stream import RandomStream

_DIRECTED: Final = re.compile(
    r"directs you to revise your output:|asks a question\. Answer it, and expand your output"
)
_REJECTED: Final = re.compile(r"rejected your last output and it was withdrawn")
_DRAFT: Final = "\nYour draft:\n"
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+")
_BY_CHANCE: Final = 0.07
"""Share of a sentence's words that stand, in their order, in the one put in its place as well."""

_HALF: Final = 7
"""Half of a sentence, in words."""


class EarlierDraft(NamedTuple):
    """A draft to revise.

    Attributes:
        draft: The draft to go on from.
        directed: A superior obliges its author to go on from it.
    """

    draft: str
    directed: bool


def earlier_draft(messages: Sequence[Message]) -> EarlierDraft | None:
    """Return the author's own draft in a conversation; None if there is none yet.

    A rejected draft was withdrawn: its author starts again.
    """
    said = max((at for at, each in enumerate(messages) if each.role == "user"), default=-1)
    if said < 0 or _REJECTED.search(messages[said].content):
        return None
    directed = _DIRECTED.search(messages[said].content) is not None
    if directed and _DRAFT in messages[said].content:
        return EarlierDraft(messages[said].content.rpartition(_DRAFT)[2].strip(), directed)
    for message in reversed(messages[:said]):
        if message.role == "assistant" and message.content.strip() and not message.tool_calls:
            return EarlierDraft(message.content.strip(), directed)
    return None


def first_sentence(text: str) -> str:
    """Return the first sentence of a text's first paragraph, "" if it has none."""
    for line in text.split("\n"):
        if _is_prose(line):
            return _SENTENCE_END.split(line.strip(), maxsplit=1)[0]
    return ""


def revised(
    earlier: EarlierDraft, stream: RandomStream, sentences: Sentences, profile: Profile
) -> str:
    """Return the next draft. Headings, lists and the first sentence stay as they are."""
    habit = profile.revision
    lines = [
        _SENTENCE_END.split(line.strip()) if _is_prose(line) else line
        for line in earlier.draft.split("\n")
    ]
    chosen = _chosen(lines, 1.0 - min(1.0, stream.normal(habit.kept.mean, habit.kept.sd)), stream)
    gone = [lines[at][number] for at, number in chosen]
    added = stream.normal(habit.words.mean, habit.words.sd)
    hedges = sum(map(hedges_in, gone)) + _more_hedges(earlier, added, stream, profile)
    concessions = stream.count(habit.concessions) if earlier.directed else 0
    fresh = [sentences.concession() for _ in range(concessions)]
    fresh += [sentences.hedged(profile.hedges) for _ in range(hedges)]
    count, room = sum(map(count_words, fresh)), sum(map(count_words, gone)) + added
    while count < room - _HALF:
        fresh.append(sentences.plain())
        count += count_words(fresh[-1])
    fresh = stream.shuffled(fresh)
    if not chosen:
        return "\n\n".join([earlier.draft, *([" ".join(fresh)] if fresh else [])])
    return _put_in(lines, chosen, fresh)


def _chosen(
    lines: Sequence[str | list[str]], share: float, stream: RandomStream
) -> list[tuple[int, int]]:
    """Return the places of sentences to replace, about ``share`` of all words."""
    places = [
        (at, number)
        for at, line in enumerate(lines)
        if isinstance(line, list)
        for number in range(len(line))
    ]
    words = sum(count_words(line if isinstance(line, str) else " ".join(line)) for line in lines)
    left = share * words / (1.0 - _BY_CHANCE) - _HALF
    chosen = []
    for at, number in stream.shuffled(places[1:]):
        if left <= 0:
            break
        chosen.append((at, number))
        left -= count_words(lines[at][number])
    return chosen


def _more_hedges(
    earlier: EarlierDraft, added: float, stream: RandomStream, profile: Profile
) -> int:
    """Return how many hedges to add, so that a directive raises their rate and else it stays."""
    words, habit = max(1, count_words(earlier.draft)), profile.revision
    rise = habit.hedges if earlier.directed else 0.0
    mean = rise * (words + added) / 1000 + hedges_in(earlier.draft) * added / words
    return stream.count(max(0.0, mean), habit.spread)


def _put_in(
    lines: list[str | list[str]], chosen: Sequence[tuple[int, int]], fresh: Sequence[str]
) -> str:
    """Return the draft with ``fresh`` in place of the chosen sentences, distributed evenly."""
    spread: dict[tuple[int, int], list[str]] = {place: [] for place in chosen}
    for number, sentence in enumerate(fresh):
        spread[chosen[number * len(chosen) // len(fresh)]].append(sentence)
    out = []
    for at, line in enumerate(lines):
        if isinstance(line, str):
            out.append(line)
            continue
        own = [
            each
            for number, sentence in enumerate(line)
            for each in spread.get((at, number), [sentence])
        ]
        out.append(" ".join(own))
    return "\n".join(out)


def _is_prose(line: str) -> bool:
    """Return whether a line holds sentences, not a heading, list item or table row."""
    return bool(line.strip()) and not line.lstrip().startswith(("#", "- ", "* ", "|", "**"))
