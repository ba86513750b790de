"""Strict YAML.

Text to plain data with the place of every value (``source_map``), and syntax errors in plain
English. Nothing here knows the spec language.
"""

__all__: list[str] = []
