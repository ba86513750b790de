"""What one call of a model or tool is made of.

The key that identifies a call, the models that a study has open, draws from model pools, the tools
of a run.
"""

__all__: list[str] = []
