"""The tools that roles may call."""

__all__: list[str] = []
