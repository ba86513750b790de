"""Sensitivity of an effect: covariates partialled out, and the mixed model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orglab.results.statistics.data.arrays import Floats
from orglab.results.statistics.data.cells import Cells
from orglab.results.statistics.data.dataset import Study
from orglab.results.statistics.data.pairing import pair
from orglab.results.statistics.models.ancova import Adjusted, adjusted_difference
from orglab.results.statistics.models.mixed import MOST_COLUMNS, Codes, MixedModel, mixed_model
from orglab.results.statistics.plan import AnalysisPlan, Contrast

__all__ = ["AdjustedEffect", "MixedEffect", "adjusted_effects", "mixed_effect"]


@dataclass(frozen=True, kw_only=True)
class AdjustedEffect:
    """An effect with covariates partialled out; ``left_out`` pairs lack a covariate."""

    outcome: str
    arm: str
    reference: str
    left_out: int
    adjusted: Adjusted


@dataclass(frozen=True, kw_only=True)
class MixedEffect:
    """A mixed model of one contrast; the arm's coefficient is the difference.

    Attributes:
        outcome: The outcome.
        arm: The arm.
        reference: The arm it is compared with.
        rows_are: ``verdicts``, ``runs`` or ``unit means``.
        structure: The model in words.
        model: The fit.
    """

    outcome: str
    arm: str
    reference: str
    rows_are: str
    structure: str
    model: MixedModel


def adjusted_effects(
    study: Study, plan: AnalysisPlan, outcome: str, contrast: Contrast
) -> list[AdjustedEffect]:
    """The effect with each covariate partialled out, then with all where there are several.

    Raises:
        PlanError: An outcome, covariate or arm does not exist.
    """
    sets = [(name,) for name in plan.covariates]
    if len(sets) > 1:
        return [
            _adjusted(study, plan, outcome, contrast, names) for names in [*sets, plan.covariates]
        ]
    return [_adjusted(study, plan, outcome, contrast, names) for names in sets]


def _adjusted(
    study: Study, plan: AnalysisPlan, outcome: str, contrast: Contrast, names: tuple[str, ...]
) -> AdjustedEffect:
    columns = [_differences(study.cells(name), contrast) for name in (outcome, *names)]
    whole = np.isfinite(np.column_stack(columns)).all(axis=1)
    covariates = {name: column[whole] for name, column in zip(names, columns[1:], strict=True)}
    return AdjustedEffect(
        outcome=outcome,
        arm=contrast.arm,
        reference=contrast.reference,
        left_out=int(np.isfinite(columns[0]).sum() - whole.sum()),
        adjusted=adjusted_difference(columns[0][whole], covariates, plan.level),
    )


def _differences(cells: Cells, contrast: Contrast) -> Floats:
    """Differences by unit of the study; NaN where a unit has no pair."""
    pairs = pair(cells, contrast.arm, contrast.reference)
    place = {unit: at for at, unit in enumerate(cells.axes.units)}
    found = np.full(len(cells.axes.units), np.nan)
    found[[place[unit] for unit in pairs.units]] = pairs.first - pairs.second
    return found


def mixed_effect(
    study: Study, outcome: str, contrast: Contrast, level: float = 0.95
) -> MixedEffect:
    """The mixed model of a contrast, over verdicts or runs of the units that have both arms.

    One row a unit and arm needs an intercept by unit alone, and is the paired t. With more rows the
    arm's effect varies by unit too (a slope), else a true null is rejected far too often. Judges
    cross the units: as a random component, or as fixed effects where the table is too large for it.

    Raises:
        PlanError: No such outcome or arm.
    """
    cells = study.cells(outcome)
    values, arm, unit, judge = _long(cells, contrast)
    repeated = len(values) > 2 * len(np.unique(unit))
    crossed = cells.judged and len(np.unique(judge)) > 1
    small = 2 * len(np.unique(unit)) <= MOST_COLUMNS
    fixed = [arm]
    names = [f"{contrast.arm} - {contrast.reference}"]
    if crossed and not small:
        fixed += [(judge == at).astype(np.float64) for at in np.unique(judge)[1:]]
        names += [f"judge {cells.judges[at]}" for at in np.unique(judge)[1:]]
    model = mixed_model(
        values,
        np.column_stack(fixed),
        names,
        unit,
        slope=arm if repeated else None,
        judges=judge if crossed and small else None,
        balanced=_balanced(unit, arm, judge),
        level=level,
    )
    return MixedEffect(
        outcome=outcome,
        arm=contrast.arm,
        reference=contrast.reference,
        rows_are="verdicts" if crossed else "runs" if repeated else "unit means",
        structure=_structure(repeated, crossed, small),
        model=model,
    )


def _long(cells: Cells, contrast: Contrast) -> tuple[Floats, Floats, Codes, Codes]:
    """All values of the units with both arms: value, arm (-1/2, 1/2), unit, judge."""
    one, other = cells.of(contrast.arm), cells.of(contrast.reference)
    both = np.isfinite(one).any(axis=(1, 2), keepdims=True)
    both &= np.isfinite(other).any(axis=(1, 2), keepdims=True)
    parts = []
    for values, code in ((one, 0.5), (other, -0.5)):
        unit, replicate, judge = np.nonzero(np.isfinite(values) & both)
        parts.append((values[unit, replicate, judge], np.full(len(unit), code), unit, judge))
    joined = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
    return joined[0], joined[1], joined[2], joined[3]


def _balanced(unit: Codes, arm: Floats, judge: Codes) -> bool:
    """Every unit has the same number of values of every judge under both arms."""
    cells, counts = np.unique(np.column_stack([unit, arm, judge]), axis=0, return_counts=True)
    full = len(np.unique(unit)) * len(np.unique(arm)) * len(np.unique(judge))
    return len(cells) == full and len(set(counts.tolist())) == 1


def _structure(repeated: bool, crossed: bool, small: bool) -> str:
    parts = ["random intercept by unit"]
    if repeated:
        parts.append("random slope of the arm by unit")
    if crossed:
        parts.append("random intercept by judge, crossed" if small else "judges as fixed effects")
    return "; ".join(parts)
