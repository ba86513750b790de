"""The conversation as the Messages API takes it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orglab.providers.anthropic.messages import UNREADABLE, conversation, safe_id, safe_names
from orglab.providers.base import BadRequest, Message, ToolCall


def user(text: str) -> Message:
    """What the user says."""
    return Message(role="user", content=text)


def assistant(text: str, *calls: ToolCall) -> Message:
    """What the assistant says."""
    return Message(role="assistant", content=text, tool_calls=calls)


def call(identity: str = "t1", arguments: str = "{}", name: str = "head") -> ToolCall:
    """A tool call."""
    return ToolCall(id=identity, name=name, arguments=arguments)


def result(text: str, identity: str = "t1") -> Message:
    """A tool's result."""
    return Message(role="tool", content=text, tool_call_id=identity)


def test_system_texts_at_the_head_stand_apart() -> None:
    """They are one text; a later one is said by the user."""
    head = [Message(role="system", content="A"), Message(role="system", content="B")]
    talk = conversation([*head, user("C"), Message(role="system", content="D")])
    assert talk.system == "A\n\nB"
    assert [turn["role"] for turn in talk.turns] == ["user"]
    assert [block["text"] for block in talk.turns[0]["content"]] == ["C", "D"]


def test_turns_of_one_speaker_become_one() -> None:
    """The API wants turns that alternate."""
    talk = conversation([user("a"), user("b"), assistant("c"), assistant("d"), user("e")])
    assert [turn["role"] for turn in talk.turns] == ["user", "assistant", "user"]
    assert [len(turn["content"]) for turn in talk.turns] == [2, 2, 1]


def test_all_results_of_a_message_stand_first_in_one_turn() -> None:
    """What the user says after them comes after them."""
    calls = (call("t1"), call("t2"))
    talk = conversation(
        [user("a"), assistant("", *calls), result("1"), result("2", "t2"), user("b")]
    )
    kinds = [block["type"] for block in talk.turns[2]["content"]]
    assert kinds == ["tool_result", "tool_result", "text"]
    assert [block.get("tool_use_id") for block in talk.turns[2]["content"]] == ["t1", "t2", None]


def test_blank_texts_are_left_out() -> None:
    """The API refuses empty text blocks."""
    talk = conversation([user(" \n"), user("a"), assistant("", call()), result("  "), user("")])
    assert talk.turns == [
        {"role": "user", "content": [{"type": "text", "text": "a"}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "head", "input": {}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1"}]},
    ]


def test_a_last_message_of_the_assistant_ends_without_white_space() -> None:
    """The API refuses it there; elsewhere it stays."""
    talk = conversation([user("a "), assistant("b \n"), user("c "), assistant("d \n")])
    texts = [turn["content"][0]["text"] for turn in talk.turns]
    assert texts == ["a ", "b \n", "c ", "d"]


def test_a_system_text_alone_is_said_by_the_user() -> None:
    """The API wants a turn of the user; nothing is made up for it."""
    talk = conversation([Message(role="system", content="Write a poem.")])
    assert talk.system == ""
    assert talk.turns[0]["content"] == [{"type": "text", "text": "Write a poem."}]


def test_nothing_to_say_is_refused() -> None:
    """An empty request is not sent."""
    with pytest.raises(BadRequest, match="nothing to ask"):
        conversation([user(" "), Message(role="system", content="")])


@pytest.mark.parametrize(
    "arguments", ['{"a": ', "[1]", '"{}"', "null", '{"a": NaN}', '{"a": 1, "a": 2}']
)
def test_arguments_that_are_no_object_are_shown_as_written(arguments: str) -> None:
    """The API wants an object; the model sees what it wrote."""
    talk = conversation([user("a"), assistant("", call(arguments=arguments)), result("no")])
    assert talk.turns[1]["content"][0]["input"] == {UNREADABLE: arguments}


def test_names_and_ids_get_the_letters_of_the_api() -> None:
    """Call and result still belong together, and the spec's name can be found again."""
    names = safe_names(["server.look", "head"])
    assert names["head"] == "head"
    calls = assistant("", call("call:1/ü", name="server.look"), call("", name="un heard"))
    talk = conversation([user("a"), calls, result("1", "call:1/ü"), result("2", "")], names=names)
    sent, results = talk.turns[1]["content"], talk.turns[2]["content"]
    assert [block["id"] for block in sent] == [block["tool_use_id"] for block in results]
    assert sent[0]["name"] == names["server.look"]
    assert sent[1]["name"] == "un_heard"
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", block["id"]) for block in sent)


@given(st.text(), st.text())
def test_different_ids_stay_different(one: str, other: str) -> None:
    """An id is safe, the same each time, and nobody else's."""
    safe = safe_id(one)
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", safe)
    assert (safe == safe_id(other)) is (one == other)


def test_what_is_remembered_of_a_message_is_sent_as_it_came() -> None:
    """Reasoning that belongs to tool calls goes back unchanged."""
    blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "tool_use"}]
    talk = conversation(
        [user("a"), assistant("", call()), result("1")],
        remembered=lambda message: blocks if message.tool_calls else None,
    )
    assert talk.turns[1]["content"] == blocks
