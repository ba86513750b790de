"""Hypothesis tests on paired units, and their planning.

Paired t, Wilcoxon, McNemar, equivalence, effect sizes, corrections for multiple testing, power.
"""

__all__: list[str] = []
