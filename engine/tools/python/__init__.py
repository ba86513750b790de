"""Functions of the user's own as tools.

Importing what a trusted spec names, and its signature as JSON Schema.
"""

__all__: list[str] = []
