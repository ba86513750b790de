"""What runs used and cost.

Spending, usage of earlier runs, models that really served, and cost and usage as text.
"""

__all__: list[str] = []
