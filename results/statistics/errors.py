"""Errors of tables and analysis plans, worded for the author of the analysis."""

from __future__ import annotations


class StatisticsError(ValueError):
    """Raised when an analysis cannot be made as it was asked for."""


class DatasetError(StatisticsError):
    """Raised when a table contradicts itself or lacks a column."""


class PlanError(StatisticsError):
    """Raised when a plan asks for what there is not."""
