"""Prompts of turns and reviews.

The variables that a template sees, and rendering of system, task, review and repair prompts. The
engine's own texts are data in ``engine.prompts``.
"""

__all__: list[str] = []
