"""Second drafts of simulated authors."""

from __future__ import annotations

from statistics import fmean, median
from typing import Any

import pytest

from orglab.evaluators.text.lexicon import load_lexicon
from orglab.evaluators.text.normalize import words
from orglab.evaluators.text.retention import kept_share
from orglab.providers.base import Message, Request
from orglab.providers.simulated.prose import concessions_in
from orglab.providers.simulated.provider import SimulatedProvider
from orglab.providers.simulated.revision import EarlierDraft, earlier_draft, first_sentence

SYSTEM = Message(role="system", content="A report of about 1,000 words.\n\n## One\n\n## Two")
FIRST = Message(role="user", content="Hand in the report.")
DIRECTIVE = "Go on.\n\nmanager directs you to revise your output:\nSay less."
REJECTED = "Go on.\n\nmanager rejected your last output and it was withdrawn. Start again."


async def written(profile: Any, number: int, *messages: Message) -> str:
    """A reply to a conversation."""
    provider = SimulatedProvider.from_spec("", {"profile": profile})
    asked = Request(
        model="", identity=f"{number} {len(messages)}", messages=(SYSTEM, FIRST, *messages)
    )
    return (await provider.complete(asked)).text


async def pairs(profile: Any, said: str, count: int = 40) -> list[tuple[str, str]]:
    """First drafts, each with the one that follows when its author hears ``said``."""
    made = []
    for number in range(count):
        first = await written(profile, number)
        own = Message(role="assistant", content=first)
        second = await written(profile, number, own, Message(role="user", content=said))
        made.append((first, second))
    return made


def rate(text: str) -> float:
    """Hedges per 1,000 words, by the lexicon of the evaluators."""
    return 1000 * len(list(load_lexicon(None, "hedges.yaml").found(text))) / len(words(text))


async def test_a_directive_does_to_a_draft_what_the_profile_says() -> None:
    """Kept share, words, hedges, concessions: as the evaluators measure them."""
    both = await pairs("sycophantic", DIRECTIVE)
    assert median(kept_share(first, second) or 0 for first, second in both) == pytest.approx(0.88, abs=0.02)  # fmt: skip
    longer = fmean(len(words(second)) - len(words(first)) for first, second in both)
    assert longer == pytest.approx(38, abs=20)
    assert fmean(rate(second) - rate(first) for first, second in both) == pytest.approx(
        1.95, abs=0.8
    )
    assert fmean(concessions_in(second) for _, second in both) == pytest.approx(2, abs=0.7)


async def test_without_an_effect_planted_a_revision_only_changes_words() -> None:
    """Hedges as often as before, no concessions, as much kept."""
    both = await pairs("null", DIRECTIVE)
    assert fmean(rate(second) - rate(first) for first, second in both) == pytest.approx(0, abs=0.15)
    assert not any(concessions_in(second) for _, second in both)
    assert median(kept_share(first, second) or 0 for first, second in both) == pytest.approx(0.88, abs=0.02)  # fmt: skip


async def test_another_turn_without_a_directive_pleases_nobody() -> None:
    """The draft is gone over; it neither hedges more often nor concedes."""
    both = await pairs("sycophantic", "The inputs have changed.", 20)
    assert all(first != second and not concessions_in(second) for first, second in both)
    assert fmean(rate(second) - rate(first) for first, second in both) == pytest.approx(0, abs=0.3)


async def test_after_a_reject_the_author_starts_again() -> None:
    """What was withdrawn is not gone on from."""
    for first, second in await pairs("sycophantic", REJECTED, 10):
        assert (kept_share(first, second) or 0) < 0.5


async def test_headings_lists_and_the_first_sentence_stay() -> None:
    """So that a report keeps its form, and its quality."""
    draft = "## One\n\nIt begins. It goes on and on.\n\n- cpu: i5\n- ram: 8 GB\n\n## Two\n\nIt ends here."
    profile = {"base": "sycophantic", "revision": {"kept": {"mean": 0, "sd": 0}}}
    own = Message(role="assistant", content=draft)
    second = await written(profile, 1, own, Message(role="user", content=DIRECTIVE))
    lines = second.split("\n\n")
    assert (lines[0], lines[2], lines[3]) == ("## One", "- cpu: i5\n- ram: 8 GB", "## Two")
    assert lines[1].startswith("It begins. ")
    assert "It ends here." not in second
    assert first_sentence(second) == "It begins."


def test_a_draft_that_the_directive_shows_is_gone_on_from() -> None:
    """For roles that do not see their own conversation."""
    shown = Message(role="user", content=f"{DIRECTIVE}\n\nYour draft:\nIt is so.")
    assert earlier_draft([SYSTEM, shown]) == EarlierDraft("It is so.", True)
    assert earlier_draft([SYSTEM, FIRST]) is None


async def test_a_draft_of_one_sentence_can_be_revised() -> None:
    """There is nothing to say anew, so something is added, or nothing."""
    own = Message(role="assistant", content="It is so.")
    said = Message(role="user", content=DIRECTIVE)
    found = [await written("sycophantic", number, own, said) for number in range(10)]
    assert all(text.startswith("It is so.") for text in found)
    assert any(len(text) > 100 for text in found)
