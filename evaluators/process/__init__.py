"""Measures of how a run went.

Approvals and loops, drafts, usage.
"""

__all__: list[str] = []
