"""The engine's own prompt texts, as Jinja templates (data only).

How a review, a directive, a repair or a stake is phrased to a model. Authors' templates come from
their specs; no code belongs here.
"""

__all__: list[str] = []
