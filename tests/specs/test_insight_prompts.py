"""The prompts of study 1: what is meant to be equal between variants is."""

from __future__ import annotations

from pathlib import Path

import pytest

PROMPTS = Path(__file__).parents[2] / "specs" / "insight-review" / "prompts"
REVIEWERS = ("validator", "strict-validator", "skeptic", "skeptic-columns")
LONGEST = 2600  # characters; about 650 tokens, which leaves a small model room to work


def text(name: str) -> str:
    """A prompt's text."""
    return (PROMPTS / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", REVIEWERS)
def test_all_reviewers_begin_alike_and_differ_in_their_standard(name: str) -> None:
    """The first two paragraphs, role and task, are the same words everywhere."""
    assert text(name).split("\n\n")[:2] == text("validator").split("\n\n")[:2]


def test_skeptic_columns_is_the_skeptic_and_the_columns() -> None:
    """Whatever differs comes after the whole of the skeptic's prompt."""
    assert text("skeptic-columns").startswith(text("skeptic"))


@pytest.mark.parametrize("name", REVIEWERS)
def test_prompts_leave_the_actions_to_the_engine(name: str) -> None:
    """An action that a variant does not offer must not be pleaded for or against in a prompt."""
    words = text(name).lower().replace("approved", "")
    for action in ("approve", "reject", "revise", "you may", "you must"):
        assert action not in words


@pytest.mark.parametrize("path", sorted(PROMPTS.glob("*.md")), ids=lambda path: path.stem)
def test_prompts_are_short_enough_for_small_models(path: Path) -> None:
    """A prompt that fills a small window leaves no room for the table."""
    assert len(path.read_text(encoding="utf-8")) <= LONGEST
