"""Figures of the report as SVG, each one function from numbers to a picture."""

__all__: list[str] = []
