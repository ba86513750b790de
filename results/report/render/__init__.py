"""Blocks to HTML and Markdown; numbers to text and SVG figures.

Each figure is one function from numbers to a picture. Nothing here reads a store.
"""

__all__: list[str] = []
