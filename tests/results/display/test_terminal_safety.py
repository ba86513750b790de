"""Texts made safe to look at."""

from __future__ import annotations

import json
import unicodedata

import pytest
from case_files import case_folder
from hypothesis import given
from hypothesis import strategies as st
from rich.markup import render

from orglab.providers.terminal_safety import markup, one_line, visible

CASE = case_folder("94-report-html-escape")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc\r\nd", "a\tb\nc\nd"),
        ("\x1b[2J\x07\x00\x7f\r", "␛[2J␇␀␡␍"),
        ("\x9b31m", "\\x9b31m"),
        ("a\u202eb\u2066c\u200d", "a\\u202eb\\u2066c\u200d"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("\U000e0041\ud800", "\\U000e0041\\ud800"),
        ("line\u2028end", "line\\u2028end"),
        ("👨‍👩‍👧 é [bold]", "👨‍👩‍👧 é [bold]"),
    ],
)
def test_controls_are_shown_and_all_else_stays(text: str, shown: str) -> None:
    """Controls become pictures or numbers; letters, emoji and brackets stay."""
    assert visible(text) == shown


@given(st.text(st.characters()))
def test_nothing_that_steers_is_left(text: str) -> None:
    """No control, no surrogate, no mark of direction; and it is done once."""
    shown = visible(text)
    assert visible(shown) == shown
    left = {unicodedata.category(sign) for sign in shown if sign not in "\n\t"}
    assert not left & {"Cc", "Cs", "Zl", "Zp"}
    assert not any(unicodedata.bidirectional(sign) in BIDI for sign in shown)


BIDI = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}


def test_markup_is_printed_and_not_obeyed() -> None:
    """Where Rich reads markup, the text comes out as it is."""
    assert render(f"[bold]{markup('[red]x[/] [link=a]')}[/bold]").plain == "[red]x[/] [link=a]"


def test_one_line_is_one_line_of_that_width() -> None:
    """Line ends fold to spaces, long texts are cut with a sign."""
    assert one_line("a\n\n b\tc", 20) == "a b c"
    assert one_line("word " * 1000, 12) == "word word w…"
    assert len(one_line("x" * 1000, 12)) == 12


def test_case_94_on_a_terminal() -> None:
    """Control characters of the case are shown; everything else is as the model wrote it."""
    for output in json.loads((CASE / "outputs.json").read_text()):
        shown = visible(output["output"])
        assert "\x1b" not in shown
        assert shown.replace("␛", "\x1b").replace("\\u2028", "\u2028") == output["output"]
