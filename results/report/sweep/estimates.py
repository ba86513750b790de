"""Estimates of a sweep as text."""

from __future__ import annotations

from orglab.results.number_format import label, money, with_interval
from orglab.results.report.sweep.findings import SweepFindings
from orglab.results.statistics.models.main_effects import Estimate

__all__ = ["ALPHA", "cost_text", "difference_text", "level_name", "mean_text", "per_run"]

ALPHA = 0.05
"""Level of tests."""


def mean_text(found: Estimate) -> str:
    """Format a mean: ``3.85 [3.70 to 4.02]``."""
    return with_interval(found.value, found.low, found.high, sign=False)


def difference_text(found: Estimate) -> str:
    """Format a difference: ``+0.31 [0.12 to 0.50]``; why there is none, if there is none."""
    if found.value is None and found.why:
        return found.why
    return with_interval(found.value, found.low, found.high)


def cost_text(findings: SweepFindings, found: Estimate) -> str:
    """Format the cost of a run."""
    if findings.cost != "dollars" or found.value is None:
        return mean_text(found)
    ends = f" [{money(found.low)} to {money(found.high)}]" if found.low is not None else ""
    return f"{money(found.value)}{ends}"


def per_run(findings: SweepFindings) -> str:
    """Name the axis of cost."""
    unreal = findings.costs.unreal if findings.cost == "dollars" else ""
    return f"{unreal} {findings.cost} a run, judges aside".strip()


def level_name(findings: SweepFindings, factor: int, level: int) -> str:
    """Name a level: ``cap 4``."""
    axis = findings.axes[factor]
    return f"{label(axis.name)} {axis.labels[level]}"
