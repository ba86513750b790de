"""Many runs: units, batches, resuming."""

__all__: list[str] = []
