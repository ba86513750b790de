"""Provider ``openai``: Chat Completions of OpenAI and every compatible server.

Requests, streams and replies, capabilities learned from refusals, strict schemas, embeddings.
"""

__all__: list[str] = []
