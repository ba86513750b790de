"""One turn: tools, limits, repairs, and what is on record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orglab.engine.graph.team import Team
from orglab.engine.run.outcome import Unit
from orglab.engine.spec.model import ToolUse
from orglab.providers.base import Completion, ContextOverflow, Request, TokenUsage, ToolCall
from orglab.results.records import CallEntry, ToolEntry
from orglab.results.store.journal.journal import MemoryJournal

Make = Callable[..., Any]
TABLE = "table.csv"
TOOLS = {
    "head": ToolUse(name="head", use="head", settings={"file": "{{ table }}"}),
    "columns": ToolUse(name="columns", use="get_schema", settings={"file": "{{ table }}"}),
}
INPUTS = {"table": {"type": "string"}}


@pytest.fixture
def unit(tmp_path: Path) -> Unit:
    """A unit with a small table."""
    file = tmp_path / TABLE
    file.write_text("name,score\nAnn,1\nBo,2\n", encoding="utf-8")
    return Unit(id="u1", inputs={"table": TABLE}, files={TABLE: file})


def calling(name: str, arguments: str, number: int = 0) -> list[ToolCall]:
    """A reply that calls a tool."""
    return [ToolCall(id=f"c{number}", name=name, arguments=arguments)]


def with_tools(**role: Any) -> dict[str, Any]:
    """A role with both tools."""
    return {"explorer": {"tools": ("head", "columns"), **role}}


async def test_a_tool_is_called_and_its_result_goes_back(
    team: Make, play: Make, unit: Unit
) -> None:
    """The result stands in the next call's conversation, under the call's id."""
    made = team(with_tools(), [], "explorer", tools=TOOLS, inputs=INPUTS)
    run = await play(made, {"explorer": [calling("head", '{"n": 1}'), "done"]}, unit=unit)
    last = run.requests[-1].messages[-1]
    assert (last.role, last.tool_call_id) == ("tool", "c0")
    assert "Ann" in last.content
    assert run.outcome.answer.value == "done"


async def test_a_broken_call_is_an_error_to_the_model(team: Make, play: Make, unit: Unit) -> None:
    """Unknown tools, arguments that are no object, unknown arguments: results, not crashes."""
    made = team(with_tools(), [], "explorer", tools=TOOLS, inputs=INPUTS)
    said = [
        calling("heads", "{}"),
        calling("head", "[]"),
        calling("head", '{"N": 1}'),
        calling("head", '{"n": "many"}'),
        "done",
    ]
    run = await play(made, {"explorer": said}, unit=unit)
    results = [entry for entry in run.journal.entries.values() if isinstance(entry, ToolEntry)]
    assert [body.error for body in results] == [True] * 4
    assert [body.refused for body in results] == [
        "unknown",
        "arguments",
        "arguments",
        "arguments",
    ]
    assert run.outcome.status == "completed"


async def test_used_up_tools_are_taken_away(team: Make, play: Make, unit: Unit) -> None:
    """After `tool_calls` the model must answer, and is told so; the tools stay in the request."""
    role = with_tools(limits={"tool_calls": 2})
    made = team(role, [], "explorer", tools=TOOLS, inputs=INPUTS)
    said = [calling("head", '{"n": 1}'), calling("head", '{"n": 2}'), "done"]
    run = await play(made, {"explorer": said}, unit=unit)
    assert [request.must_answer for request in run.requests] == [False, False, True]
    assert "all 2 tool calls" in run.requests[-1].messages[-1].content
    assert run.outcome.status == "completed"


async def test_calls_beyond_the_limit_in_one_reply_are_refused(
    team: Make, play: Make, unit: Unit
) -> None:
    """Three calls in one reply, two allowed: the third is refused, each call has its result."""
    role = with_tools(limits={"tool_calls": 2})
    made = team(role, [], "explorer", tools=TOOLS, inputs=INPUTS)
    calls = [calling("head", f'{{"n": {number + 1}}}', number)[0] for number in range(3)]
    run = await play(made, {"explorer": [calls, "done"]}, unit=unit)
    refused = [
        entry.refused for entry in run.journal.entries.values() if isinstance(entry, ToolEntry)
    ]
    assert refused == ["", "", "limit"]


async def test_a_repeated_call_is_refused_and_counted(team: Make, play: Make, unit: Unit) -> None:
    """`repeated_calls: 2`: the third call with the same arguments is refused."""
    role = with_tools(limits={"repeated_calls": 2})
    made = team(role, [], "explorer", tools=TOOLS, inputs=INPUTS)
    said = [calling("head", '{"n": 1}')] * 3 + ["done"]
    run = await play(made, {"explorer": said}, unit=unit)
    refused = [
        entry.refused for entry in run.journal.entries.values() if isinstance(entry, ToolEntry)
    ]
    assert refused == ["", "", "repeated"]


async def test_a_prompt_may_call_a_tool(team: Make, play: Make, unit: Unit) -> None:
    """`tool.columns()` in a template is called when the prompt is rendered, and recorded."""
    prompt = "Columns: {% for c in tool.columns().columns %}{{ c.name }} {% endfor %}"
    made = team(with_tools(prompt=prompt), [], "explorer", tools=TOOLS, inputs=INPUTS)
    run = await play(made, {}, unit=unit)
    assert "name score" in run.requests[0].messages[-1].content
    called = [entry for entry in run.journal.entries.values() if isinstance(entry, ToolEntry)]
    assert called[0].prompt is True


async def test_an_unreadable_reply_is_asked_again_with_the_reason(team: Make, play: Make) -> None:
    """The model is told what was wrong; how each reply was read is on record."""
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    made = team({"a": {"output": schema}}, [], "a")
    run = await play(made, {"a": ["no idea", '{"n": "x"}', '```json\n{"n": 3}\n```']})
    assert run.outcome.answer.value == {"n": 3}
    reads = [entry.read for entry in run.journal.entries.values() if isinstance(entry, CallEntry)]
    assert [read.get("problem") for read in reads] == ["no json", "invalid", None]
    assert reads[-1]["how"] == "fenced"
    assert "could not be used" in run.requests[1].messages[-1].content


async def test_repairs_are_bounded_and_nothing_is_invented(team: Make, play: Make) -> None:
    """After `repair_attempts` the turn fails; two repairs make three calls."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    made = team({"a": {"output": schema}}, [], "a")
    run = await play(made, {"a": ["no"]})
    assert len(run.requests) == 3
    assert run.outcome.status == "failed"
    assert run.outcome.answer is None
    assert "unreadable reply" in run.outcome.reason


async def test_a_cut_reply_is_never_completed(team: Make, play: Make) -> None:
    """Case 20: the object was not closed by the model: truncated, asked again."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    made = team({"a": {"output": schema}}, [], "a")
    cut = Completion(text='{"n": 15', stop="length")
    run = await play(made, {"a": [cut, '{"n": 1500}']})
    assert run.outcome.answer.value == {"n": 1500}


def used(tokens: int) -> Completion:
    """A reply that used tokens."""
    return Completion(text="fine", usage=TokenUsage(input=tokens))


@pytest.mark.parametrize(
    ("limit", "status", "turns"), [(29, "stopped", 3), (30, "completed", 3), (20, "stopped", 2)]
)
async def test_tokens_equal_to_the_need_complete(
    team: Make, play: Make, limit: int, status: str, turns: int
) -> None:
    """Three turns of ten tokens: 30 is enough, 29 is overrun, 20 leaves no call to begin."""
    links = [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}]
    made = team(["a", "b", "c"], links, "c", limits={"tokens": limit})
    run = await play(made, lambda _: used(10))
    assert run.outcome.status == status
    assert run.outcome.tokens == 10 * turns
    assert run.outcome.reason == ("tokens" if status == "stopped" else "")
    assert (run.outcome.answer is None) is (status == "stopped")


async def test_seconds_are_those_on_record(team: Make, play: Make) -> None:
    """Side by side the longest turn counts, one after the other the sum; replays agree."""

    def slow(request: Request) -> Completion:
        seconds = {"a": 1.0, "b": 4.0, "c": 2.0}[request.labels.role]
        return Completion(text="fine", service_seconds=seconds)

    links = [{"from": "a", "to": "c"}, {"from": "b", "to": "c"}]
    made = team(["a", "b", "c"], links, "c", limits={"seconds": 6})
    run = await play(made, slow)
    assert run.outcome.status == "completed"
    assert run.outcome.seconds == 6.0
    tight = await play(team(["a", "b", "c"], links, "c", limits={"seconds": 5}), slow)
    assert (tight.outcome.status, tight.outcome.reason) == ("stopped", "seconds")


async def test_a_stopped_run_keeps_its_last_output_as_no_answer(team: Make, play: Make) -> None:
    """What it had written can be looked at; it is not reported as an answer."""
    made = team(
        ["writer", "boss"],
        [{"from": "boss", "to": "writer", "kind": "authority"} | {"cap": 3}],
        "writer",
        limits={"turns": 3},
    )
    run = await play(made, {"boss": [{"action": "revise", "reason": "more"}]})
    assert run.outcome.status == "stopped"
    assert run.outcome.answer is None
    assert run.outcome.last.copy == "writer"


async def test_killed_before_routing(team: Make, play: Make) -> None:
    """Case 90: killed after the writer's answer, before the next edge: only the critic is asked."""
    schema = {"type": "object", "properties": {"next": {"type": "string"}}, "required": ["next"]}
    roles = {"lead": {}, "writer": {"output": schema}, "critic": {}}
    links = [
        {"from": "lead", "to": "writer"},
        {"from": "writer", "to": "critic", "when": "draft"},
    ]
    made = team(roles, links, "critic")
    replies = {"writer": [{"next": "draft"}]}
    whole = await play(made, replies)
    first_two = list(whole.journal.entries.values())[:2]
    resumed = await play(made, replies, journal=MemoryJournal.of(first_two))
    assert [request.labels.role for request in resumed.requests] == ["critic"]
    assert resumed.outcome.events == whole.outcome.events


async def test_braces_in_prompts_stay(team: Make, play: Make) -> None:
    """Case 08: only placeholders are replaced; values are not expanded again."""
    prompt = (
        "Choose a column for {{ topic }}.\n"
        'Answer only with JSON such as {"action": "query", "args": {"column": "age"}}.\n'
        "A set in maths: {1, 2, 3}. An empty one: {}. A lone brace: {\n"
        "A price: $5, a shell word: ${HOME}, a percent: 100%, a format: %s.\n"
    )
    made = team({"picker": {"prompt": prompt}}, [], "picker")
    unit = Unit(id="u", inputs={"topic": "{{ vars }} income"})
    run = await play(made, {}, unit=unit)
    assert run.requests[0].messages[-1].content == prompt.replace(
        "{{ topic }}", "{{ vars }} income"
    ).rstrip("\n")


async def test_parallel_writes_are_read_in_declared_order(team: Make, play: Make) -> None:
    """Case 81: whatever the delays, the reader's prompt has the same bytes."""
    import asyncio

    links = [{"from": "s", "to": name} for name in "pqr"]
    links += [{"from": name, "to": "j"} for name in "pqr"]
    prompts = set()
    for delays in ((60, 5, 30), (5, 60, 30), (0, 0, 0)):

        async def answer(request: Request, delays: tuple[int, ...] = delays) -> str:
            role = request.labels.role
            for _ in range(delays["pqr".index(role)] if role in "pqr" else 0):
                await asyncio.sleep(0)
            return role.upper()

        run = await play(team(["s", "p", "q", "r", "j"], links, "j"), answer)
        prompts.add(run.prompts("j")[0])
    assert len(prompts) == 1
    text = prompts.pop()
    assert text.index("P") < text.index("Q") < text.index("R")


async def test_equal_calls_of_one_tick_are_reported_apart(team: Make, play: Make) -> None:
    """Replicas ask the same and get replies of their own."""
    run = await play(team({"voter": {"replicas": 3}}, [], "voter"), lambda r: r.identity)
    assert len(set(run.outcome.answer.value)) == 3
    again = await play(team({"voter": {"replicas": 3}}, [], "voter"), lambda r: r.identity)
    assert again.outcome.answer.value == run.outcome.answer.value


async def test_seeds_units_and_replicates_change_the_sampling_seed(team: Make, play: Make) -> None:
    """The identity holds root seed and unit; a written seed is mixed in."""
    made = team(["a"], [], "a")
    seeds = set()
    for seed in (1, 2):
        for name in ("u1", "u2"):
            unit = Unit(id=name, inputs={"topic": "tea"})
            run = await play(made, {}, unit=unit, seed=seed)
            seeds.add(run.requests[0].seed)
    assert len(seeds) == 4


async def test_a_template_of_the_author_that_fails_fails_the_turn(team: Make, play: Make) -> None:
    """A prompt, or an overridden template of the engine, that cannot be rendered on its values."""
    broken = {"prompt": "{{ topic.no.such }}"}
    run = await play(team({"a": broken}, [], "a"), {})
    assert run.outcome.status == "failed"
    assert run.outcome.reason.startswith("a: prompt: the prompt could not be rendered")
    boss = {"from": "boss", "to": "a", "kind": "authority", "cap": 1}
    templates = {"powers": "{{ cap.no.such }}"}
    made = team(["a", "boss"], [boss], "a", templates=templates)
    run = await play(made, {})
    assert run.outcome.status == "failed"
    assert "template powers" in run.outcome.reason


async def test_a_refusal_is_an_outcome_of_its_own(
    team: Callable[..., Team], play: Callable[..., Any]
) -> None:
    """A model that refuses is asked once, and fails its turn as `refusal`: no answer, no error of ours."""
    refused = Completion(text="I will not.", stop="refusal", usage=TokenUsage(output=4))
    played = await play(team(["writer"], [], "writer"), lambda _: refused)
    assert (played.outcome.status, len(played.requests)) == ("failed", 1)
    assert played.outcome.reason == 'writer: refusal: the model refused: "I will not."'
    assert played.outcome.tokens == 4


async def test_case_37_a_prompt_that_is_too_long_names_role_and_step(
    team: Make, play: Make, unit: Unit
) -> None:
    """After a tool's result has grown the conversation: which turn, which call, and the numbers."""

    def answer(request: Request) -> Any:
        if request.labels.call:
            raise ContextOverflow("564 tokens are asked of 512", needed=564, window=512)
        return calling("head", "{}")

    made = team(with_tools(), [], "explorer", tools=TOOLS, inputs=INPUTS)
    run = await play(made, answer, unit=unit)
    assert run.outcome.status == "failed"
    assert run.outcome.reason == (
        "explorer: context overflow: explorer, visit 1, call 1: 564 tokens are asked of 512"
    )
    assert len(run.requests) == 2
