"""Tools over a store of text records.

Lexical and vector search, look-up by id, verification of claims.
"""

__all__: list[str] = []
