"""Panels of model judges.

The rubric with its anchored levels, and the evaluator that asks the judges.
"""

__all__: list[str] = []
