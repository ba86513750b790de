"""A laboratory for organisations of language-model agents."""

__all__: list[str] = []
