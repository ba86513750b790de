"""The whole analysis that a plan asks for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass

import numpy as np
import pandas as pd

from orglab.providers.base import JSON
from orglab.results.statistics.agreement.krippendorff import JudgeAgreement, judging
from orglab.results.statistics.data.attrition import (
    Attrition,
    ComputeContrast,
    ComputeRow,
    attrition,
    compute,
    compute_contrasts,
)
from orglab.results.statistics.data.dataset import Dataset, dataset_of
from orglab.results.statistics.effects import Effect, family
from orglab.results.statistics.errors import PlanError
from orglab.results.statistics.models.draft_comparison import DraftRow, draft_rows
from orglab.results.statistics.models.leave_one_out import (
    LeaveOneOut,
    without_each_judge,
    without_each_unit,
)
from orglab.results.statistics.models.regression import Dose, dose_response
from orglab.results.statistics.models.sensitivity import (
    AdjustedEffect,
    MixedEffect,
    adjusted_effects,
    mixed_effect,
)
from orglab.results.statistics.models.subgroups import Split, Subset, split, subset
from orglab.results.statistics.plan import AnalysisPlan


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
    judging: tuple[JudgeAgreement, ...]
    attrition: tuple[Attrition, ...]
    compute: tuple[ComputeRow, ...]
    compute_contrasts: tuple[ComputeContrast, ...]

    def json(self) -> dict[str, JSON]:
        """Convert to plain data for strict JSON: what is missing is null, never NaN."""
        found: dict[str, JSON] = plain_data(self)
        return found


def analyse(
    scores: pd.DataFrame,
    plan: AnalysisPlan,
    *,
    runs: pd.DataFrame | None = None,
    drafts: pd.DataFrame | None = None,
) -> Analysis:
    """Run everything that ``plan`` asks for.

    Args:
        scores: One row a value: ``arm unit replicate outcome judge value scale reason``.
        plan: What is asked for.
        runs: One row a planned run: ``arm unit replicate status reason`` and columns of the run or
            the unit (``loops``, ``tokens``, ``cost_usd``, ``model.writer``, …). Without it each run
            that has a score counts as completed.
        drafts: One row a measure of a draft: ``arm unit replicate role visit measure value``.

    Raises:
        DatasetError: A table lacks a column or contradicts itself.
        PlanError: The plan names what the tables do not hold.
    """
    return analyse_dataset(dataset_of(scores, runs, plan.composites), plan, drafts)


def analyse_dataset(
    dataset: Dataset, plan: AnalysisPlan, drafts: pd.DataFrame | None = None
) -> Analysis:
    """Analyse tables that were read; arguments and errors as in ``analyse``."""
    followups = plan.followups
    return Analysis(
        units=len(dataset.axes.units),
        replicates=len(dataset.axes.replicates),
        duplicates=dataset.duplicates,
        primary=tuple(family(dataset, plan, plan.primary, "primary")),
        followups=tuple(
            family(
                dataset, plan, followups.outcomes, "followups", correct=followups.correct == "holm"
            )
            if followups
            else ()
        ),
        adjusted=tuple(
            row
            for outcome in plan.outcomes
            for contrast in plan.contrasts
            for row in adjusted_effects(dataset, plan, outcome, contrast)
        ),
        leave_one_out=tuple(_left_out(dataset, plan)),
        mixed=tuple(
            mixed_effect(dataset, asked.outcome, contrast, plan.level)
            for asked in plan.mixed
            for contrast in plan.contrasts
        ),
        dose=tuple(dose_response(dataset, asked, plan.level) for asked in plan.dose),
        drafts=tuple(_drafts(dataset, plan, drafts)),
        subsets=tuple(subset(dataset, plan, name, asked) for name, asked in plan.subsets.items()),
        by=tuple(
            split(dataset, plan, column, outcome, contrast)
            for column in plan.by
            for outcome in plan.primary
            for contrast in plan.contrasts
        ),
        judging=tuple(_judge_agreements(dataset, plan)),
        attrition=tuple(attrition(dataset)),
        compute=tuple(compute(dataset)),
        compute_contrasts=tuple(compute_contrasts(dataset, plan.contrasts)),
    )


def _left_out(dataset: Dataset, plan: AnalysisPlan) -> list[LeaveOneOut]:
    each = {"judge": without_each_judge, "unit": without_each_unit}
    return [
        each[by](dataset.cells(outcome), contrast.arm, contrast.reference, plan.alpha)
        for by in plan.leave_one_out
        for outcome in plan.outcomes
        for contrast in plan.contrasts
    ]


def _drafts(
    dataset: Dataset, plan: AnalysisPlan, drafts: pd.DataFrame | None
) -> Sequence[DraftRow]:
    if not plan.drafts:
        return ()
    if drafts is None:
        raise PlanError("the plan asks for drafts, and there is no table of drafts")
    return [row for asked in plan.drafts for row in draft_rows(dataset, drafts, asked, plan.level)]


def _judge_agreements(dataset: Dataset, plan: AnalysisPlan) -> list[JudgeAgreement]:
    """Analyse every outcome that two judges or more gave, and the parts of composites."""
    names = dict.fromkeys([*plan.outcomes, *plan.composites, *plan.composite_parts])
    return [
        judging(dataset, cells, seed=plan.seed, resamples=plan.resamples, level=plan.level)
        for cells in map(dataset.cells, names)
        if len(cells.judges) > 1
    ]


def plain_data(value: object) -> JSON:
    """Convert dataclasses to mappings, tuples to lists, numbers of NumPy to Python's.

    Numbers that are not finite become None: missing is null, and strict JSON has no NaN.

    Raises:
        TypeError: A value that JSON does not have.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: plain_data(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain_data(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [plain_data(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    raise TypeError(f"{type(value).__name__} is no plain data")
