"""Reading replies: one value, or the reason why there is none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orglab.providers.base import StopReason
from orglab.providers.structured_output.parse import ReplyProblem, read_reply

ANSWER = {
    "type": "object",
    "required": ["answer"],
    "properties": {"answer": {"type": "string"}, "sure": {"type": "boolean"}},
    "additionalProperties": False,
}


def problem(text: str, schema: Any = ANSWER, stop: StopReason = "stop") -> ReplyProblem | None:
    """Why there is no value; a value there must not be."""
    reading = read_reply(text, schema, stop=stop)
    assert (reading.value is None) == (reading.problem is not None)
    assert bool(reading.message) == (reading.problem is not None)
    return reading.problem


def test_plain_json_is_strict() -> None:
    """A text that is nothing but the object is read strictly."""
    reading = read_reply('{"answer": "yes"}', ANSWER)
    assert (reading.value, reading.how, reading.objects) == ({"answer": "yes"}, "strict", (1, 1))
    assert reading.record() == {"how": "strict"}


def test_a_value_that_does_not_fit_names_the_field() -> None:
    """The message says which field, what was wrong, and what is allowed."""
    reading = read_reply('{"answr": "yes"}', ANSWER)
    assert reading.problem == "invalid"
    assert "lacks `answer`" in reading.message
    assert "`answr` (perhaps `answer`)" in reading.message
    assert reading.record()["problem"] == "invalid"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"answer": "a", "answer": "b"}', "conflict"),
        ('Here: {"answer": "a", "answer": "b"}', "conflict"),
        ('{"answer": "a"} and {"answer": "b"}', "conflict"),
        ('{"answer": "a"} then {"answer": ', "conflict"),
        ('[{"answer": "a"}, {"answer": "b"}]', "conflict"),
        ('{"answer": NaN}', "malformed"),
        ('{"answer": 1e999}', "malformed"),
        ('{"answer": "\\ud800"}', "malformed"),
        ('Yes, {"answer": "\\ud800"}', "malformed"),
        ('{"answer": "it"s"}', "malformed"),
        ("[" * 50_000, "no json"),
        ('{"a":' * 50_000, "malformed"),
        ("I would say yes.", "no json"),
        ("{as follows} yes", "no json"),
        ('"{\\"answer\\": \\"a\\"}"', "invalid"),
        ('```python\n{"answer": "a"}\n```', "no json"),
        ("12", "invalid"),
        ("", "empty"),
        (" \u200b\n\ufeff", "empty"),
    ],
)
def test_what_is_not_certain_is_not_read(text: str, wanted: ReplyProblem) -> None:
    """Two readings, broken JSON and no JSON give a problem, never a value."""
    assert problem(text) == wanted


def test_an_equal_key_twice_is_no_conflict() -> None:
    """A key that stands twice with the same value has one value."""
    assert read_reply('{"answer": "a", "answer": "a"}', ANSWER).value == {"answer": "a"}


def test_one_and_true_are_different_values() -> None:
    """Python takes 1 for true; two such objects are a conflict all the same."""
    text = '{"a": 1} {"a": true}'
    assert problem(text, {"type": "object"}) == "conflict"


def test_prose_braces_and_unfit_objects_do_not_disturb() -> None:
    """A sentence in braces and an object of another kind stand beside the one that fits."""
    text = 'From {note: the table} and {"rows": 3} follows: {"answer": "a"}. Done {so}.'
    reading = read_reply(text, ANSWER)
    assert (reading.value, reading.how, reading.objects) == ({"answer": "a"}, "embedded", (2, 1))


@pytest.mark.parametrize(
    "text",
    [
        '```json {"answer": "a"}```',
        'x ```{"answer": "a"}``` y',
        '~~~~\n{"answer": "a"}\n~~~~',
        '```\n{"answer": "a"}',
    ],
)
def test_fences_of_every_kind(text: str) -> None:
    """Inline, tilde, longer and unclosed fences hold a reply."""
    reading = read_reply(text, ANSWER)
    assert (reading.value, reading.how) == ({"answer": "a"}, "fenced")


@pytest.mark.parametrize(
    "text",
    [
        'Assistant: {"answer": "a"}',
        '{"answer": "a"}\nUser: and?\nAssistant: {"answer": "b"}',
        '{"answer": "a"}<|im_end|><|im_start|>user\n{"answer": "b"}',
        '{"answer": "a"}\n**Observation:** {"answer": "b"}',
        '{"answer": "a"}\n<tool_response>{"answer": "b"}</tool_response>',
        '{"answer": "a"}\n[INST] go on [/INST] {"answer": "b"',
    ],
)
def test_only_the_models_own_turn_is_read(text: str) -> None:
    """What follows a turn of someone else that the model wrote itself never counts."""
    assert read_reply(text, ANSWER).value == {"answer": "a"}


def test_an_object_after_an_invented_turn_alone_is_no_reply() -> None:
    """The message tells the model why its object was not read."""
    reading = read_reply('Tool: 41.2\n{"answer": "a"}', ANSWER)
    assert (reading.problem, reading.objects) == ("no json", (1, 0))
    assert "someone else" in reading.message


def test_a_header_inside_a_text_of_the_value_is_no_turn() -> None:
    """Words of a value are words, whatever they look like."""
    text = 'So: {"answer": "a\\nTool: b"} and again {"answer": "a\\nTool: b"}'
    assert read_reply(text, ANSWER).objects == (2, 1)


def test_a_tag_inside_a_text_of_the_value_is_no_reasoning() -> None:
    """A value that speaks of tags is read whole."""
    value = {"answer": "</think>{'answer': 'other'}"}
    assert read_reply(f"Here: {json.dumps(value)}", ANSWER).value == value


@pytest.mark.parametrize(
    ("text", "reasoning"),
    [
        ('<think>x {"answer": "no"}</think>{"answer": "a"}', 'x {"answer": "no"}'),
        ('<think>x <think> y</think>{"answer": "a"}', "x <think> y"),
        ('x</think>y</thinking>{"answer": "a"}', "x\ny"),
        ('◁think▷x◁/think▷{"answer": "a"}', "x"),
        ('<|begin_of_thought|>x<|end_of_thought|>{"answer": "a"}', "x"),
        ('{"answer": "a"}<think>x', "x"),
        (
            '<|channel|>analysis<|message|>x<|end|><|channel|>final<|message|>{"answer": "a"}',
            "<|channel|>analysis<|message|>x<|end|>",
        ),
    ],
)
def test_reasoning_of_every_kind_is_set_aside(text: str, reasoning: str) -> None:
    """Blocks, lone closing tags and channels are kept apart from the value."""
    reading = read_reply(text, ANSWER)
    assert (reading.value, reading.reasoning) == ({"answer": "a"}, reasoning)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"answer": "a', "truncated"),
        ("Let me think about it", "truncated"),
        ('{"answer": "a"} or {"answer": "b', "truncated"),
        ('[{"answer": "a"}, {"ans', "truncated"),
        ('[{"answer": "a"},', "truncated"),
        ("<think>so long", "truncated"),
        ("", "truncated"),
        ('{"answr": "a"} and so on', "invalid"),
        ('{"answer": "a"} and so on', None),
        ('{"answer": "a"}', None),
    ],
)
def test_cut_replies(text: str, wanted: ReplyProblem | None) -> None:
    """What the token limit cut counts only where the model had closed the one value."""
    assert problem(text, stop="length") == wanted


def test_a_cut_number_is_not_a_number() -> None:
    """15 may be the beginning of 1500."""
    assert problem("15", {"type": "integer"}, stop="length") == "truncated"
    assert read_reply("15", {"type": "integer"}).value == 15


def test_refusal() -> None:
    """A refusal is no answer, whatever its text."""
    reading = read_reply("I will not.", ANSWER, stop="refusal")
    assert reading.problem == "refusal"
    assert "I will not." in reading.message


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "array", "items": {"type": "integer"}}, "So: [1, 2]", [1, 2]),
        ({"type": "array", "items": {"type": "integer"}}, "```\n[1, 2]\n```", [1, 2]),
        ({"type": "array"}, 'Here {"a": [1]} and [2]', [2]),
        ({"type": "string"}, '"yes"', "yes"),
        ({"type": "string"}, '```json\n"yes"\n```', "yes"),
        ({"type": "boolean"}, "true", True),
        ({}, '[1, {"a": 2}]', [1, {"a": 2}]),
        ({"enum": ["a", None]}, "null", None),
    ],
)
def test_values_that_are_no_objects(schema: Any, text: str, value: Any) -> None:
    """Lists, texts, numbers and literals are read as well."""
    reading = read_reply(text, schema)
    assert reading.problem is None
    assert reading.value == value


def test_a_number_in_a_sentence_is_not_read() -> None:
    """Prose is no number."""
    assert problem("The answer is 7.", {"type": "integer"}) == "no json"


def test_large_numbers_and_odd_spaces_are_kept() -> None:
    """Whole numbers are exact, a line separator inside a text stays."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "t": {"type": "string"}}}
    assert read_reply('{"n": 12345678901234567890, "t": "a\u2028b"}', schema).value == {
        "n": 12345678901234567890,
        "t": "a\u2028b",
    }
    assert read_reply('\ufeff{\u00a0"n":\u30001}', schema).value == {"n": 1}


@pytest.mark.parametrize(
    ("text", "stop", "value", "wanted"),
    [
        ("  A report.\n", "stop", "A report.", None),
        ("<think>hm</think>A report.", "stop", "A report.", None),
        ("A rep", "length", None, "truncated"),
        ("", "length", None, "truncated"),
        ("<think>hm</think> ", "stop", None, "empty"),
        ("<think>hm", "stop", None, "reasoning not closed"),
        (" \u3000", "stop", None, "empty"),
        ("half \ud800", "stop", None, "malformed"),
    ],
)
def test_free_text(
    text: str, stop: StopReason, value: str | None, wanted: ReplyProblem | None
) -> None:
    """Free text is what stands outside the reasoning; cut or blank it is no answer."""
    reading = read_reply(text, None, stop=stop)
    assert (reading.value, reading.problem) == (value, wanted)


def test_a_wrong_schema_is_the_authors_fault() -> None:
    """A schema that is none raises, and says where."""
    with pytest.raises(ValueError, match="not a JSON Schema 2020-12: at type"):
        read_reply("{}", {"type": "objekt"})


@pytest.mark.parametrize(
    "text",
    [
        "<think>" * 30_000,
        "{a: " * 20_000,
        "[{" * 20_000,
        "{/*" * 20_000,
        '{"\\' * 20_000,
        "```python " * 20_000,
        "Tool: \n" * 20_000,
        "'{" * 20_000,
    ],
)
def test_hostile_text_is_read_in_bounded_time(text: str) -> None:
    """Bombs of brackets, tags and quotes end in a problem (the test's time limit is the measure)."""
    assert read_reply(text, ANSWER).problem
