"""Tables made ready for tests.

Tidy input, cells by arm and unit, pairing, attrition, missing values.
"""

__all__: list[str] = []
