"""The tools of MCP servers: frozen, named, called, and what goes wrong; over stdio and over HTTP."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from mcp.types import CallToolResult, TextContent

import orglab
from orglab.engine.spec.errors import SpecError
from orglab.engine.spec.validate.tool_sources import ask_source
from orglab.engine.tools.mcp.result import result_of
from orglab.engine.tools.mcp.session import ServerAddress
from orglab.engine.tools.mcp.tool import Mcp
from orglab.providers.base import ToolError
from orglab.providers.tool_source import OpenSource

pytest.importorskip("mcp", reason="needs the extra `mcp`")

HERE = Path(__file__).with_name("serving.py")
COMMAND = ["python", "serving.py"]
TEAM = """\
kind: topology
version: 1
name: team
inputs: {{a: {{type: integer}}}}
models: {{m: {{provider: simulated}}}}
tools: {{sums: {{use: mcp, with: {{{where}, only: [add, fail], arguments: {{b: "{{{{ a }}}}"}}}}}}}}
roles: {{w: {{prompt: "The sum is {{{{ tool.sums_add(a=2) }}}}", tools: [sums]}}}}
output: w
"""

pytestmark = pytest.mark.timeout(120)  # processes, on a machine that may be busy


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the server."""
    made = tmp_path_factory.mktemp("served")
    shutil.copy(HERE, made / "serving.py")
    return made


@pytest.fixture(scope="module")
def frozen(folder: Path) -> Mapping[str, Any]:
    """What the server says over stdio."""
    return ask_source("s", Mcp, {"command": COMMAND}, folder)


def opened(folder: Path, frozen: Mapping[str, Any], **settings: Any) -> OpenSource:
    """A session, not yet begun."""
    return Mcp(command=COMMAND, **settings).open(folder, frozen)


@pytest_asyncio.fixture(loop_scope="function")
async def session(folder: Path, frozen: Mapping[str, Any]) -> AsyncIterator[OpenSource]:
    """A session, ended afterwards."""
    made = opened(folder, frozen, characters=300)
    yield made
    await made.aclose()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The same server over HTTP, on loopback."""
    spec = importlib.util.spec_from_file_location("serving", HERE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with module.served() as address:
        yield address


def test_what_a_server_is_and_serves_is_frozen(frozen: Mapping[str, Any]) -> None:
    """Name, version, program by content; definitions under names that providers take."""
    assert frozen["what"]["server"] == {"name": "tester", "version": "1.0"}
    assert list(frozen["what"]["programs"]) == ["serving.py"]
    assert list(frozen["tools"]) == [
        *("s_add", "s_variables", "s_much", "s_fail", "s_wait_long", "s_break_off"),
    ]
    assert frozen["tools"]["s_break_off"]["tool"] == "break.off"
    add = frozen["tools"]["s_add"]
    assert add["description"] == "Adds two numbers."
    assert add["parameters"]["required"] == ["a", "b"]


async def test_a_session_serves_many_calls_and_survives_what_goes_wrong(
    session: OpenSource, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Results, refusals, long results, the environment, the error stream; a crash, and after it."""
    monkeypatch.setenv("SECRET_KEY", "planted")
    assert await session.call("add", {"a": 1, "b": 2}) == {"result": 3}
    names = (await session.call("variables", {}))["result"]
    assert "PATH" in names
    assert "SECRET_KEY" not in names
    cut = await session.call("much", {"letters": 5000})
    assert cut["result"].startswith("xxx")
    assert "more characters" in cut["result"]
    with pytest.raises(ToolError, match="because"):
        await session.call("fail", {"why": "because"})
    with pytest.raises(ToolError, match="Unknown tool"):
        await session.call("nothing", {})
    with pytest.raises(ToolError, match="ended, or broke off"):
        await session.call("break.off", {})
    assert await session.call("add", {"a": 1, "b": 2}) == {"result": 3}  # begun again, once
    with pytest.raises(ToolError, match="ended, or broke off"):
        await session.call("break.off", {})
    with pytest.raises(ToolError, match="broke off twice"):
        await session.call("add", {"a": 1, "b": 2})
    assert capfd.readouterr() == ("", "")


def test_what_a_server_tells_of_its_variables_is_hidden() -> None:
    """It may say them back in results too, which are stored, and shown to models."""
    secret = "sk-planted-0123456789"
    hide = ServerAddress(command=("x",), environment={"TOKEN": secret}).hide
    said = CallToolResult(content=[TextContent(type="text", text=f"the key is {secret}")])
    assert result_of(said, 8000, hide) == {"text": "the key is [hidden]"}
    told = CallToolResult(content=[], structured_content={secret: [{"key": secret}, 1]})
    assert result_of(told, 8000, hide) == {"[hidden]": [{"key": "[hidden]"}, 1]}
    failed = said.model_copy(update={"is_error": True})
    with pytest.raises(ToolError, match=r"^the key is \[hidden\]$"):
        result_of(failed, 8000, hide)


async def test_a_changed_server_ends_the_study(
    url: str, folder: Path, frozen: Mapping[str, Any]
) -> None:
    """Another version, or a tool that is described anew, is not the frozen one."""
    server = {"name": "tester", "version": "0.9"}
    other = Mcp(url=url).open(folder, {**frozen, "what": {"server": server}})
    with pytest.raises(ConnectionError, match=r"another server .*: tester 1\.0, then tester 0\.9"):
        await other.call("add", {"a": 1, "b": 2})
    await other.aclose()
    add = {**frozen["tools"]["s_add"], "description": "Multiplies."}
    changed = Mcp(url=url).open(folder, {**frozen, "tools": {**frozen["tools"], "s_add": add}})
    with pytest.raises(ConnectionError, match="its tool `add` is not what it was"):
        await changed.call("add", {"a": 1, "b": 2})
    await changed.aclose()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "give either `command`"),
        ({"command": ["x"], "url": "http://h"}, "give either `command`"),
        ({"command": []}, "`command` must be a list of texts"),
        ({"url": "ftp://h"}, "must begin with http"),
        ({"url": "http://user:pass@h/"}, "must not hold a name or password"),
        ({"url": "http://h", "env_names": ["A"]}, "`env_names` goes with `command`"),
        ({"command": ["x"], "api_key_env": "A"}, "`api_key_env` goes with `url`"),
        ({"command": ["x"], "env_names": ["A=B"]}, "is named by letters"),
        ({"command": ["x"], "env_names": ["NOT_SET_ANYWHERE"]}, "NOT_SET_ANYWHERE is not set"),
        ({"command": ["x"], "seconds": 0}, "`seconds` must be more than 0"),
        ({"command": ["x"], "characters": 1}, "`characters` must be from 200"),
        ({"command": ["no-such-program-here"]}, "there is no such program"),
    ],
)
def test_wrong_settings_are_reported_in_words(
    tmp_path: Path, settings: dict[str, Any], words: str
) -> None:
    """Before anything is run."""
    with pytest.raises(ValueError, match=words):
        ask_source("s", Mcp, settings, tmp_path)


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    """The last line of its error stream is told, without the values of variables it was given."""
    program = "import sys; sys.exit('cannot find the moon')"
    with pytest.raises(ValueError, match="it said: cannot find the moon"):
        ask_source("s", Mcp, {"command": [sys.executable, "-c", program]}, tmp_path)


def test_over_http(url: str, tmp_path: Path) -> None:
    """A team runs with the tools of a server on loopback; arguments the spec fixes are not asked."""
    (tmp_path / "team.yaml").write_text(TEAM.format(where=f"url: '{url}'"), "utf-8")
    team = orglab.load(tmp_path / "team.yaml", trust=True)
    assert team.topology.roles["w"].tools == ("sums_add", "sums_fail")
    served = team.topology.tools["sums_add"].served
    assert served["tools"]["sums_add"]["parameters"]["required"] == ["a"]
    study = orglab.run(team, inputs={"a": 40}, out=tmp_path / "study")
    (record,) = study.records()
    assert record.status == "completed", record.reason
    assert record.tool_calls[0].result == {"result": 42}
    told = [message["content"] for message in record.calls[0].request["messages"]]
    assert 'The sum is {"result": 42}' in told[-1]


async def test_a_call_that_takes_too_long_is_given_up(url: str, folder: Path) -> None:
    """Its result says so, and the session goes on."""
    frozen = {"what": {"server": {"name": "tester", "version": "1.0"}}, "tools": {}}
    session = Mcp(url=url, seconds=0.3).open(folder, frozen)
    with pytest.raises(ToolError, match=r"no answer within 0\.3 seconds"):
        await session.call("wait_long", {})
    await session.aclose()


async def test_a_server_out_of_reach_ends_the_study(
    folder: Path, frozen: Mapping[str, Any]
) -> None:
    """In words that the command line tells."""
    session = Mcp(url="http://127.0.0.1:9/mcp").open(folder, frozen)
    with pytest.raises(ConnectionError, match=r"127\.0\.0\.1:9/mcp"):
        await session.call("add", {"a": 1, "b": 2})
    await session.aclose()


def test_without_trust_nothing_is_started(tmp_path: Path) -> None:
    """The refusal stands at its place."""
    (tmp_path / "team.yaml").write_text(TEAM.format(where="command: [touch, ran]"), "utf-8")
    (fault,) = orglab.check(tmp_path / "team.yaml")
    assert (fault.line, fault.problem.path) == (6, ("tools", "sums", "use"))
    assert "add --trust to the command" in str(fault)
    with pytest.raises(SpecError, match="only where you trust it"):
        orglab.load(tmp_path / "team.yaml")
    assert not (tmp_path / "ran").exists()


def test_names_that_lead_nowhere_or_clash_are_reported_at_their_place(
    url: str, tmp_path: Path
) -> None:
    """A tool that the server has not, one that two entries would give, a template over it."""
    text = TEAM.format(where=f"url: '{url}'").replace("tools: [sums]", "tools: [sums, sums_ad]")
    text = text.replace("tools: {sums:", "tools: {sums_fail: {use: mcp, with: {url: ''}}, sums:")
    (tmp_path / "team.yaml").write_text(text, "utf-8")
    told = "\n".join(map(str, orglab.check(tmp_path / "team.yaml", trust=True)))
    assert "roles.w.tools[1]: `sums` gives no tool `sums_ad`; did you mean `sums_add`?" in told
    assert "tools.sums: its tool `sums_fail` has the name of a tool of `sums_fail`" in told
    (tmp_path / "team.yaml").write_text(
        TEAM.format(where=f"url: '{url}'").replace("tool.sums_add(a=2)", "tool.sums_much()"),
        "utf-8",
    )
    (fault,) = orglab.check(tmp_path / "team.yaml", trust=True)
    assert "the template uses `tool.sums_much`, which w does not have" in str(fault)
