"""Statistics of an experiment: pure functions over tables, each with its source."""

__all__: list[str] = []
