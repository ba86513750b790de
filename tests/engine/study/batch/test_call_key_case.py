"""Case 84: what belongs in the key of a kept reply, row by row of the stored table."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml
from case_files import case_folder

import orglab
from orglab.engine.run.outcome import Unit
from orglab.providers.base import Completion, Provider, Request, TokenUsage, ToolCall

TABLE = case_folder("84-cache-key-parts") / "pairs.csv"

Change = Mapping[str, Any]
"""Values by path; the list under "drop" names what is taken away."""

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}

SPEC: Mapping[str, Any] = {
    "kind": "topology",
    "version": 1,
    "name": "team",
    "inputs": {"topic": {"type": "string"}, "table": {"type": "string", "format": "file"}},
    "models": {
        "m": {
            "provider": "openai",
            "model": "one",
            "base_url": "http://127.0.0.1:1/v1",
            "params": {"temperature": 0, "max_output_tokens": 50, "seed": 4, "stop": ["X"]},
        }
    },
    "tools": {
        "known": {"use": "get_schema", "with": {"file": "{{ table }}"}},
        "other": {"use": "head", "with": {"file": "{{ table }}"}},
        "price": {"use": "python", "with": {"function": "lookup:price"}},
    },
    "roles": {"w": {"model": "m", "prompt": "Of {{ topic }}.", "tools": ["known", "price"]}},
    "output": "w",
}

ROWS: Mapping[str, Change] = {
    "same request twice": {},
    "model name differs": {"models.m.model": "two"},
    "base_url differs, same model name": {"models.m.base_url": "http://127.0.0.1:2/v1"},
    "provider kind differs (openai-compatible / llama-cpp)": {"models.m.provider": "anthropic"},
    "system prompt differs by one blank": {"roles.w.prompt": "Of  {{ topic }}."},
    "temperature 0 against 0.0": {"models.m.params.temperature": 0.0},
    "temperature 0 against not set": {"drop": "models.m.params.temperature"},
    "max_tokens differs": {"models.m.params.max_output_tokens": 51},
    "seed differs": {"models.m.params.seed": 5},
    "stop list differs": {"models.m.params.stop": ["Y"]},
    "response_format / schema differs": {"roles.w.output": SCHEMA},
    "tool list differs": {"roles.w.tools": ["known", "price", "other"]},
    "tool description differs": {"lookup": "Tells a price."},
    "order of keys in a JSON body differs": {
        "models.m.params": {"stop": ["X"], "seed": 4, "max_output_tokens": 50, "temperature": 0}
    },
    "repeat index differs (repeats: 5)": {"replicates": 2},
    "request timeout differs": {"models.m.timeout_seconds": 9},
    "api key differs": {"models.m.api_key_env": "ORGLAB_TEST_KEY"},
    "max_parallel differs": {"models.m.max_concurrency": 1},
    "text é as one or two code points": {"topic": "cafe\N{COMBINING ACUTE ACCENT}"},
    "role name differs, same messages": {
        "roles": {"v": {"model": "m", "prompt": "Of {{ topic }}.", "tools": ["known", "price"]}},
        "output": "v",
    },
    "dataset file changed, same messages sent": {"table": "a,b\n1,2\n"},
    "product version changed the prompt template": {"roles.w.prompt": "Of {{ sight }}."},
}
"""What each row of the table changes."""

ELSEWHERE = {
    "local model file changed under the same path",  # tests/engine/spec/test_weights.py
    "order of messages differs",  # below
    "retry number differs",  # each reply here is that of a third attempt
    "judge model differs, team model the same",  # test_kept.py
}


class Hosted(Provider):
    """A model that bills, answers at the third attempt, and may ask for a tool first."""

    kept: ClassVar[bool] = True

    def __init__(self, *, tool: str = "") -> None:
        self.requests: list[Request] = []
        self.tool = tool

    @classmethod
    def from_spec(cls, model: str, options: Mapping[str, Any]) -> Hosted:
        """Never asked for: tests hand it over."""
        raise NotImplementedError

    async def complete(self, request: Request) -> Completion:
        """Counts, and answers."""
        self.requests.append(request)
        if self.tool and request.messages[-1].role == "user":
            call = ToolCall(id="1", name=self.tool, arguments="{}")
            return Completion(text="", tool_calls=(call,), stop="tool_calls")
        text = '{"a": "b"}' if request.schema else f"reply {len(self.requests)}"
        return Completion(text=text, usage=TokenUsage(input=2, output=1), attempts=3)


def changed(change: Change) -> dict[str, Any]:
    """The spec with one row's difference."""
    spec: dict[str, Any] = yaml.safe_load(yaml.safe_dump(dict(SPEC), sort_keys=False))
    for path, value in change.items():
        *above, last = (value if path == "drop" else path).split(".")
        place = spec
        for name in above:
            place = place[name]
        if path == "drop":
            del place[last]
        elif path not in ("lookup", "topic", "table", "replicates"):
            place[last] = value
    return spec


def asked(folder: Path, name: str, change: Change, model: Hosted) -> int:
    """How many requests a study of the spec makes, beside the studies that are there."""
    here = folder / name
    here.mkdir()
    told = change.get("lookup", "Tells the price.")
    code = f'def price(shop: str) -> str:\n    """{told}"""\n    return "3"\n'
    (here / "lookup.py").write_text(code, encoding="utf-8")
    text = yaml.safe_dump(changed(change), sort_keys=False, allow_unicode=True)
    (here / "team.yaml").write_text(text, encoding="utf-8")
    table = here / "table.csv"
    table.write_text(change.get("table", "a\n1\n"), encoding="utf-8")
    topic = change.get("topic", "caf\N{LATIN SMALL LETTER E WITH ACUTE}")
    inputs = {"topic": topic, "table": "table.csv"}
    unit = Unit(id="u", inputs=inputs, index=0, files={"table.csv": table})
    study = orglab.run(
        here / "team.yaml",
        units=[unit],
        replicates=change.get("replicates", 1),
        out=folder / "runs" / name,
        providers={"*": model},
        trust=True,
    )
    assert (study.tally.failed, study.tally.stopped) == (0, 0)
    return len(model.requests)


def test_what_may_share_a_kept_reply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A study that differs from one before in a single row asks exactly where the table says no."""
    monkeypatch.setenv("ORGLAB_TEST_KEY", "sk-planted-0123456789")
    with TABLE.open(encoding="utf-8", newline="") as file:
        table = dict(list(csv.reader(file))[1:])
    assert set(table) == set(ROWS) | ELSEWHERE
    assert asked(tmp_path, "first", {}, Hosted()) == 1
    for at, (row, change) in enumerate(ROWS.items()):
        found = asked(tmp_path, f"row{at}", change, Hosted())
        assert found == (0 if table[row].startswith("yes") else 1), row
    kept = (tmp_path / "runs/calls.sqlite").read_bytes()
    assert b"sk-planted" not in kept


def test_a_tool_s_result_has_a_key_of_its_own(tmp_path: Path) -> None:
    """Another table: the first call is taken, the one that follows the tool's result is made."""
    assert asked(tmp_path, "first", {}, Hosted(tool="known")) == 2
    assert asked(tmp_path, "same", {}, Hosted(tool="known")) == 0
    assert asked(tmp_path, "other", {"table": "a,b\n1,2\n"}, Hosted(tool="known")) == 1


def test_the_order_of_messages_is_part_of_the_key(tmp_path: Path) -> None:
    """The same two messages the other way round are another call."""
    two = ["known", "price"]
    for at, (system, prompt) in enumerate([("A", "B"), ("B", "A")]):
        roles = {"w": {"model": "m", "system": system, "prompt": prompt, "tools": two}}
        assert asked(tmp_path, f"order{at}", {"roles": roles}, Hosted()) == 1
