"""Measures of an output's text.

Lengths, patterns, lexicons, lexical diversity, retention between drafts. All read text as
``normalize`` gives it.
"""

__all__: list[str] = []
