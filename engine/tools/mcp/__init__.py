"""Tools of MCP servers.

The session with a server, its tools and their results as bounded JSON.
"""

__all__: list[str] = []
