"""Word lists, as data."""

__all__: list[str] = []
