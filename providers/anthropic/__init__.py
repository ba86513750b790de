"""Provider ``anthropic``: the Messages API.

Requests, messages, streams and replies, capabilities learned from refusals, output schemas.
"""

__all__: list[str] = []
