"""Values laid out to be read."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from orglab.results.display.layout import inline, value_block


def block(value: Any, width: int = 40) -> str:
    """A value as printed."""
    console = Console(width=width, no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(value_block(value))
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("a\nb", "a b"),
        (None, "null"),
        ({}, "nothing"),
        ([], "nothing"),
        ([1, "x", True], "1, x, true"),
        ({"rows": 1707, "columns": [{"name": "a"}] * 12}, "rows: 1707, columns: 12 items"),
        ({"a": ["x", "y"], "b": {"c": 1}}, "a: [x, y], b: 1 field"),
        ([{"a": 1}, {"a": 2}], "2 items, first: a: 1"),
        ([[1, 2]], "1, 2"),
    ],
)
def test_a_value_on_one_line(value: Any, line: str) -> None:
    """No braces, no quotes; what is nested is counted."""
    assert inline(value) == line


def test_a_structured_output_reads_like_a_note() -> None:
    """Small things stand on a line, larger ones below their name, items under a bullet."""
    value = {
        "insight": "Budget and revenue go together.",
        "note": "",
        "columns": ["budget", "revenue"],
        "evidence": [
            {"measure": "pearson", "columns": ["budget", "revenue"], "value": 0.67},
            {"measure": "count", "where": 'genre = "war" or genre = "history"', "value": 3.0},
        ],
        "none": None,
    }
    assert block(value, 60) == (
        "insight: Budget and revenue go together.\n"
        "note: (empty)\n"
        "columns: budget, revenue\n"
        "evidence:\n"
        "  • measure: pearson, columns: [budget, revenue], value:\n"
        "    0.67\n"
        "  • measure: count\n"
        '    where: genre = "war" or genre = "history"\n'
        "    value: 3.0\n"
        "none: null"
    )


def test_what_is_nested_without_end_is_cut_off() -> None:
    """Deep nesting ends as JSON on a line, not as an error."""
    value: Any = "core"
    for _ in range(50):
        value = {"in": [value]}
    assert "core" in block(value, 400)


def test_a_long_text_is_wrapped_whole() -> None:
    """No row is wider than the terminal, no word is lost, and short texts look the same."""
    words = [f"word{at}" for at in range(4_000)]
    rows = block(" ".join(words)).splitlines()
    assert " ".join(rows).split() == words
    assert max(map(len, rows)) <= 40
    assert rows[:50] == block(" ".join(words[:400])).splitlines()[:50]


def test_a_long_text_without_blanks_or_of_wide_signs_is_wrapped_whole() -> None:
    """Signs that take two columns are counted as two; lines of a text stay lines."""
    assert block("x" * 20_000).splitlines() == ["x" * 40] * 500
    wide = block("\n".join(["\u7814\u7a76" * 6_000, "end"])).splitlines()
    assert set(map(len, wide[:-1])) == {20}
    assert "".join(wide) == "\u7814\u7a76" * 6_000 + "end"
