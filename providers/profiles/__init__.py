"""Profiles of the simulated model, as data."""

__all__: list[str] = []
