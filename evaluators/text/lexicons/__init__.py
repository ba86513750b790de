"""Lexicons (data only).

One YAML file a lexicon, read by ``evaluators.text.lexicon``.
"""

__all__: list[str] = []
