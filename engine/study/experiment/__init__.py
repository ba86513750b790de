"""Experiments: arms that differ in declared paths alone.

Loading, the guard against undeclared differences, diffs of two teams, declared outcomes.
"""

__all__: list[str] = []
