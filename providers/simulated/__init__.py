"""Provider ``simulated``: deterministic replies without a language model.

Profiles (data in ``profiles``), random streams, invented values and texts, policies for tools and
verdicts, simulated scores.
"""

__all__: list[str] = []
