"""What simulated models search for, check, and report of it."""

from __future__ import annotations

import json
from typing import Any

from orglab.providers.base import Message, Request, ToolCall, ToolDefinition
from orglab.providers.simulated.claims import (
    ClaimHints,
    checked_claims,
    stated_claims,
    subject_words,
)
from orglab.providers.simulated.provider import SimulatedProvider
from orglab.providers.simulated.schema_sampler import NOTHING

TEXT = {"type": "string"}
TASK = Message(role="system", content="Search each time for another subject: heat and fans, battery, drivers, whatever.")  # fmt: skip
REPORT = Message(
    role="user", content="## Report\n\n- cpu: Core i5\n\nIt is loud. Customers return it."
)


def tool(name: str, required: str, **fields: Any) -> ToolDefinition:
    """A tool."""
    schema = {"type": "object", "properties": fields, "required": [required], "additionalProperties": False}  # fmt: skip
    return ToolDefinition(name=name, description="Searches.", parameters=schema)


def exchange(name: str, arguments: dict[str, Any], result: dict[str, Any]) -> tuple[Message, Message]:  # fmt: skip
    """A call with its result."""
    call = ToolCall(id=json.dumps(arguments), name=name, arguments=json.dumps(arguments))
    answer = Message(role="tool", content=json.dumps(result), tool_call_id=call.id)
    return Message(role="assistant", content="", tool_calls=(call,)), answer


def test_subjects_are_what_the_task_lists() -> None:
    """Less those that were searched for; a task without a list gives its words."""
    assert subject_words([TASK]) == ["heat and fans", "battery", "drivers"]
    searched = exchange("search", {"query": "battery"}, {})
    assert subject_words([TASK, *searched]) == ["heat and fans", "drivers"]
    assert subject_words([Message(role="user", content="Compare films.")]) == ["films"]
    assert subject_words([]) == ["task"]


async def test_a_search_asks_for_a_subject() -> None:
    """An id that need not be given is left out."""
    searches = (tool("search", "query", query=TEXT, id=TEXT),)
    provider = SimulatedProvider.from_spec("", {"profile": {"looks_first": 1}})
    asked = Request(model="", identity="s", messages=(TASK, REPORT), tools=searches)
    (call,) = (await provider.complete(asked)).tool_calls
    assert json.loads(call.arguments)["query"] in subject_words([TASK])
    assert "id" not in json.loads(call.arguments)


def test_claims_to_check_are_what_was_said() -> None:
    """Specifications and sentences, as long as there are any that were not checked."""
    claims = stated_claims([TASK, REPORT])
    assert claims == ["The cpu is Core i5.", "Customers return it."]
    observed = exchange("verify", {}, {"claim": claims[0], "verdict": "supported"})
    assert stated_claims([REPORT, *observed]) == claims[1:]


def test_a_report_on_claims_says_what_the_tool_said() -> None:
    """Each claim once, with the tool's verdict; publishable unless one is contradicted."""
    schema = {"type": "array", "items": {"type": "object", "properties": {"claim": TEXT, "verdict": {"enum": ["supported", "contradicted"]}, "evidence": TEXT}}}  # fmt: skip
    good = exchange(
        "verify", {"n": 1}, {"claim": "It is so.", "verdict": "supported", "reason": "Yes."}
    )
    bad = exchange("verify", {"n": 2}, {"claim": "It is not.", "verdict": "contradicted"})
    hints = ClaimHints([REPORT, *good, *good])
    made = [{"claim": "It is so.", "verdict": "supported", "evidence": "Yes."}]
    assert hints("claims", schema) == made == checked_claims([*good])
    assert hints("publishable", {"type": "boolean"}) is True
    assert ClaimHints([*good, *bad])("publishable", {"type": "boolean"}) is False
    assert ClaimHints([REPORT])("claims", schema) is NOTHING
    assert hints("claims", {**schema, "minItems": 5}) is NOTHING
