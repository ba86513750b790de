"""Tools over one table.

Reading files into typed columns, the in-memory database, conditions on rows, and one file a tool.
"""

__all__: list[str] = []
