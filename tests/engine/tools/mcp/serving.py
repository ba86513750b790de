"""An MCP server for tests: over stdio where it is run, over HTTP where ``served`` is entered."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

__all__ = ["made", "served"]


def made(version: str = "1.0") -> MCPServer:
    """The server."""
    server = MCPServer("tester", version=version, log_level="ERROR")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Adds two numbers."""
        print("noise on the error stream", file=sys.stderr)
        return a + b

    @server.tool()
    def variables() -> list[str]:
        """The names of the environment's variables."""
        return sorted(os.environ)

    @server.tool()
    def much(letters: int) -> str:
        """A long text."""
        return "x" * letters

    @server.tool()
    def fail(why: str) -> str:
        """Fails."""
        raise ToolError(why)

    @server.tool()
    async def wait_long() -> str:
        """Never answers."""
        import anyio

        await anyio.sleep(3600)
        return ""

    @server.tool(name="break.off")
    def break_off() -> str:
        """Ends the server."""
        os._exit(3)

    return server


@contextmanager
def served() -> Iterator[str]:
    """Serves it over HTTP on loopback; the address."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
        app = made().streamable_http_app()
        config = uvicorn.Config(app, log_level="critical", lifespan="on", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [found]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.should_exit = True
            thread.join(10)


if __name__ == "__main__":
    made(*sys.argv[1:]).run()
