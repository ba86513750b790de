"""The first draft of a simulated report: as long, as headed and as hedged as asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from orglab.providers.base import Message
from orglab.providers.simulated.facts import fact_lines, read_facts
from orglab.providers.simulated.profile import Profile
from orglab.providers.simulated.prose import Sentences, count_words
from orglab.providers.simulated.random_stream import RandomStream

_ASKED: Final = re.compile(
    r"\b(about|around|at most|no more than|up to) (\d{1,3}(?:,\d{3})+|\d+) words"
)
_BOUNDS: Final = ("at most", "no more than", "up to")
_HEADING: Final = re.compile(r"^#{1,4} \S.*$", re.MULTILINE)
_SPECIFIES: Final = re.compile("specification", re.IGNORECASE)
_SHORTEST: Final = 3
_SENTENCE: Final = 13
_PARAGRAPH: Final = 4


def asked_length(messages: Sequence[Message]) -> tuple[int, bool] | None:
    """Return how many words the task asks for, and whether that is the most; None if it does not say."""
    for message in (*messages[:1], *messages[-1:]):
        found = _ASKED.search(message.content)
        if found and message.role in ("system", "user"):
            return int(found.group(2).replace(",", "")), found.group(1) in _BOUNDS
    return None


def first_draft(
    messages: Sequence[Message], stream: RandomStream, sentences: Sentences, profile: Profile
) -> str:
    """Return a report: an opening, then the sections that the task names, with specifications."""
    system = messages[0].content if messages and messages[0].role == "system" else ""
    facts = read_facts(messages) if _SPECIFIES.search(system) else {}
    lines = fact_lines(facts, profile.exact, stream)
    headings = _HEADING.findall(system)
    target = _target(messages, stream, profile)
    room = target - sum(count_words(line) for line in (*lines, *headings))
    hedges = stream.count(sum(profile.hedges.values()) * target / 1000)
    written = _sentences(room, hedges, stream, sentences, profile)
    return _laid_out(written, headings, lines)


def _target(messages: Sequence[Message], stream: RandomStream, profile: Profile) -> int:
    asked = asked_length(messages)
    if asked is None:
        return max(_SHORTEST, round(stream.normal(profile.words.mean, profile.words.sd)))
    number, most = asked
    share = stream.normal(profile.asked_words.mean, profile.asked_words.sd)
    return max(_SHORTEST, round(number * (min(share, 1.0) if most else share)))


def _sentences(
    words: int, hedges: int, stream: RandomStream, sentences: Sentences, profile: Profile
) -> list[str]:
    """Return sentences of about ``words`` words, ``hedges`` of them hedged."""
    written = [sentences.opening()]
    count = count_words(written[0])
    while count < words - _SENTENCE // 2:
        written.append(sentences.plain())
        count += count_words(written[-1])
    for place in stream.some(range(1, len(written)), hedges):
        written[place] = sentences.hedged(profile.hedges)
    return written


def _laid_out(written: Sequence[str], headings: Sequence[str], facts: Sequence[str]) -> str:
    """Return paragraphs under the headings; specifications under the heading that names them."""
    parts = max(1, len(headings))
    home = next((at for at, each in enumerate(headings) if _SPECIFIES.search(each)), 0)
    blocks: list[str] = []
    for part in range(parts):
        blocks += headings[part : part + 1]
        if part == home and facts and headings:
            blocks.append("\n".join(facts))
        own = written[part * len(written) // parts : (part + 1) * len(written) // parts]
        blocks += [" ".join(own[at : at + _PARAGRAPH]) for at in range(0, len(own), _PARAGRAPH)]
        if part == home and facts and not headings:
            blocks.insert(1, "\n".join(facts))
    return "\n\n".join(blocks)
