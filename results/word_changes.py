"""Two texts word by word, whole: what stands in both, what was taken out, what was put in."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from orglab.results.report.render.blocks import Piece

__all__ = ["kept_words", "word_changes"]

_MOST_WORDS = 20_000
"""Longer texts are not aligned: the one stands after the other."""


def word_changes(old: str, new: str) -> list[Piece]:
    """The stretches of both texts in order; the pieces that are not ``old`` make up ``new``."""
    ours, theirs = _words(old), _words(new)
    if len(ours) + len(theirs) > _MOST_WORDS:
        return [Piece(kind="old", text=old), Piece(kind="new", text=new)]
    pieces: list[Piece] = []
    for tag, a1, a2, b1, b2 in SequenceMatcher(a=ours, b=theirs, autojunk=False).get_opcodes():
        if tag == "equal":
            pieces.append(Piece(kind="same", text="".join(theirs[b1:b2])))
            continue
        if a2 > a1:
            pieces.append(Piece(kind="old", text="".join(ours[a1:a2])))
        if b2 > b1:
            pieces.append(Piece(kind="new", text="".join(theirs[b1:b2])))
    return pieces


def kept_words(pieces: list[Piece]) -> tuple[int, int]:
    """How many words of the old text stand in the new one, and how many it has."""
    counts = {
        kind: sum(len(each.text.split()) for each in pieces if each.kind == kind)
        for kind in ("same", "old")
    }
    return counts["same"], counts["same"] + counts["old"]


def _words(text: str) -> list[str]:
    return re.findall(r"\s*\S+|\s+$", text)
