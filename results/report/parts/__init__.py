"""Parts of the report, each one function from results to blocks."""

__all__: list[str] = []
