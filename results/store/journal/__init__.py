"""The journal of a run: what is durable before the engine acts on it.

The protocol and its entries, the journal in the study's file, conversion of entries to records,
history from events.
"""

__all__: list[str] = []
