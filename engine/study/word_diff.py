"""Two texts word by word: what stands in one alone, and what in the other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

__all__ = ["Piece", "changed_words", "word_diff"]

AROUND = 8
"""Words of a common stretch that are shown beside a change."""


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
    matcher = SequenceMatcher(a=ours, b=theirs, autojunk=False)
    pieces: list[Piece] = []
    for tag, a1, a2, b1, b2 in matcher.get_opcodes():
        if tag == "equal":
            pieces += _shortened(ours[a1:a2], first=not pieces, last=a2 == len(ours))
        else:
            pieces += _changed(ours[a1:a2], theirs[b1:b2])
    return pieces


def changed_words(left: str, right: str) -> str:
    """The changes alone, in one line: ``-old words +new words``."""
    signs = {"left": "-", "right": "+"}
    found = [piece for piece in word_diff(left, right) if piece.kind in signs]
    return " ".join(f"{signs[piece.kind]}{piece.text.strip()!r}" for piece in found)


def _words(text: str) -> list[str]:
    return re.findall(r"\s*\S+|\s+$", text)


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
