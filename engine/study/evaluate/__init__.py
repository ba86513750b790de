"""Scoring runs.

Evaluators on ended runs, judges as calls of models, scoring of stored runs again. Evaluators
themselves are in ``evaluators``.
"""

__all__: list[str] = []
