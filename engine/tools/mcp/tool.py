"""``mcp``: the tools of a server that speaks the Model Context Protocol, over stdio or HTTP.

The server is asked once, when the spec is loaded, what it serves; from then on its definitions are
part of the spec. A study has one session with it, opened by the first call.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import ClassVar, Final
from urllib.parse import urlsplit

from orglab.engine.spec.messages import did_you_mean
from orglab.engine.tools.bounded_json import CHARACTERS, check_bounds
from orglab.engine.tools.mcp.session import McpSession, ServerAddress, ask_server
from orglab.providers.base import JSON
from orglab.providers.tool_source import OpenSource, Served, ServedTool, ToolSource

_PYTHON: Final = frozenset({"python", "python3"})
_PROGRAMS: Final = frozenset({".cjs", ".js", ".mjs", ".pl", ".py", ".rb", ".sh", ".ts"})
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, kw_only=True)
class Mcp(ToolSource):
    """An MCP server.

    Attributes:
        command: The command that starts it, word by word, in the spec's folder; it speaks over
            stdin and stdout. ``python`` is the Python that orglab runs in.
        url: Its address, where it runs already and speaks streamable HTTP.
        env_names: Environment variables that the command gets beside PATH, HOME and the like.
        api_key_env: Environment variable whose value goes to ``url`` as a bearer token.
        only: Names of the tools to take; None: all.
        arguments: Arguments that are fixed, whatever the model asks; templates are allowed.
        seconds: After so many seconds a call is given up; so is starting.
        characters: The largest result, in characters of JSON.
    """

    many: ClassVar[bool] = True
    risk: ClassVar[str] = "starts a program of this machine, or calls a server"

    command: Sequence[str] | None = None
    url: str | None = None
    env_names: Sequence[str] = ()
    api_key_env: str | None = None
    only: Sequence[str] | None = None
    arguments: Mapping[str, JSON] = field(default_factory=dict)
    seconds: float = 60.0
    characters: int = CHARACTERS

    def __post_init__(self) -> None:
        """Refuse settings that do not go together."""
        if (self.command is None) == (self.url is None):
            raise ValueError("give either `command` (stdio) or `url` (streamable HTTP)")
        _check_texts("command", self.command)
        _check_texts("only", self.only)
        _check_variables(
            [*self.env_names, *([] if self.api_key_env is None else [self.api_key_env])]
        )
        if self.url is not None:
            _check_url(self.url)
            if self.env_names:
                raise ValueError(
                    "`env_names` goes with `command`; with `url` there is `api_key_env`"
                )
        elif self.api_key_env is not None:
            raise ValueError("`api_key_env` goes with `url`; with `command` there is `env_names`")
        check_bounds(self.seconds, self.characters)

    def served(self, folder: Path) -> Served:
        """Start the server, ask it for its tools, and end it."""
        with ThreadPoolExecutor(max_workers=1) as thread:  # a loop may run in this one
            said = thread.submit(ask_server, self.address(folder)).result()
        return Served(
            what={**said.what, **_programs(self.command or (), folder)},
            tools=self._selected_tools(said),
        )

    def _selected_tools(self, said: Served) -> tuple[ServedTool, ...]:
        if not said.tools:
            raise ValueError("the server serves no tools")
        if self.only is None:
            return said.tools
        by_name = {tool.name: tool for tool in said.tools}
        for name in self.only:
            if name not in by_name:
                raise ValueError(
                    f"the server has no tool `{name}`; {did_you_mean(name, sorted(by_name))}"
                )
        return tuple(by_name[name] for name in dict.fromkeys(self.only))

    def open(self, folder: Path, served: Mapping[str, JSON]) -> OpenSource:
        """Return a session, begun by the first call."""
        return McpSession(
            self.address(folder),
            served,
            fixed=frozenset(self.arguments),
            characters=self.characters,
        )

    def address(self, folder: Path) -> ServerAddress:
        """Return where the server is, with the values of the variables that it gets.

        Raises:
            ValueError: A variable is not set.
        """
        if self.url is not None:
            key = _environment_value(self.api_key_env) if self.api_key_env is not None else ""
            return ServerAddress(url=self.url, key=key, seconds=self.seconds)
        first, *rest = self.command or ()
        return ServerAddress(
            command=(sys.executable if first in _PYTHON else first, *rest),
            folder=folder,
            environment={name: _environment_value(name) for name in self.env_names},
            seconds=self.seconds,
        )


def _check_texts(setting: str, words: Sequence[str] | None) -> None:
    if words is None:
        return
    if not words or not all(isinstance(word, str) and word and "\0" not in word for word in words):
        raise ValueError(f"`{setting}` must be a list of texts, none of them empty")


def _check_variables(names: Sequence[str]) -> None:
    for name in names:
        if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
            raise ValueError("an environment variable is named by letters, digits and `_`")


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ValueError(f"`url`: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("`url` must begin with http:// or https:// and name a host")
    if "@" in parts.netloc:
        raise ValueError("`url` must not hold a name or password: write `api_key_env: NAME`")


def _environment_value(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise ValueError(f"the environment variable {name} is not set")
    return value


def _programs(command: Sequence[str], folder: Path) -> dict[str, JSON]:
    """Return digests of the programs of the spec's folder that a command names: they are the server."""
    found: dict[str, str] = {}
    root = folder.resolve()
    for word in command:
        file = (root / word).resolve()
        if file.is_relative_to(root) and file.is_file() and _is_program(file):
            found[file.relative_to(root).as_posix()] = sha256(file.read_bytes()).hexdigest()
    return {"programs": found} if found else {}


def _is_program(file: Path) -> bool:
    return file.suffix.lower() in _PROGRAMS or os.access(file, os.X_OK)
