"""Default prompt templates (data)."""

__all__: list[str] = []
