"""The scripted provider: the public fake, a function of the request and of nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orglab.providers.base import (
    Completion,
    ContextOverflow,
    Labels,
    Message,
    NoScriptedReply,
    RateLimited,
    Request,
    ToolCall,
)
from orglab.providers.registry import load_plugin
from orglab.providers.scripted.provider import ScriptedProvider

LINES: list[dict[str, Any]] = [
    {"role": "writer", "reply": "first"},
    {"role": "writer", "visit": 2, "reply": "second turn"},
    {"role": "writer", "reply": {"n": 1, "é": None}},
    {"role": "critic", "reply": "from the start of the list"},
    {"role": "critic#2", "reply": "only the second copy"},
    {"unit": "u2", "role": "writer", "reply": "for another unit"},
]


def request(
    role: str = "writer", copy: str = "", unit: str = "u1", visit: int = 1, **more: Any
) -> Request:
    """A call of a copy in a unit."""
    labels = Labels(unit=unit, role=role, copy=copy or role, visit=visit, **more)
    return Request(model="m", messages=(Message(role="user", content="x" * 10),), labels=labels)


async def text(provider: ScriptedProvider, asked: Request) -> str:
    """The text of a reply."""
    return (await provider.complete(asked)).text


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [("hello", "hello"), ({"a": "é"}, '{"a": "é"}'), ([1, 2], "[1, 2]"), ([], "[]")],
)
async def test_a_function_gives_text_or_a_value(reply: Any, wanted: str) -> None:
    """A mapping or a list becomes JSON text."""
    completion = await ScriptedProvider(lambda _: reply).complete(request())
    assert completion.text == wanted
    assert (completion.simulated, completion.stop, completion.native) == (True, "stop", False)


async def test_a_function_may_be_async_and_sees_the_request() -> None:
    """It is handed the whole request."""

    async def answer(asked: Request) -> str:
        return asked.labels.unit

    assert await text(ScriptedProvider(answer), request(unit="u7")) == "u7"


async def test_a_function_gives_tool_calls() -> None:
    """A list of calls is a reply that asks for tools."""
    call = ToolCall(id="1", name="head", arguments="{}")
    completion = await ScriptedProvider(lambda _: [call]).complete(request())
    assert (completion.tool_calls, completion.stop, completion.text) == ((call,), "tool_calls", "")


async def test_a_whole_completion_is_given_as_it_is_but_marked() -> None:
    """No scripted reply passes for one of a language model."""
    made = Completion(text="x", stop="length", model="real")
    completion = await ScriptedProvider(lambda _: made).complete(request())
    assert completion == replace(made, simulated=True)


async def test_no_reply_names_unit_role_and_visit() -> None:
    """None from a function, and a script without a line left, say for which call."""
    with pytest.raises(NoScriptedReply, match="unit 'u1', role 'writer', visit 3"):
        await ScriptedProvider(lambda _: None).complete(request(visit=3))
    with pytest.raises(NoScriptedReply, match="unit 'u9', role 'boss', visit 1"):
        await ScriptedProvider.from_lines(LINES).complete(request("boss", unit="u9"))


async def test_tokens_are_four_characters() -> None:
    """Read: the messages; written: the text."""
    completion = await ScriptedProvider(lambda _: "12345").complete(request())
    assert (completion.usage.input, completion.usage.output) == (3, 2)


async def test_lines_are_used_up_in_order() -> None:
    """The first fitting line not used by the earlier calls of this copy."""
    provider = ScriptedProvider.from_lines(LINES)
    assert await text(provider, request()) == "first"
    assert await text(provider, request(earlier=(1,))) == '{"n": 1, "é": null}'
    assert await text(provider, request(visit=2, earlier=(1,))) == "second turn"
    assert await text(provider, request(visit=2, earlier=(1, 1))) == "second turn"
    assert await text(provider, request(visit=3, earlier=(1, 2))) == '{"n": 1, "é": null}'
    with pytest.raises(NoScriptedReply, match=r"no line left .*\(3 calls before\)"):
        await provider.complete(request(visit=3, earlier=(1, 2, 3)))


async def test_a_script_keeps_nothing_between_calls() -> None:
    """The same request gives the same reply, however often and in whatever order."""
    provider = ScriptedProvider.from_lines(LINES)
    asked = [request(), request(earlier=(1,)), request(unit="u2", earlier=(1, 1))]
    once = [await text(provider, each) for each in asked]
    assert [await text(provider, each) for each in reversed(asked)] == once[::-1]
    assert once[2] == "for another unit"


async def test_each_copy_reads_the_list_from_its_start() -> None:
    """A role's lines fit every copy; a copy's lines fit it alone."""
    provider = ScriptedProvider.from_lines(LINES)
    assert await text(provider, request("critic", "critic#1")) == "from the start of the list"
    assert await text(provider, request("critic", "critic#2")) == "from the start of the list"
    assert (
        await text(provider, request("critic", "critic#2", earlier=(1,))) == "only the second copy"
    )
    with pytest.raises(NoScriptedReply, match="'critic#1'"):
        await provider.complete(request("critic", "critic#1", earlier=(1,)))


async def test_a_line_plants_tool_calls_faults_and_usage() -> None:
    """Everything a provider can give can be scripted."""
    provider = ScriptedProvider.from_lines(
        [
            {"role": "writer", "tool_calls": [{"name": "head", "arguments": {"n": 2}}, {"name": "x", "arguments": "{bad"}]},
            {"role": "writer", "reply": "cut", "stop": "length", "usage": {"input": 7, "output": 9}, "reasoning": "hm"},
            {"role": "writer", "error": {"kind": "rate limited", "message": "slow down"}},
            {"role": "writer", "error": {"kind": "context overflow"}},
        ]
    )  # fmt: skip
    calls = await provider.complete(request())
    assert [(call.name, call.arguments) for call in calls.tool_calls] == [
        ("head", '{"n": 2}'),
        ("x", "{bad"),
    ]
    assert len({call.id for call in calls.tool_calls}) == 2
    cut = await provider.complete(request(earlier=(1,)))
    assert (cut.stop, cut.usage.input, cut.usage.output, cut.reasoning) == ("length", 7, 9, "hm")
    with pytest.raises(RateLimited, match="slow down"):
        await provider.complete(request(earlier=(1, 1)))
    with pytest.raises(ContextOverflow, match="planted by the script"):
        await provider.complete(request(earlier=(1, 1, 1)))


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ({"reply": "x"}, "line 1: `role` must be a string"),
        ({"role": "a"}, "exactly one of `reply`, `tool_calls`, `error`"),
        ({"role": "a", "reply": "x", "error": {}}, "exactly one of"),
        ({"role": "a", "repl": "x"}, "unknown field 'repl'; did you mean 'reply'\\?"),
        ({"role": "a", "reply": "x", "visit": 0}, "`visit` must be an integer of at least 1"),
        ({"role": "a", "reply": "x", "stop": "end"}, "`stop` must be one of stop, length"),
        ({"role": "a", "reply": "x", "usage": {"input": -1}}, "integers of at least 0"),
        ({"role": "a", "error": {"kind": "rate limit"}}, "unknown error kind 'rate limit'; did you mean 'rate limited'"),
        ({"role": "a", "tool_calls": [{"arguments": {}}]}, "list of \\{name, arguments\\}"),
        ("text", "an object with `role` and `reply`"),
    ],
)  # fmt: skip
def test_a_wrong_line_is_named(line: Any, wrong: str) -> None:
    """The fault says which line, and what was expected."""
    with pytest.raises(ValueError, match=wrong):
        ScriptedProvider.from_lines([line])


async def test_from_spec_reads_a_file(tmp_path: Path) -> None:
    """`provider: scripted, file: replies.jsonl`, found by its entry point."""
    path = tmp_path / "replies.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in LINES), encoding="utf-8")
    kind = load_plugin("orglab.providers", "scripted")
    assert await text(kind.from_spec("", {"file": path}), request()) == "first"


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({}, "needs `file:`"),
        ({"fil": "x"}, "unknown field 'fil'; did you mean 'file'"),
        ({"file": "nowhere.jsonl"}, "nowhere.jsonl cannot be read: No such file"),
    ],
)
def test_from_spec_refuses_what_it_cannot_use(options: dict[str, Any], wrong: str) -> None:
    """The author is told what to write."""
    with pytest.raises(ValueError, match=wrong):
        ScriptedProvider.from_spec("", options)


def test_a_wrong_line_of_a_file_has_its_number(tmp_path: Path) -> None:
    """Blank lines count."""
    path = tmp_path / "r.jsonl"
    path.write_text('{"role": "a", "reply": "x"}\n\n{"role": "a"}\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"r.jsonl, line 3: exactly one of"):
        ScriptedProvider.from_spec("", {"file": str(path)})
