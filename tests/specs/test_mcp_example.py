"""The shipped example of an MCP server's tools runs as its README says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import orglab

SPECS = Path(__file__).parents[2] / "specs/mcp"

pytestmark = [
    pytest.mark.timeout(120),  # processes, on a machine that may be busy
    pytest.mark.skipif(
        importlib.util.find_spec("mcp") is None
        or importlib.util.find_spec("mcp_server_time") is None,
        reason="needs orglab[mcp] and mcp-server-time",
    ),
]


def test_a_role_has_the_tools_of_a_server(tmp_path: Path) -> None:
    """One process serves prompt and models over stdio; the zones come from the unit."""
    team = orglab.load(SPECS / "meeting.yaml", trust=True)
    assert team.topology.roles["scheduler"].tools == (
        "clock_get_current_time",
        "clock_convert_time",
    )
    study = orglab.run(
        team, inputs={"topic": "tea", "here": "Europe/Berlin", "there": "Asia/Tokyo"}, out=tmp_path
    )
    (record,) = study.records()
    assert record.status == "completed", record.reason
    first, *others = record.tool_calls
    assert first.result["target"]["timezone"] == "Asia/Tokyo"
    assert {call.tool for call in others} <= {"clock_get_current_time", "clock_convert_time"}
    assert any(call.tool == "clock_get_current_time" and not call.error for call in others)
