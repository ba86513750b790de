"""First drafts of simulated reports."""

from __future__ import annotations

from statistics import fmean

import pytest

from orglab.evaluators.text.lexicon import load_lexicon
from orglab.evaluators.text.mtld import Mtld
from orglab.evaluators.text.normalize import words
from orglab.providers.base import Message, ToolCall
from orglab.providers.simulated.profile import Profile, make_profile
from orglab.providers.simulated.prose import Sentences, count_words, hedges_in
from orglab.providers.simulated.random_stream import RandomStream
from orglab.providers.simulated.report_writer import asked_length, first_draft

WRITER = Message(
    role="system",
    content="Write a report of about 1,000 words with these headings:\n\n## Summary\nWhat to do.\n\n"
    "## Specifications\nEvery specification as listed.\n\n## Outlook\nWhat follows.",
)
NOTES = Message(
    role="user", content="## Researcher\n\n- cpu: Core i5-13420H\n- ram: 16 GB\n\nSo far."
)


def drafts(count: int, profile: Profile, *messages: Message) -> list[str]:
    """First drafts of as many calls."""
    made = []
    for number in range(count):
        stream = RandomStream(f"draft {number}")
        sentences = Sentences(stream, ["laptop"], profile.vocabulary)
        made.append(first_draft(messages or (WRITER, NOTES), stream, sentences, profile))
    return made


@pytest.mark.parametrize(
    ("task", "asked"),
    [
        ("a report of about 1,036 words.", (1036, False)),
        ("notes of at most 500 words", (500, True)),
        ("Write well.", None),
    ],
)
def test_the_length_that_a_task_asks_for(task: str, asked: tuple[int, bool] | None) -> None:
    """In the system text, or in what was said last."""
    assert asked_length([Message(role="system", content=task)]) == asked
    assert asked_length([WRITER, Message(role="user", content=task)]) == (1000, False)


def test_a_draft_is_as_long_as_the_profile_makes_of_what_is_asked() -> None:
    """On average, and never longer than the most that is allowed."""
    profile = make_profile({"base": "sycophantic", "asked_words": {"mean": 1.1, "sd": 0.1}})
    counts = [len(words(text)) for text in drafts(40, profile)]
    assert fmean(counts) == pytest.approx(1100, abs=50)
    limited = Message(role="system", content="Notes of at most 300 words.")
    assert max(len(words(text)) for text in drafts(40, profile, limited)) < 315


def test_words_are_counted_as_the_evaluators_count_them() -> None:
    """Hyphens part words, a decimal point does not."""
    for text in (
        *drafts(3, make_profile(None)),
        "A 2.5-inch, state-of-the-art i7-13620H isn't 1,036.",
    ):
        assert count_words(text) == len(words(text))


def test_headings_and_specifications_stand_where_the_task_wants_them() -> None:
    """Each heading once, in order; the specifications under theirs."""
    (text,) = drafts(1, make_profile({"exact": 1}))
    parts = text.split("\n\n")
    headings = [part for part in parts if part.startswith("## ")]
    assert headings == ["## Summary", "## Specifications", "## Outlook"]
    assert parts[parts.index("## Specifications") + 1] == "- cpu: Core i5-13420H\n- ram: 16 GB"


def test_a_miscopied_specification_differs_in_a_digit() -> None:
    """So that a check of exact variants has something to catch."""
    for text in drafts(20, make_profile({"exact": 0})):
        assert "- cpu: Core i5-13420H" not in text
        assert "- cpu: Core i5-134" in text


def test_specifications_come_from_a_tool_too() -> None:
    """Of a record that it gave; a task that does not speak of them gets none."""
    call = ToolCall(id="c", name="get", arguments="{}")
    said = (
        Message(role="assistant", content="", tool_calls=(call,)),
        Message(role="tool", content='{"record": {"specs": {"refresh_rate": "165 Hz"}}}', tool_call_id="c"),
    )  # fmt: skip
    (text,) = drafts(
        1, make_profile({"exact": 1}), WRITER, Message(role="user", content="Go."), *said
    )
    assert "- refresh rate: 165 Hz" in text
    (other,) = drafts(1, make_profile({"exact": 1}), Message(role="user", content="Go."), *said)
    assert "165" not in other


def test_hedges_come_at_their_rate_and_nowhere_else() -> None:
    """By the lexicon of the evaluators, and by class."""
    lexicon = load_lexicon(None, "hedges.yaml")
    rates = {"modal": 6, "epistemic": 0, "evidential": 3, "approximation": 0, "frequency": 0, "attribution": 0}  # fmt: skip
    found = [term for text in drafts(40, make_profile({"hedges": rates})) for term in lexicon.found(text)]  # fmt: skip
    assert len(found) / 40 == pytest.approx(9, abs=1.5)
    classes = [lexicon.classes[term] for term in found]
    assert set(classes) == {"modal", "evidential"}
    assert classes.count("modal") / len(classes) == pytest.approx(2 / 3, abs=0.1)
    none = make_profile({"hedges": dict.fromkeys(rates, 0)})
    assert not [term for text in drafts(10, none) for term in lexicon.found(text)]


def test_topics_that_hedge_are_no_topics() -> None:
    """What other roles said must not add hedges."""
    stream = RandomStream("topics")
    sentences = Sentences(stream, ["perhaps", "usually"], 0.3)
    assert not hedges_in(" ".join(sentences.opening() for _ in range(50)))


def test_a_larger_vocabulary_is_more_diverse() -> None:
    """By MTLD, as the evaluators measure it."""

    def diversity(**settings: float) -> float:
        texts = drafts(15, make_profile({"base": "sycophantic", **settings}))
        return fmean(float(score.value or 0) for text in texts for score in Mtld().measured(text))

    assert diversity(vocabulary=0.1) < diversity(vocabulary=0.2) < diversity(vocabulary=0.5)
