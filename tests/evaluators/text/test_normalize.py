"""Normalisation, words, sentences, phrases."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

import pytest
import regex
from case_files import case_folder
from hypothesis import given
from hypothesis import strategies as st

from orglab.evaluators.text.contains import Contains
from orglab.evaluators.text.normalize import (
    find_phrase,
    fold,
    fold_case,
    fold_lines,
    fold_pattern,
    sentences,
    words,
)
from orglab.evaluators.text.pattern import Pattern

LOOK_ALIKES = case_folder("70-text-invisible-characters") / "cases.csv"
HEDGES = case_folder("68-text-hedge-counts")

#: What our rules say where the case leaves it to the product: full-width digits do not match.
MATCHES = {
    "nbsp": True,
    "zero-width": True,
    "smart": True,
    "hyphen": True,
    "fullwidth": False,
    "nfd": True,
    "cyrillic": False,
    "emoji": True,
}


def _look_alikes() -> Iterator[dict[str, str]]:
    with LOOK_ALIKES.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


async def test_look_alikes_match_as_documented(output: Any, context: Any) -> None:
    """Case 70: the same rules for a plain text and for a pattern, on both sides."""
    seen = set()
    for case in _look_alikes():
        if case["name"] not in MATCHES:
            continue
        seen.add(case["name"])
        for text, wanted in [(case["text"], case["check"]), (case["check"], case["text"])]:
            for check in [Contains(text=wanted), Pattern(pattern=wanted)]:
                if wanted == case["text"] and case["name"] == "emoji":
                    continue  # the shorter does not contain the longer
                score = await check.look(output(text), context())
                assert score.value is MATCHES[case["name"]], (case["name"], check)
        assert isinstance(words(case["text"]), list)
    assert seen == set(MATCHES)


async def test_next_line_ends_a_line(output: Any, context: Any) -> None:
    """Case 70: U+0085 and U+2028 are line ends for a pattern and white space for a text."""
    for mark in ("\x85", "\u2028", "\r\n"):
        found = output(f"line1{mark}line2")
        assert (await Pattern(pattern="line2$").look(found, context())).value is True
        assert (await Pattern(pattern="(?m)^line1$").look(found, context())).value is True
        assert (await Contains(text="line1 line2").look(found, context())).value is True


def test_phrases_are_found_as_whole_words() -> None:
    """Case 68: neither mayor nor couldn't hold a hedge; a phrase may go over a line's end."""
    text = fold_case(fold((HEDGES / "text.txt").read_text(encoding="utf-8")))
    terms = [line.strip() for line in (HEDGES / "hedges.txt").read_text().splitlines()]
    terms = [term for term in terms if term]
    counts = {term: find_phrase(text, fold(term), whole_words=True) for term in terms}
    assert counts == {
        "may": 2,
        "might": 2,
        "perhaps": 3,
        "appear": 1,
        "appears": 0,
        "possible": 1,
        "possibly": 0,
        "could": 2,
        "likely": 0,
        "seems": 0,
        "it is possible that": 1,
        "sort of": 1,
    }
    anywhere = sum(find_phrase(text, fold(term), whole_words=False) for term in terms)
    assert anywhere > sum(counts.values()) == 13


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It's done.", ["It's", "done"]),
        ("couldn\u2019t", ["couldn't"]),
        ("state-of-the-art", ["state", "of", "the", "art"]),
        ("3.5 of 1,036, i7-13620H", ["3.5", "of", "1,036", "i7", "13620H"]),
        ("'quoted' words'", ["quoted", "words"]),
        (
            "cafe\u0301 na\u00efve \u0434\u043e\u043c",
            ["caf\u00e9", "na\u00efve", "\u0434\u043e\u043c"],
        ),
        ("GRA\u200bDE", ["GRADE"]),
        ("snake_case", ["snake", "case"]),
        ("", []),
        ("\u2014 ... !", []),
    ],
)
def test_words(text: str, found: list[str]) -> None:
    """A word is a run of letters and digits, with inner apostrophes and decimal marks."""
    assert words(text) == found


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One. Two! Three?", 3),
        ("It is 3.5 percent. Done", 2),
        ("He said \u201cgo.\u201d She went.", 2),
        ("# Title\n\nA sentence\nA second", 3),
        ("\u4f60\u597d\u3002\u518d\u89c1\u3002", 2),
        ("...\n---\n", 0),
    ],
)
def test_sentences(text: str, count: int) -> None:
    """A sentence ends at its mark before a blank, or with its line."""
    assert len(sentences(text)) == count


@given(st.text())
def test_folding_twice_changes_nothing(text: str) -> None:
    """Normalisation is a fixed point, line by line too."""
    assert fold(fold(text)) == fold(text)
    assert fold_lines(fold_lines(text)) == fold_lines(text)
    assert fold(fold_lines(text)) == fold(text)


@given(st.text(), st.text())
def test_a_text_contains_its_folded_parts(left: str, right: str) -> None:
    """A part is found in the whole, unless it is nothing."""
    part = fold(left)
    whole = fold(f"{part} {right}")
    assert find_phrase(whole, part, whole_words=False) >= bool(part)


@given(st.text(alphabet=" \t\u00a0\u2009\r\nabc\u2011\u2019\u201c-'\"", max_size=40))
def test_a_folded_literal_pattern_matches_folded_text(text: str) -> None:
    """A literal without runs of blanks matches itself through fold_pattern and fold_lines."""
    literal = fold(text)
    found = regex.search(fold_pattern(regex.escape(literal)), fold_lines(literal))
    assert found is not None
    assert found.group() == literal


def test_a_folded_hyphen_makes_no_range() -> None:
    """U+2011 inside brackets stays a hyphen."""
    assert regex.findall(fold_pattern("[a\u2011z]"), "amz-") == ["a", "z", "-"]


def test_an_empty_phrase_is_nowhere() -> None:
    """Nothing to look for is not found everywhere."""
    assert find_phrase("text", "", whole_words=False) == 0
