"""Everything that a report tells, gathered from a study's store."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from orglab.providers.base import JSON
from orglab.results.report.experiment.costs import Costs, read_costs
from orglab.results.report.experiment.counts import HedgeCounts, LoopRow, read_hedges, read_loops
from orglab.results.report.experiment.data import NOT_RUN, Tables, read_tables
from orglab.results.report.experiment.plan_history import (
    FrozenPlan,
    PlanChange,
    comparisons,
    frozen_plans,
    plan_changes,
    undeclared_evaluators,
)
from orglab.results.statistics.analysis import Analysis, analyse_study
from orglab.results.statistics.data.dataset import Study, study_of
from orglab.results.statistics.errors import StatisticsError
from orglab.results.statistics.plan import AnalysisPlan, Contrast, FollowupsPlan, plan_of
from orglab.results.store.reader import Reader
from orglab.results.usage.served_models import Drift, drifts
from orglab.results.usage.spending import Spending, spending

__all__ = ["Findings", "Progress", "progress_of", "read_findings"]


_DETAIL = re.compile(
    r"@\d+$|^(tokens|seconds|tool_calls|calls|judge_panel)\.|^hedges\.|^cost_usd\."
)
_OF_USAGE = frozenset(("asked_again", "repairs", "simulated", "comments", "reviews", "unreviewed"))


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far the study is.

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
        """Every planned run has ended."""
        return self.open == 0


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Everything that a report tells.

    Attributes:
        plan: The plan that counts: the last one that was frozen.
        changes: Changes of plan.
        later: Evaluators that the plan does not have, and whose scores the study holds.
        comparisons: How the arms of each contrast differ, by ``arm - reference``.
        declared: The plan declares an analysis; else what is shown is exploratory.
        analysis_plan: What was computed.
        analysis: The results; None where nothing could be computed, and ``faults`` say why.
        study: The tables as the statistics read them, or None.
        faults: Why a part of the analysis could not be computed.
        tables: The tables.
        progress: How far the study is.
        costs: What it cost.
        loops: Verdicts by link and action.
        hedges: Hedges by arguments and arm.
        meta: What the store says of itself.
        drifts: Models that were served by several versions.
        spending: What was paid, and requests that were cut.
    """

    plan: FrozenPlan
    changes: Sequence[PlanChange]
    later: Sequence[str]
    comparisons: Mapping[str, Mapping[str, JSON]]
    declared: bool
    analysis_plan: AnalysisPlan | None
    analysis: Analysis | None
    study: Study | None
    faults: tuple[str, ...]
    tables: Tables
    progress: Progress
    costs: Costs
    loops: Sequence[LoopRow]
    hedges: Mapping[str, Mapping[str, HedgeCounts]]
    meta: Mapping[str, str]
    drifts: Sequence[Drift] = ()
    spending: Spending | None = None

    @property
    def level(self) -> float:
        """Confidence of intervals, 0 to 1."""
        return self.analysis_plan.level if self.analysis_plan else 0.95

    @property
    def simulated(self) -> bool:
        """A reply, of a role or of a judge, was written by no language model."""
        return self.costs.simulated > 0

    @property
    def wholly_simulated(self) -> bool:
        """No reply was written by a language model."""
        return self.costs.simulated == self.costs.answered


def read_findings(place: Path) -> Findings:
    """Reads and analyses a study.

    Raises:
        StoreError: There is no study, or it is no experiment.
    """
    with Reader(place) as reader:
        plans = frozen_plans(reader)
        plan = plans[-1]
        tables = read_tables(reader, plan)
        computed = _computed(plan, tables)
        return Findings(
            plan=plan,
            changes=plan_changes(reader, plans),
            later=undeclared_evaluators(reader, plan),
            comparisons=comparisons(reader),
            declared=bool(plan.normal["analysis"].get("primary")),
            analysis_plan=computed.plan,
            analysis=computed.analysis,
            study=computed.study,
            faults=computed.faults,
            tables=tables,
            progress=progress_of(tables),
            costs=read_costs(reader, tables, plan.arms),
            loops=read_loops(reader, tables),
            hedges=read_hedges(reader, tables),
            meta=reader.meta(),
            drifts=drifts(reader),
            spending=spending(reader),
        )


def progress_of(tables: Tables) -> Progress:
    """How far the planned runs are."""
    statuses = Counter(row.status for row in tables.rows.values())
    statuses_all: dict[str, int] = dict(statuses.most_common())
    if tables.planned > len(tables.rows):
        statuses_all[NOT_RUN] = tables.planned - len(tables.rows)
    return Progress(
        planned=tables.planned,
        statuses=statuses_all,
        first=min((row.started for row in tables.rows.values()), default=""),
        last=max((row.ended or "" for row in tables.rows.values()), default=""),
    )


# --- the analysis --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Computed:
    plan: AnalysisPlan | None = None
    analysis: Analysis | None = None
    study: Study | None = None
    faults: tuple[str, ...] = ()


def _computed(plan: FrozenPlan, tables: Tables) -> _Computed:
    if not len(tables.scores):
        return _Computed(faults=("no run has a score yet",))
    try:
        asked = _analysis_plan(plan, tables)
        study = study_of(tables.scores, tables.runs, asked.composites)
    except (StatisticsError, TypeError, ValueError) as fault:
        return _Computed(faults=(str(fault),))
    return _analysed(asked, study, tables)


def _analysed(asked: AnalysisPlan, study: Study, tables: Tables) -> _Computed:
    """The whole analysis; where a part of it cannot be made, the effects without such parts."""
    try:
        analysis = analyse_study(study, asked, tables.drafts)
    except StatisticsError as fault:
        faults = (str(fault),)
    else:
        return _Computed(plan=asked, analysis=analysis, study=study)
    less = replace(
        asked, covariates=(), leave_one_out=(), mixed=(), dose=(), drafts=(), subsets={}, by=()
    )
    try:
        analysis = analyse_study(study, less, tables.drafts)
    except StatisticsError as fault:
        return _Computed(plan=asked, study=study, faults=(*faults, str(fault)))
    words = "only the effects are shown: covariates, leaving out, models, dose, drafts and subsets"
    return _Computed(
        plan=less, analysis=analysis, study=study, faults=(*faults, f"{words} are not computed")
    )


def _analysis_plan(plan: FrozenPlan, tables: Tables) -> AnalysisPlan:
    """The declared analysis; without one, every score described and nothing tested as a claim."""
    normal = plan.normal
    contrasts = [list(pair) for pair in plan.contrasts]
    if normal["analysis"].get("primary"):
        asked = {"contrasts": contrasts, **normal["analysis"]}
        return plan_of({"seed": normal["seed"], **asked}, normal["composites"])
    outcomes = [*normal["composites"], *_main_scores(tables)]
    return AnalysisPlan(
        contrasts=tuple(Contrast(arm=arm, reference=other) for arm, other in contrasts),
        primary=(),
        composites=normal["composites"],
        followups=FollowupsPlan(outcomes=tuple(dict.fromkeys(outcomes)), correct="none"),
    )


def _main_scores(tables: Tables) -> list[str]:
    names = tables.scores.loc[tables.scores["value"].notna(), "outcome"].drop_duplicates()
    return [name for name in sorted(names) if not _DETAIL.search(name) and name not in _OF_USAGE]
