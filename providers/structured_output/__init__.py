"""From a model's text to a checked value.

Extraction of JSON, strict and relaxed parsing, validation against JSON Schema, reasoning blocks,
tool calls written as text.
"""

__all__: list[str] = []
