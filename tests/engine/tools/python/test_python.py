"""Functions of the user's as tools: what a model is told, what is frozen, what goes wrong."""

from __future__ import annotations

import re
import threading
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

import orglab
from orglab.engine.spec.validate.tool_sources import ask_source, made_source
from orglab.engine.tools.python.tool import PythonFunction
from orglab.engine.tools.source_pool import SourcePool
from orglab.providers.base import ToolError
from orglab.providers.registry import load_plugin
from orglab.results.store.group_commit import StoreError

LOOKUP = '''\
from dataclasses import dataclass
from typing import Annotated, Any, Literal
import sys, threading


def price(
    product: Annotated[str, "its name"],
    currency: Literal["EUR", "USD"] = "EUR",
    amounts: list[int] | None = None,
    more: dict[str, float | str] | None = None,
) -> dict:
    """The price of a product.

    In cents.
    """
    return {"product": product, "currency": currency, "price": 350}


async def soon(x: int) -> int:
    """Later."""
    return x + 1


def refuse(why: str) -> str:
    """Refuses."""
    from orglab.providers.base import ToolError
    raise ToolError(why)


def crash() -> str:
    """Crashes."""
    raise KeyError("gone")


def leave() -> str:
    """Leaves the process."""
    sys.exit(4)


def never() -> str:
    """Never ends."""
    threading.Event().wait()


def odd() -> Any:
    """What JSON does not know."""
    return {"nan": float("nan"), "set": {1}, "text": "x" * 5000}


def plain() -> list[int]:
    """A list."""
    return [1, 2]


def bare(x):
    """No hints."""


def silent(x: int) -> int:
    return x


def many(*x: int) -> int:
    """Any number."""


def strange(x: threading.Thread) -> int:
    """A hint that JSON does not know."""
'''
TEAM = """\
kind: topology
version: 1
name: team
inputs: {p: {type: string}}
models: {m: {provider: simulated}}
tools:
  price: {use: python, with: {function: "lookup:price", arguments: {product: "{{ p }}"}}}
roles: {w: {prompt: "It costs {{ tool.price(currency='USD').price }} cents.", tools: [price]}}
output: w
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A spec's folder with a module and a team."""
    (tmp_path / "lookup.py").write_text(LOOKUP, "utf-8")
    (tmp_path / "team.yaml").write_text(TEAM, "utf-8")
    return tmp_path


async def called(folder: Path, name: str, arguments: dict[str, Any], **settings: Any) -> Any:
    """What one call gives."""
    written = {"function": f"lookup:{name}", **settings}
    frozen = ask_source(name, PythonFunction, written, folder)
    return await PythonFunction(**written).open(folder, frozen).call(name, arguments)


def test_a_signature_is_a_small_closed_schema(folder: Path) -> None:
    """Hints, defaults and remarks; the docstring is the description."""
    frozen = ask_source("p", PythonFunction, {"function": "lookup:price"}, folder)
    assert list(frozen["tools"]) == ["p"]
    tool = frozen["tools"]["p"]
    assert tool["description"] == "The price of a product.\n\nIn cents."
    assert tool["parameters"] == {
        "type": "object",
        "properties": {
            "product": {"type": "string", "description": "its name"},
            "currency": {"enum": ["EUR", "USD"], "default": "EUR"},
            "amounts": {
                "anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}],
                "default": None,
            },
            "more": {
                "anyOf": [
                    {"type": "object", "additionalProperties": {"type": ["number", "string"]}},
                    {"type": "null"},
                ],
                "default": None,
            },
        },
        "required": ["product"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("lookup", "must be `module:function`"),
        ("lookup:prise", "has no function `prise`.*`price`"),
        ("lookup:bare", "`x` has no type hint"),
        ("lookup:silent", "has no docstring"),
        ("lookup:many", "named one by one"),
        ("lookup:strange", "a hint that JSON does not know"),
        ("nowhere_at_all:f", r"no `nowhere_at_all\.py` in the spec's folder"),
        ("broken:f", r"broken\.py cannot be imported: ZeroDivisionError"),
        ("linked:f", "outside the spec's folder"),
    ],
)
def test_what_cannot_be_a_tool_is_reported(folder: Path, function: str, words: str) -> None:
    """In words, when the spec is loaded."""
    (folder / "broken.py").write_text("1 / 0", "utf-8")
    outside = folder.parent / "outside.py"
    outside.write_text(LOOKUP, "utf-8")
    (folder / "linked.py").symlink_to(outside)
    with pytest.raises(ValueError, match=words):
        ask_source("t", PythonFunction, {"function": function}, folder)


async def test_results_and_failures_are_results(folder: Path) -> None:
    """Sync and async; what raises, leaves or never ends is told to the model."""
    price = await called(folder, "price", {"product": "tea"})
    assert price == {"product": "tea", "currency": "EUR", "price": 350}
    assert await called(folder, "soon", {"x": 1}) == 2
    assert await called(folder, "plain", {}) == [1, 2]
    odd = await called(folder, "odd", {}, characters=400)
    assert (odd["nan"], odd["set"]) == ("nan", [1])
    assert "more characters" in odd["text"]
    for name, arguments, words in [
        ("refuse", {"why": "not now"}, "not now"),
        ("crash", {}, "KeyError: 'gone'"),
        ("leave", {}, "SystemExit: 4"),
    ]:
        with pytest.raises(ToolError, match=words):
            await called(folder, name, arguments)
    with pytest.raises(ToolError, match=r"no result within 0\.05 seconds"):
        await called(folder, "never", {}, seconds=0.05)
    assert threading.current_thread() is threading.main_thread()


def test_a_team_runs_with_it_and_a_changed_function_is_noticed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it is counts in the spec's hash; a study is not gone on with another function."""
    monkeypatch.chdir(folder)
    study = orglab.run("team.yaml", inputs={"p": "tea"}, trust=True)
    (record,) = study.records()
    assert record.tool_calls[0].result["currency"] == "USD"
    told = record.calls[0].request
    assert told["messages"][-1]["content"] == "It costs 350 cents."
    assert "product" not in told["tools"][0]["parameters"]["properties"]
    before = orglab.load("team.yaml", trust=True).topology
    (folder / "lookup.py").write_text(LOOKUP.replace("350", "400"), "utf-8")
    assert orglab.load("team.yaml", trust=True).topology.hash != before.hash
    with pytest.raises(StoreError, match=r"begun with other tools: `price` changed: sha256 was"):
        orglab.run("team.yaml", inputs={"p": "tea"}, trust=True)
    with pytest.raises(StoreError, match="holds runs of this spec with other tools"):
        orglab.run("team.yaml", inputs={"p": "tea"}, trust=True, out=study.folder)
    elsewhere = orglab.run("team.yaml", inputs={"p": "tea"}, trust=True, out="elsewhere")
    assert elsewhere.tally.completed == 1


async def test_a_function_that_changes_under_a_study_ends_it(folder: Path) -> None:
    """The frozen one is gone."""
    team = orglab.load(folder / "team.yaml", trust=True)
    (folder / "lookup.py").write_text(LOOKUP.replace("350", "400"), "utf-8")
    sources = SourcePool()
    with pytest.raises(ConnectionError, match="changed since this study began"):
        await sources.call(team.topology.tools["price"], {"product": "tea"}, folder=folder)


def test_an_installed_function_is_known_by_its_version(tmp_path: Path) -> None:
    """Distribution and version, and the file's content."""
    function = "orglab.engine.tools.records.bm25:stem"
    frozen = ask_source("stem", PythonFunction, {"function": function}, tmp_path)
    assert frozen["what"]["distribution"].startswith("orglab ")
    assert len(frozen["what"]["sha256"]) == 64


def test_other_faults_of_tools_from_elsewhere(folder: Path) -> None:
    """Templates where none may be, names that clash, arguments that nothing takes."""
    text = TEAM.replace("price: {use", "a_b: {use: head, with: {file: t.csv}}\n  price: {use")
    wrong = text.replace('"lookup:price"', '"lookup:{{ p }}"')
    (folder / "team.yaml").write_text(wrong, "utf-8")
    told = "\n".join(map(str, orglab.check(folder / "team.yaml", trust=True)))
    assert "`function` is the same for all units" in told
    (folder / "team.yaml").write_text(TEAM.replace("{product:", "{produkt:"), "utf-8")
    told = "\n".join(map(str, orglab.check(folder / "team.yaml", trust=True)))
    assert "`arguments` fixes `produkt`, which none of its tools takes" in told


PAGE = (Path(__file__).parents[4] / "docs/how-to/foreign-tools.md").read_text("utf-8")


def test_the_page_tells_every_setting() -> None:
    """Those of functions and those of servers; its examples have settings that there are."""
    for use in ("python", "mcp"):
        kind = load_plugin("orglab.tools", use)
        assert [one.name for one in fields(kind) if f"`{one.name}`" not in PAGE] == []
    specs = [yaml.safe_load(each) for each in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
    for declared in [one for spec in specs for one in spec["tools"].values()]:
        made_source(load_plugin("orglab.tools", declared["use"]), declared["with"])
