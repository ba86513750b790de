"""A small package by someone else: it imports the two ports of orglab and nothing more of it."""

__all__: list[str] = []
