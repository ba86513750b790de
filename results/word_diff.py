"""Word-by-word comparison of two texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple, TypeAlias

Stretch: TypeAlias = tuple[bool, Sequence[str], Sequence[str]]
"""Whether it is common, and the words of both sides."""

AROUND = 8
"""Words of a common stretch shown beside a change."""
MOST_PAIRS = 1_000_000
"""Pairs of equal words beyond which texts are compared by lines; beyond that, not at all."""


class Piece(NamedTuple):
    """A stretch of text.

    Attributes:
        kind: In both texts, in the left one only, or in the right one only; ``gap``: common words
            left out.
        text: The words.
    """

    kind: Literal["same", "left", "right", "gap"]
    text: str


def word_diff(left: str, right: str, *, shorten: bool = True) -> list[Piece]:
    """Compare two texts word by word.

    Args:
        left: The first text.
        right: The second text.
        shorten: Replace the middle of long common stretches with a gap.
    """
    ours, theirs = _split_words(left), _split_words(right)
    pieces: list[Piece] = []
    left_over = len(ours) + len(theirs)
    for same, one, other in _stretches(ours, theirs):
        left_over -= len(one) + len(other)
        if same and shorten:
            pieces += _shortened(one, first=not pieces, last=not left_over)
        elif same:
            pieces.append(Piece("same", "".join(other)))
        else:
            sides: tuple[Piece, ...] = (Piece("left", "".join(one)), Piece("right", "".join(other)))
            pieces += [piece for piece in sides if piece.text]
    return pieces


def hunks(left: str, right: str, around: int = 2) -> list[tuple[str, str]]:
    """Group the changed lines of both texts into hunks.

    Args:
        left: The first text.
        right: The second text.
        around: Common lines kept before and after a change.
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
    """List the changes only, on one line: ``-'old words' +'new words'``."""
    changes = [
        (one, other)
        for same, one, other in _stretches(_split_words(left), _split_words(right))
        if not same
    ]
    return " ".join(
        word for one, other in changes for word in _signed_words("".join(one), "".join(other))
    )


def _signed_words(left: str, right: str) -> Iterator[str]:
    """Strip blanks around the words, unless the blanks are the change."""
    bare = left.strip() != right.strip()
    for sign, text in (("-", left), ("+", right)):
        if text:
            yield sign + repr((bare and text.strip()) or text)


def _split_words(text: str) -> list[str]:
    return re.findall(r"\s*\S+|\s+$", text)


def _stretches(left: Sequence[str], right: Sequence[str]) -> Iterator[Stretch]:
    """Yield common and differing stretches in order, in bounded time."""
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
    """Count the pairs of equal items that the matcher would compare."""
    theirs = Counter(right)
    return sum(often * theirs[item] for item, often in Counter(left).items())


def _lines(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Group words into lines."""
    lines: list[list[str]] = []
    for word in words:
        if not lines or "\n" in word:
            lines.append([])
        lines[-1].append(word)
    return [tuple(line) for line in lines]


def _shortened(words: Sequence[str], *, first: bool, last: bool) -> Iterator[Piece]:
    if len(words) <= 2 * AROUND + 1:
        yield Piece("same", "".join(words))
        return
    if not first:
        yield Piece("same", "".join(words[:AROUND]))
    yield Piece("gap", " … ")
    if not last:
        yield Piece("same", "".join(words[-AROUND:]))
