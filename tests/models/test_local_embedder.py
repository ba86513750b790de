"""Searching by meaning with the real local model's vectors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orglab.engine.tools.records.search_records import SearchRecords

pytest.importorskip("llama_cpp", reason="the local model needs orglab[llama]")

RECORDS = [
    {"id": "fan", "body": "The fans are very loud when the machine works hard."},
    {"id": "battery", "body": "The battery lasts the whole day."},
    {"id": "screen", "body": "The screen is bright and the colours are good."},
]


@pytest.mark.models
@pytest.mark.timeout(300)
async def test_the_real_model_finds_the_same_text_first(tmp_path: Path) -> None:
    """A text is nearest to itself, whatever stands beside it; the same search gives the same."""
    file = tmp_path / "records.jsonl"
    file.write_text("".join(f"{json.dumps(one)}\n" for one in RECORDS), encoding="utf-8")
    embed = {"provider": "llama", "model": "smollm2"}
    tool = SearchRecords(file=file, text="body", by="meaning", embed=embed)
    assert "llama smollm2" in tool.description
    for record in RECORDS:
        found = await tool.call({"query": record["body"]})
        assert found["records"][0]["id"] == record["id"]
        assert found["records"][0]["score"] == pytest.approx(1, abs=1e-5)
        assert found["records"][1]["score"] < 0.999
        assert await tool.call({"query": record["body"]}) == found
