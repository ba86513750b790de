"""The command line: ``orglab check | graph | render | run | show | compare | export | …``."""

__all__: list[str] = []
