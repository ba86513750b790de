"""Provider ``scripted``: replies written beforehand, by a function or from a file.

The public fake for tests.
"""

__all__: list[str] = []
