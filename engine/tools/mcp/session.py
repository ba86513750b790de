"""A session with an MCP server: one for a study, begun by the first call, begun again once.

The session lives in a task of its own, because the SDK's scopes must be left by the task that entered
them. What goes wrong in a call is the call's result; a server that cannot be reached at all, or that
is not the frozen one, ends the study in words.
"""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from orglab.engine.spec.validate.tool_sources import without_fixed
from orglab.engine.tools.mcp.result import hidden, result_of
from orglab.providers.base import JSON, ToolError
from orglab.providers.structured_output.validation import checker_for
from orglab.providers.tool_source import OpenSource, Served, ServedTool

if TYPE_CHECKING:
    from mcp import Client

_MOST_SESSIONS: Final = 2  # the first, and once again
_MOST_PAGES: Final = 100
_MOST_ERROR_TEXT: Final = 500  # characters of a server's last words
_TO_END: Final = 15.0  # seconds that a session has to end
_SHORTEST_SECRET: Final = 4
_TO_CONNECT, _TO_READ = 30.0, 300.0  # seconds; a server may hold a stream open


class ServerLost(ConnectionError):
    """Raised when a server cannot be reached at all: the study cannot go on."""


class ServerChanged(ConnectionError):
    """Raised when a server is not the one that the study has frozen."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerAddress:
    """Where a server is.

    Attributes:
        command: The command that starts it; () for ``url``.
        url: Its address.
        folder: Where the command runs.
        environment: Variables that it gets beside PATH, HOME and the like.
        key: A bearer token, "" for none.
        seconds: Seconds that a call, or starting, may take.
    """

    command: tuple[str, ...] = ()
    url: str = ""
    folder: Path = Path()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    key: str = field(default="", repr=False)
    seconds: float = 60.0

    @property
    def name(self) -> str:
        """How messages call the server."""
        return self.url or f"`{' '.join(self.command)}`"

    def hide(self, text: str) -> str:
        """Return ``text`` without the values of variables that the server got."""
        for secret in (self.key, *self.environment.values()):
            if len(secret) >= _SHORTEST_SECRET:
                text = text.replace(secret, "[hidden]")
        return text


# --- asking what it serves -----------------------------------------------------------------------


def ask_server(address: ServerAddress) -> Served:
    """Return what a server is and serves.

    Raises:
        ValueError: It cannot be started or reached, or serves what cannot be used; in words.
    """
    with tempfile.TemporaryFile() as errors:
        try:
            return asyncio.run(_query_server(address, errors))
        except Exception as fault:
            if isinstance(fault, ValueError) and not isinstance(fault, ExceptionGroup):
                raise
            words = f"{address.name}: {_error_text(fault, address)}"
            raise ValueError(words + _last_error_line(errors, address)) from None


async def _query_server(address: ServerAddress, errors: IO[bytes]) -> Served:
    async with asyncio.timeout(address.seconds), _connected(address, errors) as client:
        return await _served(client, address)


async def _served(client: Client, address: ServerAddress) -> Served:
    info = client.server_info
    tools: list[ServedTool] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="bypass")
        tools += [
            _served_tool(each.name, each.description, each.input_schema) for each in page.tools
        ]
        cursor = page.next_cursor
        if cursor is None:
            break
    server = {"name": info.name, "version": info.version} if info is not None else {}
    return Served(
        what={"server": hidden(server, address.hide)},
        tools=tuple(_without_secrets(tool, address) for tool in tools),
    )


def _without_secrets(tool: ServedTool, address: ServerAddress) -> ServedTool:
    """Hide secrets in a tool definition, which is frozen and stored."""
    return replace(
        tool,
        description=address.hide(tool.description),
        parameters=hidden(dict(tool.parameters), address.hide),
    )


def _served_tool(name: str, description: str | None, schema: Mapping[str, Any]) -> ServedTool:
    parameters = {key: value for key, value in schema.items() if key != "$schema"}
    parameters.setdefault("type", "object")
    parameters.setdefault("properties", {})
    try:
        checker_for(parameters)
    except ValueError as error:
        raise ValueError(f"the parameters of its tool `{name}`: {error}") from error
    return ServedTool(name=name, description=description or "", parameters=parameters)


@asynccontextmanager
async def _connected(address: ServerAddress, errors: IO[bytes] | int) -> AsyncIterator[Client]:
    """Yield a client that is connected to the server."""
    try:
        # Here, because the SDK takes half a second to import, and is an extra.
        import httpx2
        from mcp import Client, StdioServerParameters, stdio_client
        from mcp.client.streamable_http import streamable_http_client
    except ImportError:
        words = "the tools of MCP servers need an extra: pip install 'orglab[mcp]'"
        raise ValueError(words) from None
    # Without a handler Python would print the SDK's warnings, which quote the server.
    logging.getLogger("mcp").addHandler(logging.NullHandler())
    if address.url:
        headers = {"Authorization": f"Bearer {address.key}"} if address.key else {}
        timeout = httpx2.Timeout(_TO_CONNECT, read=_TO_READ)
        async with (
            httpx2.AsyncClient(headers=headers, timeout=timeout) as http,
            Client(streamable_http_client(address.url, http_client=http)) as client,
        ):
            yield client
        return
    first, *rest = address.command
    program = StdioServerParameters(
        command=first, args=rest, env=dict(address.environment), cwd=address.folder
    )
    async with Client(stdio_client(program, errlog=errors)) as client:  # type: ignore[arg-type]  # whatever `subprocess` takes
        yield client


def _error_text(fault: BaseException, address: ServerAddress) -> str:
    """Return the first cause of a fault, in words."""
    while isinstance(fault, BaseExceptionGroup) and fault.exceptions:
        fault = fault.exceptions[0]
    if isinstance(fault, TimeoutError):
        return f"no answer within {address.seconds:g} seconds"
    if isinstance(fault, FileNotFoundError):
        return "there is no such program"
    text = " ".join(str(fault).split()) or type(fault).__name__
    return address.hide(text)[:_MOST_ERROR_TEXT]


def _last_error_line(errors: IO[bytes], address: ServerAddress) -> str:
    """Return what the server wrote last on its error stream."""
    errors.seek(0, os.SEEK_END)
    errors.seek(max(0, errors.tell() - 4 * _MOST_ERROR_TEXT))
    lines = errors.read().decode("utf-8", "replace").strip().splitlines()
    return f"; it said: {address.hide(lines[-1].strip())[-_MOST_ERROR_TEXT:]}" if lines else ""


# --- a study's session ---------------------------------------------------------------------------


class McpSession(OpenSource):
    """One session with a server; when it breaks, the next call begins another, once."""

    def __init__(
        self,
        address: ServerAddress,
        served: Mapping[str, JSON],
        *,
        fixed: frozenset[str] = frozenset(),
        characters: int = 8000,
    ) -> None:
        """Create a session without connecting.

        Args:
            address: Where the server is.
            served: What was frozen.
            fixed: Names of arguments that the spec fixes: the frozen parameters lack them.
            characters: The largest result.
        """
        self._address = address
        self._frozen = served
        self._fixed = fixed
        self._characters = characters
        self._lock = asyncio.Lock()
        self._begun = 0
        self._client: Client | None = None
        self._end = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def call(self, tool: str, arguments: Mapping[str, JSON]) -> JSON:
        """Call a tool; an error becomes a ``ToolError`` for the model."""
        client = await self._session()
        try:
            async with asyncio.timeout(self._address.seconds):
                result = await client.call_tool(
                    tool, dict(arguments), read_timeout_seconds=self._address.seconds
                )
        except TimeoutError:
            raise ToolError(self._timeout_message()) from None
        except Exception as fault:  # noqa: BLE001 - whatever the SDK, a process or a network raises
            raise await self._refusal(client, fault) from None
        return result_of(result, self._characters, self._address.hide)

    def _timeout_message(self) -> str:
        return f"the tool gave no answer within {self._address.seconds:g} seconds"

    async def _refusal(self, client: Client, fault: Exception) -> ToolError:
        """Return the error for the model; end a broken session."""
        from mcp import MCPError

        words = _error_text(fault, self._address)
        if isinstance(fault, MCPError) and words != "Connection closed":
            return ToolError(self._timeout_message() if "timed out" in words.lower() else words)
        if self._client is client:
            await self._finish()
        return ToolError("the server of this tool ended, or broke off, before it answered")

    async def _session(self) -> Client:
        """Return the session, begun where there is none.

        Raises:
            ToolError: It broke more than once.
            ServerLost: The server cannot be started or reached.
            ServerChanged: It is not the one that was frozen.
        """
        async with self._lock:
            if self._client is not None:
                return self._client
            if self._begun >= _MOST_SESSIONS:
                raise ToolError(
                    "the server of this tool broke off twice; there is no further retry"
                )
            self._begun += 1
            self._end = asyncio.Event()
            ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._keep_open(ready, self._end))
            self._client = await ready
            return self._client

    async def _keep_open(self, ready: asyncio.Future[Client], end: asyncio.Event) -> None:
        """Keep the session open until it is to end."""
        try:
            async with _connected(self._address, subprocess.DEVNULL) as client:
                async with asyncio.timeout(self._address.seconds):
                    self._compare(await _served(client, self._address))
                ready.set_result(client)
                await end.wait()
        except ServerChanged as changed:
            ready.set_exception(changed)
        except Exception as fault:  # noqa: BLE001 - as above
            if not ready.done():
                words = f"{self._address.name}: {_error_text(fault, self._address)}"
                ready.set_exception(ServerLost(words))

    def _compare(self, now: Served) -> None:
        """Refuse a server that is not the frozen one.

        Raises:
            ServerChanged: In words.
        """
        before: Mapping[str, JSON] = self._frozen["what"]
        server = now.what["server"]
        if server != before["server"]:
            raise ServerChanged(
                f"{self._address.name} is another server than the one this study began with: "
                f"{_named(server)}, then {_named(before['server'])}"
            )
        known = {tool.name: tool for tool in now.tools}
        for frozen in self._frozen["tools"].values():
            tool = known.get(frozen["tool"])
            if tool is None or not self._is_unchanged(tool, frozen):
                how = "no longer there" if tool is None else "not what it was"
                raise ServerChanged(
                    f"{self._address.name} changed since this study began: its tool "
                    f"`{frozen['tool']}` is {how}"
                )

    def _is_unchanged(self, tool: ServedTool, frozen: Mapping[str, JSON]) -> bool:
        parameters = without_fixed(tool.parameters, self._fixed)
        then = frozen["description"], frozen["parameters"]
        return (tool.description, parameters) == then

    async def _finish(self) -> None:
        """End the session, whatever state it is in."""
        task, self._task, self._client = self._task, None, None
        if task is None:
            return
        self._end.set()
        done, _ = await asyncio.wait([task], timeout=_TO_END)
        if not done:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def aclose(self) -> None:
        """End the session, and the server if it was started here."""
        await self._finish()


def _named(server: Mapping[str, JSON]) -> str:
    return f"{server.get('name', 'unnamed')} {server.get('version', '')}".strip()
