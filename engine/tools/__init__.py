"""The tools that roles may call.

A tool is one file in ``table``, ``records``, ``python`` or ``mcp``, and an entry point. Here is
what all of them share: the factory, sources of foreign tools, bounded results.
"""

__all__: list[str] = []
