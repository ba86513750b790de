"""Models behind one port.

``base`` is the port, ``registry`` finds plugins by entry point. Each provider has a room named
after it; ``hosted`` is what OpenAI and Anthropic share; ``client`` (retry, limits),
``structured_output`` (from text to a checked value) and ``pricing`` serve all of them. Nothing here
knows teams.
"""

if __name__ == "providers":  # a second copy of every class would follow
    raise ImportError("import orglab.providers, not providers")

__all__: list[str] = []
