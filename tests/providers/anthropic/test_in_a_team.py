"""A team whose model speaks the Messages API: tools, a schema, a review, a repair, money."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orglab.api import run_async

SPEC = """\
kind: topology
version: 1
name: wired
inputs: {{table: {{type: string, format: file}}}}
models:
  m:
    provider: anthropic
    model: wire-model
    base_url: "{address}"
    structure: format
    params: {{max_output_tokens: 100}}
    price: {{input: 10, output: 20, cached_input: 1, cache_write: 12.5}}
tools: {{head: {{use: head, with: {{file: "{{{{ table }}}}"}}}}}}
roles:
  counter:
    model: m
    prompt: How many rows?
    tools: [head]
    limits: {{tool_calls: 1}}
    output:
      type: object
      properties: {{rows: {{type: integer}}}}
      required: [rows]
      additionalProperties: false
output: counter
"""


async def test_a_team_runs_to_its_answer(wire: Any, made: Any, tmp_path: Path) -> None:
    """The conversation alternates, tools and repairs included, and every token is paid."""
    (tmp_path / "t.csv").write_text("a\n1\n2\n", encoding="utf-8")
    spec = tmp_path / "wired.yaml"
    spec.write_text(SPEC.format(address=wire.server.base_url), encoding="utf-8")
    blocks = (made.thinking("look first"), made.use("head", '{"rows": 2}', identity="toolu_7"))
    wire.answer(
        made.error(529, "Overloaded", kind="overloaded_error", headers={"retry-after-ms": "1"}),
        made.message(*blocks, stop="tool_use", read=100, written=20),
        made.message('{"rows": "two"}', read=50, written=10, cache_read=100),
        made.message('{"rows": 2}', read=60, written=10, cache_written=40),
    )
    inputs = {"table": str(tmp_path / "t.csv")}
    study = await run_async(spec, inputs=inputs, out=tmp_path / "study", cache=False)
    [record] = list(study.records())
    assert (record.status, record.answer and record.answer.value) == ("completed", {"rows": 2})
    assert [call.attempts for call in record.calls] == [2, 1, 1]
    roles = [[turn["role"] for turn in body["messages"]] for body in wire.bodies[1:]]
    assert roles == [["user"], ["user", "assistant", "user"], ["user", "assistant"] * 2 + ["user"]]
    assert wire.bodies[2]["messages"][1]["content"][0]["type"] == "thinking"
    assert wire.bodies[2]["tool_choice"] == {"type": "none"}
    expected = [100 * 10 + 20 * 20, 50 * 10 + 100 * 1 + 10 * 20, 60 * 10 + 40 * 12.5 + 10 * 20]
    paid = [round((call.cost_usd or 0) * 1e6, 6) for call in record.calls]
    assert paid == expected
    tokens = sum(call.tokens["input"] + call.tokens["output"] for call in record.calls)
    counts = wire.server.counts
    assert tokens == counts.input + counts.output
