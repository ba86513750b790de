"""Two texts word by word: what stands in one alone, and what in the other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple, TypeAlias

__all__ = ["Piece", "changed_words", "hunks", "word_diff"]

Stretch: TypeAlias = tuple[bool, Sequence[str], Sequence[str]]
"""Whether it is common, and the words of both sides."""

AROUND = 8
"""Words of a common stretch that are shown beside a change."""
MOST_PAIRS = 1_000_000
"""Pairs of equal words beyond which texts are compared by lines, and beyond that not within."""


class Piece(NamedTuple):
    """A stretch of text.

    Attributes:
        kind: It stands in both, on the left alone, or on the right alone; ``gap`` stands for
            common words that are left out.
        text: The words.
    """

    kind: Literal["same", "left", "right", "gap"]
    text: str


def word_diff(left: str, right: str) -> list[Piece]:
    """The two texts as stretches, long common ones shortened."""
    ours, theirs = _words(left), _words(right)
    pieces: list[Piece] = []
    left_over = len(ours) + len(theirs)
    for same, one, other in _stretches(ours, theirs):
        left_over -= len(one) + len(other)
        if same:
            pieces += _shortened(one, first=not pieces, last=not left_over)
        else:
            pieces += _changed(one, other)
    return pieces


def hunks(left: str, right: str, around: int = 2) -> list[tuple[str, str]]:
    """The changed lines of both texts, those that lie near each other together.

    Args:
        left: The one text.
        right: The other.
        around: Common lines that are kept before and after a change.
    """
    ours, theirs = left.split("\n"), right.split("\n")
    if _pairs(ours, theirs) > MOST_PAIRS:
        return [(left, right)]
    matcher = SequenceMatcher(a=ours, b=theirs, autojunk=False)
    return [
        (
            "\n".join(ours[group[0][1] : group[-1][2]]),
            "\n".join(theirs[group[0][3] : group[-1][4]]),
        )
        for group in matcher.get_grouped_opcodes(around)
    ]


def changed_words(left: str, right: str) -> str:
    """The changes alone, in one line: ``-'old words' +'new words'``."""
    changes = [
        (one, other) for same, one, other in _stretches(_words(left), _words(right)) if not same
    ]
    return " ".join(
        word for one, other in changes for word in _signed("".join(one), "".join(other))
    )


def _signed(left: str, right: str) -> Iterator[str]:
    """Blanks around the words are left out, unless the blanks are the change."""
    bare = left.strip() != right.strip()
    for sign, text in (("-", left), ("+", right)):
        if text:
            yield sign + repr((bare and text.strip()) or text)


def _words(text: str) -> list[str]:
    return re.findall(r"\s*\S+|\s+$", text)


def _stretches(left: Sequence[str], right: Sequence[str]) -> Iterator[Stretch]:
    """Common and other stretches, in order; the work is bounded, whatever the texts are."""
    most = min(len(left), len(right))
    start = next((i for i in range(most) if left[i] != right[i]), most)
    most -= start
    end = next((i for i in range(most) if left[-1 - i] != right[-1 - i]), most)
    ours, theirs = left[start : len(left) - end], right[start : len(right) - end]
    if start:
        yield True, left[:start], right[:start]
    if ours or theirs:
        yield from _middle(ours, theirs)
    if end:
        yield True, left[-end:], right[-end:]


def _middle(left: Sequence[str], right: Sequence[str]) -> Iterator[Stretch]:
    if _pairs(left, right) <= MOST_PAIRS:
        yield from _matched(left, right)
        return
    ours, theirs = _lines(left), _lines(right)
    if _pairs(ours, theirs) > MOST_PAIRS:
        yield False, left, right
        return
    for same, one, other in _matched(ours, theirs):
        yield same, [word for line in one for word in line], [w for line in other for w in line]


def _matched(left: Sequence[Any], right: Sequence[Any]) -> Iterator[tuple[bool, Any, Any]]:
    matcher = SequenceMatcher(a=left, b=right, autojunk=False)
    for tag, a1, a2, b1, b2 in matcher.get_opcodes():
        yield tag == "equal", left[a1:a2], right[b1:b2]


def _pairs(left: Sequence[Any], right: Sequence[Any]) -> int:
    """How many pairs of equal items the matcher would look at."""
    theirs = Counter(right)
    return sum(often * theirs[item] for item, often in Counter(left).items())


def _lines(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Words by the lines they begin."""
    lines: list[list[str]] = []
    for word in words:
        if not lines or "\n" in word:
            lines.append([])
        lines[-1].append(word)
    return [tuple(line) for line in lines]


def _changed(left: Sequence[str], right: Sequence[str]) -> Iterator[Piece]:
    if left:
        yield Piece("left", "".join(left))
    if right:
        yield Piece("right", "".join(right))


def _shortened(words: Sequence[str], *, first: bool, last: bool) -> Iterator[Piece]:
    if len(words) <= 2 * AROUND + 1:
        yield Piece("same", "".join(words))
        return
    if not first:
        yield Piece("same", "".join(words[:AROUND]))
    yield Piece("gap", " … ")
    if not last:
        yield Piece("same", "".join(words[-AROUND:]))
