"""Models of outcomes.

Mixed models, covariates, dose-response, main effects, leave-one-out, subgroups, Pareto fronts,
rates.
"""

__all__: list[str] = []
