"""What is wrong with a table or a plan, in words for the author of the analysis."""

from __future__ import annotations

__all__ = ["PlanFault", "StatisticsFault", "TableFault"]


class StatisticsFault(ValueError):
    """Raised when an analysis cannot be made as it was asked for."""


class TableFault(StatisticsFault):
    """Raised when a table contradicts itself or lacks a column."""


class PlanFault(StatisticsFault):
    """Raised when a plan asks for what there is not."""
