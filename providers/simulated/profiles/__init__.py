"""Profiles of the simulated model (data only).

One YAML file a profile; their schema is in ``providers.simulated.profile``.
"""

__all__: list[str] = []
