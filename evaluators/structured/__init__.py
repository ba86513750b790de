"""Measures of an output's fields.

Fields by path, schema conformance, numbers, evidence and claims checked against tables and records.
"""

__all__: list[str] = []
