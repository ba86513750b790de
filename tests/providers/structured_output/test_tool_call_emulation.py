"""Tools as constrained JSON actions: there and back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from orglab.providers.base import Completion, Labels, Message, Request, ToolCall, ToolDefinition
from orglab.providers.structured_output.tool_call_emulation import (
    ANSWER_CHARACTERS,
    action_schema,
    read_action,
    with_actions,
)

HEAD = ToolDefinition(
    name="head",
    description="The first rows.",
    parameters={
        "type": "object",
        "properties": {
            "rows": {"type": "integer", "minimum": 1, "maximum": 20},
            "order": {"enum": ["up", "down"]},
            "columns": {"type": "array", "items": {"type": ["string", "null"]}},
        },
        "required": ["rows"],
        "additionalProperties": False,
    },
)
LIST = ToolDefinition(
    name="list",
    description="All tables.",
    parameters={"type": "object", "properties": {}, "additionalProperties": False},
)
REPLY = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def _request(**changes: Any) -> Request:
    messages = (Message(role="system", content="Be brief."), Message(role="user", content="Go."))
    return Request(**{"model": "m", "messages": messages, "tools": (HEAD, LIST), **changes})


def test_tools_become_a_schema_and_a_few_lines_of_the_system_text() -> None:
    """The model is told each tool's name, arguments and purpose, after what its role says."""
    asked = with_actions(_request())
    assert asked.tools == ()
    assert asked.messages[0].content == (
        "Be brief.\n\n"
        'Reply with one JSON object: {"tool": NAME, "arguments": {...}} to use a tool, '
        'or {"answer": ...} to finish.\n'
        "Tools:\n"
        '- head(rows: 1 to 20, order?: "up" | "down", columns?: list of string | null): '
        "The first rows.\n"
        "- list(): All tables."
    )
    assert asked.messages[1:] == _request().messages[1:]


def test_a_conversation_without_system_text_gets_one() -> None:
    """The tools are introduced before the first turn."""
    asked = with_actions(_request(messages=(Message(role="user", content="Go."),)))
    assert [message.role for message in asked.messages] == ["system", "user"]


@pytest.mark.parametrize(
    ("action", "valid"),
    [
        ({"tool": "head", "arguments": {"rows": 3}}, True),
        ({"tool": "head", "arguments": {"rows": 30}}, False),
        ({"tool": "list", "arguments": {}}, True),
        ({"tool": "list", "arguments": {"rows": 3}}, False),
        ({"tool": "drop", "arguments": {}}, False),
        ({"tool": "list"}, False),
        ({"answer": {"n": 1}}, True),
        ({"answer": "one"}, False),
        ({"answer": {"n": 1}, "tool": "list"}, False),
    ],
)
def test_an_action_is_a_call_that_fits_its_tool_or_an_answer_that_fits(
    action: Any, valid: bool
) -> None:
    """The union holds the arguments of each tool and the reply to its own schema."""
    validator = jsonschema.Draft202012Validator(action_schema([HEAD, LIST], REPLY))
    assert validator.is_valid(action) == valid


def test_an_answer_in_free_text_is_bounded() -> None:
    """Beside tools a free text becomes a JSON string with an end."""
    validator = jsonschema.Draft202012Validator(action_schema([HEAD], None))
    assert validator.is_valid({"answer": "x" * ANSWER_CHARACTERS})
    assert not validator.is_valid({"answer": "x" * (ANSWER_CHARACTERS + 1)})


def test_references_within_a_schema_still_lead_to_their_definitions() -> None:
    """Schemas are moved into the union together with what they refer to."""
    reply = {"$defs": {"n": {"type": "integer"}}, "properties": {"n": {"$ref": "#/$defs/n"}}}
    validator = jsonschema.Draft202012Validator(action_schema([HEAD, LIST], reply))
    assert validator.is_valid({"answer": {"n": 1}})
    assert not validator.is_valid({"answer": {"n": "one"}})


def test_a_tool_action_is_read_as_a_call_with_its_arguments_as_written() -> None:
    """Arguments keep their very text, white space and numbers included."""
    text = '{ "tool": "head" , "arguments": {"rows":  3.0, "x": "a,}"} }'
    request = _request(labels=Labels(visit=2, call=1))
    read = read_action(Completion(text=text, native=True), request)
    call = ToolCall(id="call-2-1", name="head", arguments='{"rows":  3.0, "x": "a,}"}')
    assert (read.tool_calls, read.text, read.stop) == ((call,), "", "tool_calls")
    assert read.native


def test_an_answer_is_read_as_text() -> None:
    """Free text comes out of its JSON string; a structured answer stays JSON text."""
    free = read_action(Completion(text='{"answer": "a \\"b\\""}'), _request())
    whole = read_action(Completion(text='{"answer": {"n":  1}}'), _request(schema=REPLY))
    quoted = read_action(Completion(text='{"answer": "x"}'), _request(schema={"type": "string"}))
    assert (free.text, whole.text, quoted.text) == ('a "b"', '{"n":  1}', '"x"')
    assert free.tool_calls == whole.tool_calls == ()


@pytest.mark.parametrize(
    "text",
    [
        '{"answer": "cut',
        "plain words",
        "[1]",
        '{"tool": "head"}',
        '{"answer": 1, "answer": 2}',
        '{"answer": 1, "more": 2}',
        "{}",
        "",
    ],
)
def test_a_reply_that_is_no_action_stays_as_it_is_and_is_noted(text: str) -> None:
    """Nothing is guessed; the engine's reader judges the text."""
    read = read_action(Completion(text=text, stop="length"), _request())
    assert (read.text, read.tool_calls, read.stop) == (text, (), "length")
    assert read.notes == ("the reply is no action",)


def test_without_tools_a_reply_is_not_touched() -> None:
    """When the tools are taken away, the schema is the plain one and so is the reply."""
    request = _request(tools=(), schema=REPLY)
    completion = Completion(text='{"answer": {"n": 1}}')
    assert with_actions(request) == request
    assert read_action(completion, request) is completion


def test_earlier_calls_and_results_are_written_as_plain_messages() -> None:
    """Calls read as the actions they were, results of one turn as one message, also tools gone."""
    calls = (
        ToolCall(id="a", name="head", arguments='{"rows": 3}'),
        ToolCall(id="b", name="list", arguments="{broken"),
    )
    talk = (
        Message(role="user", content="Go."),
        Message(role="assistant", content="I look.", tool_calls=calls),
        Message(role="tool", content='{"rows": []}', tool_call_id="a"),
        Message(role="tool", content='{"error": "no"}', tool_call_id="b"),
        Message(role="user", content="Answer now."),
    )
    told = with_actions(_request(messages=talk, tools=())).messages
    assert [(message.role, message.content) for message in told] == [
        ("user", "Go."),
        (
            "assistant",
            (
                'I look.\n{"tool": "head", "arguments": {"rows": 3}}\n'
                '{"tool": "list", "arguments": "{broken"}'
            ),
        ),
        ("user", 'Result of head: {"rows": []}\nResult of list: {"error": "no"}'),
        ("user", "Answer now."),
    ]
    assert not any(message.tool_calls or message.tool_call_id for message in told)


def test_what_was_written_as_an_action_is_read_back_as_the_same_call() -> None:
    """There and back: a call in the conversation has the form of a reply."""
    call = ToolCall(id="call-1-0", name='odd "name"', arguments='{"é": [1, {"a": "}"}]}')
    told = with_actions(
        _request(messages=(Message(role="assistant", content="", tool_calls=(call,)),), tools=())
    )
    text = told.messages[0].content
    assert json.loads(text)["tool"] == call.name
    assert read_action(Completion(text=text), _request()).tool_calls == (call,)


def test_where_the_model_must_answer_the_introduction_stays_the_same() -> None:
    """What was read of the conversation can be reused; only the answer is offered."""
    tool = ToolDefinition(
        name="head",
        description="First rows.",
        parameters={"type": "object", "properties": {}, "additionalProperties": False},
    )
    message = Message(role="user", content="go")
    free = Request(model="m", messages=(message,), tools=(tool,))
    bound = replace(free, must_answer=True)
    assert with_actions(bound).messages == with_actions(free).messages
    schema = with_actions(bound).schema
    assert schema is not None
    assert len(schema["anyOf"]) == 1
    done = read_action(Completion(text='{"answer": "fine"}'), bound)
    assert done.text == "fine"


def test_a_bare_line_break_in_a_text_does_not_hide_the_action() -> None:
    """Grammars of some servers allow one; the answer is passed on as it was written."""
    request = Request(model="m", messages=(), tools=(HEAD,), schema={"type": "object"})
    text = '{"answer": {"insight": "one\ntwo"}}'
    assert read_action(Completion(text=text), request).text == '{"insight": "one\ntwo"}'
