"""Compiling a topology: checks, bounds, drawings."""

__all__: list[str] = []
