"""What a call costs.

Price lists, cost of a completion, token estimates before a call.
"""

__all__: list[str] = []
