"""Calls of a model, whichever provider serves it.

The model client: retries, the adaptive limit of concurrent calls, rate limits, the request queue,
fault injection. What one server's errors mean belongs to that provider or to ``providers.hosted``.
"""

__all__: list[str] = []
