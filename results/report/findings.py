"""Findings that every report shares: the plan, the tables, progress and costs of a study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orglab.results.report.experiment.costs import Costs
from orglab.results.report.experiment.data import NOT_RUN, Tables
from orglab.results.report.experiment.plan_history import FrozenPlan

__all__ = ["Progress", "StudyFindings", "progress_of"]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How many planned runs have ended.

    Attributes:
        planned: Planned runs.
        statuses: Planned runs by status; ``not run`` for those not begun.
        first: When the first run began, or "".
        last: When the last one ended, or "".
    """

    planned: int
    statuses: Mapping[str, int]
    first: str
    last: str

    @property
    def open(self) -> int:
        """Runs that were not begun or have not ended."""
        return self.statuses.get(NOT_RUN, 0) + self.statuses.get("running", 0)

    @property
    def finished(self) -> bool:
        """Whether every planned run has ended."""
        return self.open == 0


def progress_of(tables: Tables) -> Progress:
    """Count the planned runs by status."""
    rows = tables.rows.values()
    statuses: dict[str, int] = dict(Counter(str(row.status) for row in rows).most_common())
    if tables.planned > len(rows):
        statuses[NOT_RUN] = tables.planned - len(rows)
    return Progress(
        planned=tables.planned,
        statuses=statuses,
        first=min((row.started for row in rows), default=""),
        last=max((row.ended or "" for row in rows), default=""),
    )


@dataclass(frozen=True, kw_only=True)
class StudyFindings:
    """ExperimentFindings that every report shares.

    Attributes:
        plan: The plan that counts: the last one that was frozen.
        tables: The tables.
        progress: How many planned runs have ended.
        costs: Usage by arm and role.
        errors: What could not be computed, and why.
        meta: The store's metadata.
    """

    plan: FrozenPlan
    tables: Tables
    progress: Progress
    costs: Costs
    errors: Sequence[str]
    meta: Mapping[str, str]

    @property
    def simulated(self) -> bool:
        """Whether a simulated model wrote a reply of a role or a judge."""
        return self.costs.simulated > 0

    @property
    def wholly_simulated(self) -> bool:
        """Whether simulated models wrote every reply."""
        return self.costs.simulated == self.costs.answered
