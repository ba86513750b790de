"""Drafts of a role, and the measures that look at each: words, kept_share."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orglab.evaluators.base import EvaluationError
from orglab.evaluators.process.drafts import drafting
from orglab.evaluators.text.length import Words
from orglab.evaluators.text.retention import KeptShare, kept_share

WORDS = st.lists(st.sampled_from("abcd"), max_size=12)


def _slow_common(old: list[str], new: list[str]) -> int:
    row = [0] * (len(new) + 1)
    for one in old:
        before = 0
        for place, other in enumerate(new, 1):
            before, row[place] = (
                row[place],
                before + 1 if one == other else max(row[place], row[place - 1]),
            )
    return row[-1]


@given(WORDS, WORDS)
def test_kept_words_are_those_of_the_plain_algorithm(old: list[str], new: list[str]) -> None:
    """The share is that of the table of all pairs."""
    share = _slow_common(old, new) / len(old) if old else None
    assert kept_share(" ".join(old), " ".join(new)) == share


def test_kept_words_of_long_texts() -> None:
    """Thousands of words, of which a known part was put in between."""
    draw = random.Random(3)
    old = [f"w{draw.randrange(800)}" for _ in range(5_000)]
    new = [
        word
        for old_word in old
        for word in ([old_word, "new"] if draw.random() < 0.3 else [old_word])
    ]
    assert kept_share(" ".join(old), " ".join(new)) == 1.0
    assert kept_share(" ".join(new), " ".join(old)) == 5_000 / len(new)


@pytest.mark.parametrize(
    ("old", "new", "share"),
    [
        ("The fan is loud.", "the FAN is very loud", 1.0),
        ("one two three four", "four three two one", 0.25),
        ("one two", "", 0.0),
        ("", "one", None),
        ("it\u2019s so", "it's so", 1.0),
    ],
)
def test_kept_share_of_two_texts(old: str, new: str, share: float | None) -> None:
    """Words of the old draft in the same order; capitals and quotes do not matter."""
    assert kept_share(old, new) == share


async def test_every_draft_is_measured(run: Any, output: Any, context: Any, events: Any) -> None:
    """Sent back and delivered ones in order, with what obliged each; rejected and lapsed ones not."""
    outputs = [
        output("one two three", visit=1, fate="sent back"),
        output("no", visit=2, fate="rejected"),
        output("no no", visit=3, fate="lapsed"),
        output("one two", visit=4, fate="sent back"),
        output("one two four", visit=5),
    ]
    happened = events(
        ("turn", {"copy": "writer", "visit": 1, "again": False}),
        ("turn", {"copy": "writer", "visit": 4, "directive": {"action": "revise"}, "again": True}),
        ("turn", {"copy": "writer", "visit": 5, "again": True}),
    )
    record = run(*outputs, events=happened)
    words = await Words(role="writer", drafts=True).evaluate(record, context())
    assert [(score.name, score.value) for score in words] == [
        ("words", 3), ("words@1", 3), ("words@2", 2), ("words@3", 3),
    ]  # fmt: skip
    assert [score.detail["obliged_by"] for score in words[1:]] == ["", "revise", "anew"]
    assert words[2].detail["output"] == "writer@4"
    kept = await KeptShare(role="writer").evaluate(record, context())
    assert [score.name for score in kept] == ["kept_share", "kept_share@2", "kept_share@3"]
    assert [score.value for score in kept] == pytest.approx([5 / 6, 2 / 3, 1.0])


async def test_one_draft_has_no_second(run: Any, output: Any, context: Any) -> None:
    """A second draft that was never written is missing, with the reason; so is the kept share."""
    record = run(output("one two"))
    words = await Words(drafts=True).evaluate(record, context())
    assert [(score.name, score.value) for score in words] == [
        ("words", 2), ("words@1", 2), ("words@2", None),
    ]  # fmt: skip
    assert words[2].reason == "1 draft: no draft 2"
    kept = await KeptShare().evaluate(record, context())
    assert [(score.name, score.value, score.reason) for score in kept] == [
        ("kept_share", None, "1 draft: no draft 2"),
        ("kept_share@2", None, "1 draft: no draft 2"),
    ]


async def test_drafts_of_a_run_without_an_answer(run: Any, output: Any, context: Any) -> None:
    """With a role its drafts are measured however the run ended; without one nothing is known."""
    record = run(output("one two", fate="sent back"), status="failed", answer=None)
    words = await Words(role="writer", drafts=True).evaluate(record, context())
    assert [score.value for score in words] == [None, 2, None]
    unnamed = await Words(drafts=True).evaluate(record, context())
    assert [score.value for score in unnamed] == [None, None, None]
    assert unnamed[1].reason == "failed: no answer"
    silent = await KeptShare(role="critic").evaluate(record, context())
    assert silent[0].reason == "'critic' wrote no draft that stood"


async def test_bounds_judge_the_output_alone(run: Any, output: Any, context: Any) -> None:
    """`max` passes or fails the output; its drafts neither."""
    record = run(output("one two three", visit=1, fate="sent back"), output("one", visit=2))
    words = await Words(drafts=True, max=2).evaluate(record, context())
    assert [score.passed for score in words] == [True, None, None]


async def test_a_field_of_each_draft(run: Any, output: Any, context: Any) -> None:
    """A field that a draft has not is missing there alone."""
    record = run(output({"text": "a b"}, visit=1, fate="sent back"), output({"other": 1}, visit=2))
    words = await Words(drafts=True, field="text").evaluate(record, context())
    assert [score.value for score in words] == [None, 2, None]
    kept = await KeptShare(field="text").evaluate(record, context())
    assert kept[1].reason == "the output has no field 'text'"


def test_copies_have_drafts_of_their_own(run: Any, output: Any) -> None:
    """A role with copies is no one sequence; one copy is."""
    record = run(output(copy="writer#1"), output(copy="writer#2"))
    with pytest.raises(EvaluationError, match=r"'writer' has copies \(writer#1, writer#2\)"):
        drafting(record, "writer")
    assert len(drafting(record, "writer#2").drafts) == 1
