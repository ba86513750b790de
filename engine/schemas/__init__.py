"""JSON Schema files of the spec language (data)."""

__all__: list[str] = []
