"""The simulated model: deterministic, true to every schema, and meaningful with tools."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from orglab.providers.base import (
    BadRequest,
    Labels,
    Message,
    Request,
    ToolCall,
    ToolDefinition,
)
from orglab.providers.registry import load_plugin
from orglab.providers.simulated.provider import SimulatedProvider
from orglab.providers.simulated.tool_observations import ObservedFigure, observe_tools
from orglab.providers.structured_output.parse import read_reply
from orglab.providers.structured_output.tool_arguments import read_arguments

ASKED = Message(
    role="user", content="Opening question: do critics and audiences like the same films?"
)
ACTIONS = ["approve", "comment", "question", "revise", "reject"]


def verdict(actions: list[str], **more: Any) -> dict[str, Any]:
    """The schema of a verdict as the engine makes it."""
    text = {"type": "string", "minLength": 1, "maxLength": 2000}
    fields = {"action": {"enum": actions}, "reason": text, "suggestion": text, **more}
    return {
        "type": "object",
        "properties": fields,
        "required": ["action", "reason"],
        "additionalProperties": False,
    }


REPORT: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["insight", "columns", "evidence"],
    "properties": {
        "insight": {"type": "string", "minLength": 20, "maxLength": 600},
        "columns": {"type": "array", "minItems": 1, "items": {"type": "string"}},
        "evidence": {
            "type": "array",
            "minItems": 1,
            "maxItems": 4,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["measure", "columns", "where", "value"],
                "properties": {
                    "measure": {"enum": ["pearson", "mean", "count", "max"]},
                    "columns": {"type": "array", "items": {"type": "string"}},
                    "where": {"type": "string"},
                    "value": {"type": "number"},
                },
            },
        },
    },
}


def definition(
    name: str, description: str = "", required: tuple[str, ...] = (), **fields: Any
) -> ToolDefinition:
    """A tool."""
    schema = {
        "type": "object",
        "properties": fields,
        "required": list(required),
        "additionalProperties": False,
    }
    return ToolDefinition(name=name, description=description, parameters=schema)


TEXT = {"type": "string"}
TOOLS = (
    definition("correlate", "Correlation of two numeric columns.", ("x", "y"), x=TEXT, y=TEXT, by=TEXT, where=TEXT),
    definition("value_counts", "How often each value of a column occurs.", ("column",), column=TEXT),
    definition("query", "One SELECT on the table `data`.", ("sql",), sql={**TEXT, "description": "SELECT a FROM data"}),
    definition("get_schema", "The table's columns."),
)  # fmt: skip
SCHEMA_RESULT = {
    "rows": 1000,
    "columns": [
        {"name": "budget", "type": "integer", "distinct": 900},
        {"name": "gross", "type": "number", "distinct": 1000},
        {"name": "genre", "type": "text", "distinct": 3},
        {"name": "title", "type": "text", "distinct": 1000},
    ],
}


def exchange(*results: tuple[str, Mapping[str, Any], Any]) -> tuple[Message, ...]:
    """Tool calls with their results."""
    messages: list[Message] = [ASKED]
    for number, (name, arguments, result) in enumerate(results):
        call = ToolCall(id=f"c{number}", name=name, arguments=json.dumps(arguments))
        messages.append(Message(role="assistant", content="", tool_calls=(call,)))
        messages.append(Message(role="tool", content=json.dumps(result), tool_call_id=call.id))
    return tuple(messages)


SEEN = exchange(
    ("get_schema", {}, SCHEMA_RESULT),
    ("correlate", {"x": "budget", "y": "gross"}, {"x": "budget", "y": "gross", "method": "pearson", "r": 0.67, "n": 9}),
)  # fmt: skip


def request(number: int, **more: Any) -> Request:
    """A call with an identity of its own."""
    return Request(model="", identity=f"call-{number}", **{"messages": (ASKED,), **more})


async def values(provider: SimulatedProvider, count: int, **more: Any) -> list[Any]:
    """The values of many structured replies, each checked."""
    found = []
    for number in range(count):
        asked = request(number, **more)
        completion = await provider.complete(asked)
        reading = read_reply(completion.text, asked.schema, native=completion.native)
        assert (reading.problem, reading.how) == (None, "native"), reading.message
        found.append(reading.value)
    return found


async def test_a_reply_depends_on_the_identity_alone() -> None:
    """Seed, unit and order are nothing to it; another identity is another reply."""
    provider = SimulatedProvider()
    first = await provider.complete(request(1))
    await provider.complete(request(2))
    other = replace(request(1), seed=99, labels=Labels(unit="u", call=3), model="x")
    assert await SimulatedProvider().complete(other) == first
    assert (await provider.complete(request(2))).text != first.text


async def test_every_reply_says_that_it_is_simulated() -> None:
    """With its profile's name, its tokens and the seconds it says it took."""
    completion = await SimulatedProvider("strict").complete(request(1))
    assert completion.simulated
    assert completion.model == "simulated:strict"
    assert completion.usage.input == -(-len(ASKED.content) // 4)
    assert completion.usage.output == -(-len(completion.text) // 4)
    seconds = 0.8 + completion.usage.input * 0.0002 + completion.usage.output * 0.025
    assert completion.service_seconds == pytest.approx(seconds, abs=0.001)


async def test_reasoning_is_paid_and_changes_no_text() -> None:
    """It is part of the tokens written."""
    thinking = SimulatedProvider.from_spec("", {"profile": {"reasoning": {"mean": 500, "sd": 50}}})
    plain, thought = (
        await SimulatedProvider().complete(request(1)),
        await thinking.complete(request(1)),
    )
    assert thought.text == plain.text
    assert 300 < thought.usage.reasoning < 700
    assert thought.usage.output == plain.usage.output + thought.usage.reasoning


async def test_free_text_has_the_length_of_the_profile() -> None:
    """Words around the mean; the task's words are in it; no text repeats."""
    provider = SimulatedProvider()
    texts = [(await provider.complete(request(number))).text for number in range(60)]
    mean = sum(len(text.split()) for text in texts) / len(texts)
    assert 110 < mean < 140
    assert all(re.search("critics|audiences|films|Opening", text) for text in texts)
    assert len(set(texts)) == 60


async def test_a_token_limit_cuts_the_text() -> None:
    """A cut reply says so, as that of a real model would."""
    completion = await SimulatedProvider().complete(request(1, params={"max_output_tokens": 10}))
    assert (completion.stop, len(completion.text), completion.usage.output) == ("length", 40, 10)


async def test_verdicts_follow_the_profiles_rates() -> None:
    """Over many calls each action comes about as often as it should."""
    found = await values(SimulatedProvider("strict"), 400, schema=verdict(ACTIONS))
    counts = Counter(value["action"] for value in found)
    assert set(counts) == set(ACTIONS)
    assert 0.18 < counts["approve"] / 400 < 0.32
    assert 0.18 < counts["question"] / 400 < 0.32


async def test_only_offered_actions_are_chosen() -> None:
    """Where it must ask it asks, and a question reads like one."""
    found = await values(SimulatedProvider("lenient"), 40, schema=verdict(["question", "reject"]))
    assert {value["action"] for value in found} == {"question", "reject"}
    assert all(value["reason"].endswith("?") for value in found if value["action"] == "question")


async def test_a_target_comes_only_with_revise() -> None:
    """At the profile's rate, and from the offered ones."""
    schema = verdict(["approve", "revise"], target={"enum": ["analyst", "writer"]})
    found = await values(SimulatedProvider(), 200, schema=schema)
    named = [value for value in found if "target" in value]
    assert named
    assert {value["action"] for value in named} == {"revise"}
    assert {value["target"] for value in named} == {"analyst", "writer"}


async def test_a_schema_that_nothing_fits_is_refused() -> None:
    """Rather than inventing something."""
    with pytest.raises(BadRequest, match=r"no reply can be made for the schema: .*no whole number"):
        await SimulatedProvider().complete(
            request(1, schema={"type": "integer", "minimum": 2, "maximum": 1})
        )


async def calls(messages: tuple[Message, ...], count: int, **settings: Any) -> list[ToolCall]:
    """The tool calls of many replies, each with arguments that fit."""
    provider = SimulatedProvider.from_spec("", {"profile": settings})
    found = []
    for number in range(count):
        completion = await provider.complete(request(number, messages=messages, tools=TOOLS))
        for call in completion.tool_calls:
            (tool,) = (tool for tool in TOOLS if tool.name == call.name)
            assert not read_arguments(call.arguments, tool.parameters).error
            assert (completion.stop, completion.text) == ("tool_calls", "")
            found.append(call)
    return found


async def test_it_looks_at_the_columns_first() -> None:
    """Before any result, the tool that shows the columns; by the profile's rate."""
    assert {call.name for call in await calls((ASKED,), 30, looks_first=1)} == {"get_schema"}


async def test_arguments_are_real_columns_of_the_right_kind() -> None:
    """Numeric ones where figures are computed, those with few values where groups are made."""
    found = await calls(SEEN[:3], 150, foreign_columns=0, tool_calls={"mean": 100, "max": 9})
    by_tool: dict[str, list[Any]] = {}
    for call in found:
        by_tool.setdefault(call.name, []).append(json.loads(call.arguments))
    pairs = [{each["x"], each["y"]} for each in by_tool["correlate"]]
    assert pairs
    assert all(pair == {"budget", "gross"} for pair in pairs)
    assert {each["by"] for each in by_tool["correlate"] if "by" in each} == {"genre"}
    assert {each["column"] for each in by_tool["value_counts"]} == {"genre"}
    assert all('FROM data GROUP BY "genre"' in each["sql"] for each in by_tool["query"])


async def test_foreign_columns_come_at_their_rate() -> None:
    """A profile that names columns which are not there gives the checks something to catch."""
    found = await calls(SEEN[:3], 60, foreign_columns=1, tool_calls={"mean": 100, "max": 9})
    named = {
        json.loads(call.arguments).get("column") for call in found if call.name == "value_counts"
    }
    assert named
    assert not named & {"budget", "gross", "genre", "title"}


async def test_tool_calls_end() -> None:
    """Never more than the largest number a turn; a new turn begins anew."""
    assert not await calls(SEEN, 20, tool_calls={"mean": 1000, "max": 2})
    again = (*SEEN, Message(role="user", content="Again."))
    assert await calls(again, 20, tool_calls={"mean": 1000, "max": 2})
    assert not await calls(SEEN, 20, tool_calls={"mean": 0, "max": 9})


def test_figures_are_seen_with_what_they_are_of() -> None:
    """Of all rows, of groups, of one value; errors and unknown columns are nothing."""
    observed = observe_tools(
        exchange(
            ("get_schema", {}, SCHEMA_RESULT),
            ("correlate", {"x": "budget", "y": "gross", "method": "spearman"}, {"x": "budget", "y": "gross", "method": "spearman", "r": 0.5, "n": 9}),
            ("group_by", {"by": "genre"}, {"by": "genre", "measure": "mean", "column": "gross", "groups": [{"group": "it's", "value": 4.5, "n": 3}, {"group": None, "value": 1, "n": 1}]}),
            ("value_counts", {"column": "genre", "where": "gross > 1"}, {"column": "genre", "values": [{"value": "b", "count": 2, "percent": 20.0}]}),
            ("describe", {"column": "gross"}, {"column": "gross", "mean": 3.5, "max": None}),
            ("describe", {"column": "ghost"}, {"column": "ghost", "mean": 9.5}),
            ("describe", {"column": "budget"}, {"error": "no", "mean": 7}),
        )
    )  # fmt: skip
    assert [name for name in observed.columns if observed.columns[name].numeric] == [
        "budget",
        "gross",
    ]
    assert observed.grouping == ["genre"]
    told = [each for each in observed.figures if each.measure != "distinct"]
    assert told == [
        ObservedFigure(measure="spearman", columns=("budget", "gross"), where="", value=0.5),
        ObservedFigure(measure="mean", columns=("gross",), where="\"genre\" = 'it''s'", value=4.5),
        ObservedFigure(
            measure="count", columns=(), where="(gross > 1) and \"genre\" = 'b'", value=2
        ),
        ObservedFigure(measure="mean", columns=("gross",), where="", value=3.5),
    ]


async def reports(**settings: Any) -> list[Any]:
    """Reports after the tools showed one figure."""
    provider = SimulatedProvider.from_spec("", {"profile": {"foreign_columns": 0, **settings}})
    return await values(provider, 40, messages=SEEN, schema=REPORT)


async def test_a_truthful_report_gives_the_figures_of_the_tools() -> None:
    """Measure, columns and value as the tool gave them; the columns are those of the evidence."""
    for report in await reports(truthful=1):
        assert report["columns"] == ["budget", "gross"]
        assert report["evidence"] == [
            {"measure": "pearson", "columns": ["budget", "gross"], "where": "", "value": 0.67}
        ]
        assert report["insight"].startswith("The Pearson correlation of budget and gross is 0.67.")


async def test_an_untruthful_report_gives_others() -> None:
    """So that a check that computes them again has something to catch."""
    assert all(report["evidence"][0]["value"] != 0.67 for report in await reports(truthful=0))


async def test_a_report_without_any_look_names_columns_of_no_table() -> None:
    """What was never seen cannot be right."""
    found = await values(SimulatedProvider("sloppy"), 10, schema=REPORT)
    assert all(report["evidence"][0]["columns"] == report["columns"] for report in found)


async def test_from_spec() -> None:
    """Found by its entry point; the profile is a name or a mapping; else the model's name."""
    kind = load_plugin("orglab.providers", "simulated")
    assert kind.from_spec("", {}).profile.name == "careful"
    assert kind.from_spec("strict", {}).profile.name == "strict"
    assert kind.from_spec("", {"profile": "lenient"}).profile.name == "lenient"
    with pytest.raises(ValueError, match="unknown field 'profil'; did you mean 'profile'"):
        kind.from_spec("", {"profil": "lenient"})


def test_a_profile_that_yaml_takes_for_nothing_is_refused() -> None:
    """``null`` without quotes is no name; with quotes it is a profile."""
    with pytest.raises(ValueError, match='write `profile: "null"`'):
        SimulatedProvider.from_spec("", {"profile": None})
    assert SimulatedProvider.from_spec("", {"profile": "null"}).profile.name == "null"
