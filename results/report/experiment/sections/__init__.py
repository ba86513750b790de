"""Sections of an experiment's report, one file each.

A section is a function from findings to blocks; it computes nothing.
"""

__all__: list[str] = []
