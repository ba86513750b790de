"""Journals and entries, apart from any file."""

from __future__ import annotations

import random
from typing import Any

import pytest

from orglab.providers.base import Completion, Message, TokenUsage, ToolCall
from orglab.providers.structured_output.strict_json import dumps, loads_stored
from orglab.results.records import CallEntry, Event
from orglab.results.store.journal.journal import Attempt, JournalError, MemoryJournal, position_key
from orglab.results.store.row_codec import completion_of, message_body, reply_fields

COMPLETION = Completion(
    text="hi",
    tool_calls=(ToolCall(id="1", name="head", arguments="{"),),
    usage=TokenUsage(input=3, output=2),
    model="m",
    notes=("cut",),
    logprobs=[{"token": "hi", "logprob": -0.5}],
)


def entry(position: str, **fields: Any) -> CallEntry:
    """A call."""
    return CallEntry(**{"position": position, "identity": "x", **fields})


async def test_a_memory_journal_counts_what_is_asked_again() -> None:
    """What an earlier journal began and never kept is counted when it is begun again."""
    first = MemoryJournal()
    await first.begin(Attempt(position="1.turn.0.0"))
    await first.begin(Attempt(position="1.turn.1.0"))
    await first.keep(entry("1.turn.0.0"))
    with pytest.raises(JournalError, match="is kept twice"):
        await first.keep(entry("1.turn.0.0"))
    second = MemoryJournal(first)
    assert second.recorded("1.turn.0.0") == entry("1.turn.0.0")
    assert second.recorded("1.turn.1.0") is None
    await second.begin(Attempt(position="1.turn.1.0"))
    await second.begin(Attempt(position="1.turn.2.0"))
    assert second.asked_again == 1
    second.emit([Event(seq=0, tick=0, kind="started", body={})] * 2)
    assert len(second.events) == 1
    assert MemoryJournal.of([entry("a")]).recorded("a") == entry("a")


def test_a_completion_survives_the_journal() -> None:
    """What the provider gave is what a replay gives, through JSON and back."""
    fields = loads_stored(dumps(reply_fields(COMPLETION)))
    call = entry("1.turn.0.0", **fields, model="asked", copy="w")
    assert completion_of(call) == COMPLETION
    assert (call.model, call.served, call.tokens["input"]) == ("asked", "m", 3)


def test_positions_sort_in_the_order_of_a_run() -> None:
    """Numbers as numbers, a prompt's tools first, reviews after the turns of their tick."""
    ordered = [
        *("1.turn.0.prompt.1", "1.turn.0.0", "1.turn.0.0.tool.0", "1.turn.0.1", "1.turn.2.0"),
        *("1.turn.10.0", "1.review.0.0", "2.turn.0.0", "10.turn.0.0", "judge.0"),
    ]
    assert sorted(random.Random(1).sample(ordered, len(ordered)), key=position_key) == ordered


def test_messages_leave_out_what_is_empty() -> None:
    """A plain message is its role and its words."""
    assert message_body(Message(role="user", content="hi")) == {"role": "user", "content": "hi"}
    answer = Message(role="tool", content="{}", tool_call_id="1")
    assert message_body(answer)["tool_call_id"] == "1"
