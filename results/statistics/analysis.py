"""Everything that a plan asks for, in one go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from orglab.providers.base import JSON
from orglab.results.statistics.agreement.judge_severity import Judging, judging
from orglab.results.statistics.data.attrition import (
    Attrition,
    ComputeContrast,
    ComputeRow,
    attrition,
    compute,
    compute_contrasts,
)
from orglab.results.statistics.data.dataset import Study, study_of
from orglab.results.statistics.effects import Effect, family
from orglab.results.statistics.errors import PlanError
from orglab.results.statistics.models.dose_response import Dose, dose_response
from orglab.results.statistics.models.draft_comparison import DraftRow, draft_rows
from orglab.results.statistics.models.leave_one_out import (
    LeaveOneOut,
    without_each_judge,
    without_each_unit,
)
from orglab.results.statistics.models.sensitivity import (
    AdjustedEffect,
    MixedEffect,
    adjusted_effects,
    mixed_effect,
)
from orglab.results.statistics.models.subgroups import Split, Subset, split, subset
from orglab.results.statistics.plain_data import plain_data
from orglab.results.statistics.plan import AnalysisPlan

__all__ = ["Analysis", "analyse", "analyse_study"]


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """The whole analysis; ``json()`` gives it as plain data.

    Attributes:
        units: Units of the study.
        replicates: Replicates a unit and arm, at most.
        duplicates: Rows of scores that were written twice, and dropped.
        primary: The primary family, Holm-corrected.
        followups: The follow-up family.
        adjusted: Effects with covariates partialled out.
        leave_one_out: Effects without each judge and each unit.
        mixed: Mixed models.
        dose: Dose-responses.
        drafts: Comparisons of drafts.
        subsets: Effects in subsets.
        by: Effects by the values of a column.
        judging: Agreement and severity of judges, by outcome.
        attrition: Runs by arm and how they ended.
        compute: Use by arm.
        compute_contrasts: Use of each arm against its reference.
    """

    units: int
    replicates: int
    duplicates: int
    primary: tuple[Effect, ...]
    followups: tuple[Effect, ...]
    adjusted: tuple[AdjustedEffect, ...]
    leave_one_out: tuple[LeaveOneOut, ...]
    mixed: tuple[MixedEffect, ...]
    dose: tuple[Dose, ...]
    drafts: tuple[DraftRow, ...]
    subsets: tuple[Subset, ...]
    by: tuple[Split, ...]
    judging: tuple[Judging, ...]
    attrition: tuple[Attrition, ...]
    compute: tuple[ComputeRow, ...]
    compute_contrasts: tuple[ComputeContrast, ...]

    def json(self) -> dict[str, JSON]:
        """Plain data that strict JSON can hold: what is missing is null, never NaN."""
        found: dict[str, JSON] = plain_data(self)
        return found


def analyse(
    scores: pd.DataFrame,
    plan: AnalysisPlan,
    *,
    runs: pd.DataFrame | None = None,
    drafts: pd.DataFrame | None = None,
) -> Analysis:
    """Runs everything that ``plan`` asks for.

    Args:
        scores: One row a value: ``arm unit replicate outcome judge value scale reason``.
        plan: What is asked for.
        runs: One row a planned run: ``arm unit replicate status reason`` and columns of the run or
            the unit (``loops``, ``tokens``, ``cost_usd``, ``model.writer``, …). Without it each run
            that has a score counts as completed.
        drafts: One row a measure of a draft: ``arm unit replicate role visit measure value``.

    Raises:
        TableError: A table lacks a column or contradicts itself.
        PlanError: The plan names what the tables do not hold.
    """
    return analyse_study(study_of(scores, runs, plan.composites), plan, drafts)


def analyse_study(study: Study, plan: AnalysisPlan, drafts: pd.DataFrame | None = None) -> Analysis:
    """The same over tables that were read; arguments and faults as in ``analyse``."""
    followups = plan.followups
    return Analysis(
        units=len(study.axes.units),
        replicates=len(study.axes.replicates),
        duplicates=study.duplicates,
        primary=tuple(family(study, plan, plan.primary, "primary")),
        followups=tuple(
            family(
                study, plan, followups.outcomes, "followups", correct=followups.correct == "holm"
            )
            if followups
            else ()
        ),
        adjusted=tuple(
            row
            for outcome in plan.outcomes
            for contrast in plan.contrasts
            for row in adjusted_effects(study, plan, outcome, contrast)
        ),
        leave_one_out=tuple(_left_out(study, plan)),
        mixed=tuple(
            mixed_effect(study, asked.outcome, contrast, plan.level)
            for asked in plan.mixed
            for contrast in plan.contrasts
        ),
        dose=tuple(dose_response(study, asked, plan.level) for asked in plan.dose),
        drafts=tuple(_drafts(study, plan, drafts)),
        subsets=tuple(subset(study, plan, name, asked) for name, asked in plan.subsets.items()),
        by=tuple(
            split(study, plan, column, outcome, contrast)
            for column in plan.by
            for outcome in plan.primary
            for contrast in plan.contrasts
        ),
        judging=tuple(_judging(study, plan)),
        attrition=tuple(attrition(study)),
        compute=tuple(compute(study)),
        compute_contrasts=tuple(compute_contrasts(study, plan.contrasts)),
    )


def _left_out(study: Study, plan: AnalysisPlan) -> list[LeaveOneOut]:
    each = {"judge": without_each_judge, "unit": without_each_unit}
    return [
        each[by](study.cells(outcome), contrast.arm, contrast.reference, plan.alpha)
        for by in plan.leave_one_out
        for outcome in plan.outcomes
        for contrast in plan.contrasts
    ]


def _drafts(study: Study, plan: AnalysisPlan, drafts: pd.DataFrame | None) -> Sequence[DraftRow]:
    if not plan.drafts:
        return ()
    if drafts is None:
        raise PlanError("the plan asks for drafts, and there is no table of drafts")
    return [row for asked in plan.drafts for row in draft_rows(study, drafts, asked, plan.level)]


def _judging(study: Study, plan: AnalysisPlan) -> list[Judging]:
    """Every outcome of the plan that two judges or more gave, and the parts of its composites."""
    parts = [part for whole in plan.composites.values() for part in whole]
    names = dict.fromkeys([*plan.outcomes, *plan.composites, *parts])
    return [
        judging(study, cells, seed=plan.seed, resamples=plan.resamples, level=plan.level)
        for cells in map(study.cells, names)
        if len(cells.judges) > 1
    ]
