"""Templates and the style sheet of the report's pages."""

__all__: list[str] = []
