"""Two texts word by word."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orglab.results import word_diff as module
from orglab.results.word_diff import Piece, changed_words, hunks, word_diff

TEXTS = st.lists(st.sampled_from(["a", "bb", "c.", " ", "\n", "\t", "ü"]), max_size=30).map("".join)
LONG = " ".join(f"w{number}" for number in range(40))


def side(pieces: list[Piece], other: str) -> str:
    """One text, put together again."""
    return "".join(piece.text for piece in pieces if piece.kind != other)


def test_what_is_common_and_what_is_not() -> None:
    """An exchanged word stands on both sides, between what stands in both."""
    assert word_diff("You write well.", "You write briefly.") == [
        Piece("same", "You write"),
        Piece("left", " well."),
        Piece("right", " briefly."),
    ]


@given(TEXTS, TEXTS)
def test_nothing_is_lost(left: str, right: str) -> None:
    """Without gaps the pieces of a side are its text, blanks and line ends too."""
    pieces = word_diff(left, right)
    if all(piece.kind != "gap" for piece in pieces):
        assert side(pieces, "right") == left
        assert side(pieces, "left") == right
    assert bool(changed_words(left, right)) == (left != right)


@given(TEXTS, TEXTS)
def test_the_coarse_way_loses_nothing_either(left: str, right: str) -> None:
    """Too many equal words: by lines, and then not at all; each text is whole all the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_PAIRS", 2)
        patch.setattr(module, "AROUND", 1000)
        pieces = word_diff(left, right)
    assert side(pieces, "right") == left
    assert side(pieces, "left") == right


def test_long_common_stretches_are_shortened() -> None:
    """Eight words stay on the sides where a change is near."""
    pieces = word_diff(f"old {LONG} old", f"new {LONG} new")
    assert [piece.kind for piece in pieces] == ["left", "right", "same", "gap", "same", *SIDES]
    words = LONG.split()
    assert pieces[2].text.split() == words[:8]
    assert pieces[4].text.split() == words[-8:]


SIDES = ("left", "right")


def test_a_beginning_and_an_end_without_change_are_left_out() -> None:
    """What stands before the change is shown, what is far from it is not."""
    kinds = [piece.kind for piece in word_diff(f"{LONG} old {LONG}", f"{LONG} new {LONG}")]
    assert kinds == ["gap", "same", "left", "right", "same", "gap"]


def test_words_added_at_the_end_keep_what_stands_before_them() -> None:
    """The common stretch is the last of the one text, not of the other."""
    pieces = word_diff(LONG, f"{LONG} and more")
    assert pieces[-2].kind == "same"
    assert pieces[-2].text.split() == LONG.split()[-8:]
    assert pieces[-1] == Piece("right", " and more")


@pytest.mark.parametrize(
    ("left", "right", "told"),
    [
        ("You write well.", "You always write well.", "+'always'"),
        ("one two three", "one three", "-'two'"),
        ("a b", "a  b", "-' b' +'  b'"),
        ("a", "a\n", "+'\\n'"),
        ("same", "same", ""),
        ("", "new", "+'new'"),
    ],
)
def test_changes_in_one_line(left: str, right: str, told: str) -> None:
    """Words with their signs; one blank more is told too."""
    assert changed_words(left, right) == told


@pytest.mark.timeout(20)
@pytest.mark.parametrize("word", ["a ", "a\n", None])
def test_long_texts_are_compared_in_bounded_time(word: str | None) -> None:
    """Also those in which every word, or every line, is the same."""
    chance = random.Random(1)
    left: Any = [word or f"w{chance.randrange(500)} " for _ in range(40_000)]
    right = [*left, "end"]
    for _ in range(100):
        right[chance.randrange(40_000)] = "other\n"
    pieces = word_diff("".join(left), "".join(right))
    assert {"left", "right"} <= {piece.kind for piece in pieces}


def test_hunks_are_changed_lines_with_two_around() -> None:
    """Changes that are near stand together; texts that are alike have none."""
    ours = "\n".join(f"line {at}" for at in range(30))
    theirs = ours.replace("line 10\n", "line ten\n").replace("line 12\n", "")
    (one,) = hunks(ours, theirs)
    assert one[0].split("\n") == [f"line {at}" for at in range(8, 15)]
    assert one[1].split("\n") == ["line 8", "line 9", "line ten", "line 11", "line 13", "line 14"]
    assert len(hunks(ours, theirs.replace("line 25", "line"))) == 2
    assert hunks(ours, ours) == []
