"""Estimates of a sweep in words and cells."""

from __future__ import annotations

from orglab.results.number_format import (
    NOTHING,
    clear_places,
    interval,
    label,
    money,
    number,
    signed,
)
from orglab.results.report.sweep.findings import SweepFindings
from orglab.results.statistics.models.main_effects import Estimate

__all__ = ["cost_words", "difference_words", "level_name", "mean_words", "per_run", "point_name"]

ALPHA = 0.05
"""Where a difference is called shown."""


def mean_words(found: Estimate, *, dollars: bool = False) -> str:
    """``3.85 [3.70 to 4.02]``."""
    if found.value is None:
        return NOTHING
    if dollars:
        ends = f" [{money(found.low)} to {money(found.high)}]" if found.low is not None else ""
        return f"{money(found.value)}{ends}"
    digits = clear_places(found.value, found.low, found.high)
    ends = f" [{interval(found.low, found.high, digits)}]" if found.low is not None else ""
    return f"{number(found.value, digits)}{ends}"


def difference_words(found: Estimate) -> str:
    """``+0.31 [0.12 to 0.50]``; why there is none, where there is none."""
    if found.value is None:
        return found.why or NOTHING
    digits = clear_places(found.value, found.low, found.high)
    ends = f" [{interval(found.low, found.high, digits)}]" if found.low is not None else ""
    return f"{signed(found.value, digits)}{ends}"


def cost_words(findings: SweepFindings, found: Estimate) -> str:
    """The cost of a run, with its interval."""
    return mean_words(found, dollars=findings.cost == "dollars")


def per_run(findings: SweepFindings) -> str:
    """What the axis of cost is called."""
    unreal = (
        f"{findings.costs.unreal} " if findings.cost == "dollars" and findings.costs.unreal else ""
    )
    return f"{unreal}{findings.cost} a run, judges aside"


def level_name(findings: SweepFindings, factor: int, level: int) -> str:
    """``cap 4``."""
    axis = findings.axes[factor]
    return f"{label(axis.name)} {axis.labels[level]}"


def point_name(findings: SweepFindings, point: int) -> str:
    """A variant's name."""
    return findings.names[point]
