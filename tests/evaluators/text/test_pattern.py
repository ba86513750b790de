"""Patterns from strangers end: in a result, or in words."""

from __future__ import annotations

from typing import Any

import pytest

from orglab.evaluators.base import EvaluationError
from orglab.evaluators.text import pattern as module
from orglab.evaluators.text.pattern import Pattern, find_all


@pytest.mark.parametrize("pattern", [r"(a|aa)+$", r"(?:(?:a{1,40}){1,40}){1,40}b"])
async def test_a_catastrophic_pattern_ends_in_words(
    pattern: str, output: Any, context: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that tries too many ways is given up."""
    monkeypatch.setattr(module, "SECONDS", 0.05)
    with pytest.raises(EvaluationError, match=r"took longer than 0.05 s: a repetition inside"):
        await Pattern(pattern=pattern).look(output("a" * 4000 + "!"), context())


@pytest.mark.parametrize(
    ("pattern", "match"),
    [
        ("(", "is not a regular expression: missing"),
        ("(" * 1500, "is not a regular expression"),
        ("(a{1000}){1000}", "repeats too much"),
        ("(a{99999999999999}){9}", "repeats too much"),
        ("a" * 2001, "longer than 2000 characters"),
    ],
)
def test_a_wrong_pattern_is_refused_when_it_is_read(pattern: str, match: str) -> None:
    """What cannot be compiled, or costs memory without end, is a fault of the spec."""
    with pytest.raises(ValueError, match=match):
        Pattern(pattern=pattern)


async def test_a_text_that_is_too_long_is_refused() -> None:
    """Text of a model is bounded before it is searched."""
    with pytest.raises(EvaluationError, match="too long for a pattern"):
        await find_all("a", "a" * 1_000_001)


async def test_matches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern that matches everywhere does not fill the memory."""
    monkeypatch.setattr(module, "_MOST_MATCHES", 10)
    with pytest.raises(EvaluationError, match="more than 10 matches"):
        await find_all("a", "a" * 11)
    assert len(await find_all("a", "a" * 10)) == 10


async def test_the_count_passes_by_its_bounds(output: Any, context: Any) -> None:
    """``count`` measures; ``max: 0`` says that nothing may match."""
    check = Pattern(pattern="TODO", count=True, max=0)
    assert (await check.check(output("done"), context())).passed is True
    score = await check.check(output("TODO: TODO"), context())
    assert (score.value, score.passed, score.scale) == (2, False, "count")
    assert score.reason == "pattern is 2, at most 0 is asked for"
