"""Provider ``human``: a person at the terminal.

The page shown, the schema as a form, the terminal itself.
"""

__all__: list[str] = []
