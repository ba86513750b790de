"""What providers of hosted models share.

Accounts and keys, HTTP clients, errors by status and body, Retry-After, server health. What only
one vendor does belongs to its own room.
"""

__all__: list[str] = []
