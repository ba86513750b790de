"""docs/reference/tools.md: every example gives what the page says, and every tool and setting is told."""

import importlib.util
import json
import re
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from orglab.engine.tools.factory import make
from orglab.engine.tools.records.base import RecordsTool
from orglab.engine.tools.table.base import TableTool
from orglab.engine.tools.table.where_filter import FUNCTIONS
from orglab.providers.base import JSON
from orglab.providers.registry import load_plugin, plugin_names

PAGE = (Path(__file__).parents[3] / "docs/reference/tools.md").read_text(encoding="utf-8")
TABLE = re.search(r"```csv\n(.*?)```", PAGE, re.DOTALL)
RECORDS = re.search(r"```jsonl\n(.*?)```", PAGE, re.DOTALL)
SPECS = [yaml.safe_load(one)["tools"] for one in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
BLOCKS = [json.loads(one) for one in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
SECTIONS = re.findall(r"^### (\w+)\n(.*?)(?=^##)", PAGE, re.MULTILINE | re.DOTALL)
LLAMA = importlib.util.find_spec("llama_cpp") is not None
OURS = [
    name
    for name in plugin_names("orglab.tools")
    if issubclass(load_plugin("orglab.tools", name), TableTool | RecordsTool)
]


@pytest.mark.parametrize(
    ("call", "result"),
    list(zip(BLOCKS[::2], BLOCKS[1::2], strict=True)),
    ids=lambda one: one.get("tool", ""),
)
async def test_examples(call: JSON, result: JSON, tmp_path: Path) -> None:
    """The result beside each call is the one that the tool gives."""
    assert TABLE is not None
    assert RECORDS is not None
    (tmp_path / "films.csv").write_text(TABLE[1], encoding="utf-8")
    (tmp_path / "records.jsonl").write_text(RECORDS[1], encoding="utf-8")
    settings = {"file": "films.csv"}
    if issubclass(load_plugin("orglab.tools", call["tool"]), RecordsTool):
        settings = SPECS[1][call["tool"]]["with"]
    tool = make(call["tool"], settings, resolve=lambda text: tmp_path / text)
    assert await tool.call(call["arguments"]) == result


def test_the_specs_of_the_page_make_their_tools() -> None:
    """What the page shows can be copied; local weights are there with `orglab[llama]` alone."""
    for declared in [one for tools in SPECS for one in tools.values()]:
        if declared["with"].get("embed", {}).get("provider") == "llama" and not LLAMA:
            continue
        make(declared["use"], declared["with"], resolve=Path)


def test_every_tool_and_no_other_has_a_section() -> None:
    """In it stand its arguments, and the settings that are its own."""
    assert sorted(name for name, _ in SECTIONS) == sorted(OURS)
    for name, section in SECTIONS:
        tool = load_plugin("orglab.tools", name)
        shared = {
            one.name for one in fields(RecordsTool if issubclass(tool, RecordsTool) else TableTool)
        }
        told = [*tool.parameters["properties"], *({one.name for one in fields(tool)} - shared)]
        assert [one for one in told if not re.search(rf"\b{one}\b", section)] == []
    settings = [one.name for kind in (RecordsTool, TableTool) for one in fields(kind)]
    assert [one for one in settings if f"| `{one}` |" not in PAGE] == []


def test_every_function_of_conditions_is_reported() -> None:
    """The list of the page is the list of the language."""
    told = PAGE.partition("- Functions:")[2].partition("\n- **")[0]
    assert [one for one in FUNCTIONS if not re.search(rf"\b{one}\b", told)] == []
