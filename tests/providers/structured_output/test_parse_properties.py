"""Reading replies, whatever is written."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from orglab.providers.base import StopReason
from orglab.providers.structured_output.parse import read_reply
from orglab.providers.structured_output.relaxed_json import relaxed_value
from orglab.providers.structured_output.strict_json import same
from orglab.providers.structured_output.tool_arguments import read_arguments

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
NUMBERS = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=4)
PROSE = st.text("abcdefg ,.;!?\n", max_size=40)
STOPS: st.SearchStrategy[StopReason] = st.sampled_from(["stop", "length", "tool_calls"])
MARKS = [
    "{",
    "}",
    "[",
    "]",
    '"',
    "'",
    ":",
    ",",
    "\\",
    "```",
    "~~~",
    "json",
    "1",
    "true",
    "None",
    "//",
    "/*",
    "*/",
    "#",
    "<think>",
    "</think>",
    "[THINK]",
    "<|channel|>",
    "<|im_end|>",
    "a",
    '"a"',
    "-",
    "1e999",
    "NaN",
    '{"a":1}',
    "Tool:",
]
SCRAPS = st.lists(
    st.sampled_from([*MARKS, " ", "\n", "\ud800", "\ufeff", "\u2028"]), max_size=40
).map("".join)
SCHEMA = {"type": "object"}


@given(OBJECTS, PROSE, PROSE, st.sampled_from([None, 2]))
def test_an_object_reads_back_in_every_form(
    value: dict[str, Any], before: str, after: str, indent: int | None
) -> None:
    """Bare, fenced, with words around it, or after reasoning: it is the same object."""
    for escaped in (True, False):
        text = json.dumps(value, indent=indent, ensure_ascii=escaped)
        for form in (
            text,
            f"{before}\n{text}\n{after}",
            f"{before}\n```json\n{text}\n```\n{after}",
            f"{before}\n```\n{text}\n```\n{after}",
            f"{before}\n~~~JSON\r\n{text}\r\n~~~\r\n{after}",
            f"<think>{before}</think>{after}{text}",
            f"{text}\n\n{text}",
        ):
            reading = read_reply(form, SCHEMA)
            assert reading.problem is None, form
            assert same(reading.value, value)
            assert not reading.repaired


@given(OBJECTS)
def test_a_python_literal_is_its_value_or_nothing(value: dict[str, Any]) -> None:
    """What Python prints is read as what it means, or asked again; never as another value."""
    reading = read_reply(repr(value), SCHEMA)
    assert reading.problem is not None or same(reading.value, value)


@given(OBJECTS)
def test_the_relaxed_grammar_contains_json(value: dict[str, Any]) -> None:
    """Strict JSON means the same in the relaxed grammar."""
    text = json.dumps(value)
    found = relaxed_value(text, 0)
    assert same(found.value, value)
    assert (found.end, found.completed) == (len(text), False)


@given(OBJECTS, st.data())
def test_a_cut_object_is_never_a_value(value: dict[str, Any], data: st.DataObject) -> None:
    """Wherever the token limit cuts an object, there is no value."""
    text = json.dumps(value)
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    assert read_reply(cut, SCHEMA, stop="length").problem == "truncated"


@given(
    st.text() | SCRAPS, STOPS, st.sampled_from([None, SCHEMA, {}, {"type": ["array", "string"]}])
)
def test_no_text_raises(text: str, stop: StopReason, schema: dict[str, Any] | None) -> None:
    """Any text gives a value that strict JSON and UTF-8 can hold, or a problem with a message."""
    reading = read_reply(text, schema, stop=stop)
    assert (reading.how is None) == (reading.problem is not None)
    assert bool(reading.message) == (reading.problem is not None)
    json.dumps(reading.value, allow_nan=False, ensure_ascii=False).encode()
    reading.message.encode()
    arguments = read_arguments(text, SCHEMA)
    assert (arguments.value is None) == bool(arguments.error)
    json.dumps(arguments.value, allow_nan=False, ensure_ascii=False).encode()
    arguments.error.encode()
