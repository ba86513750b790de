"""Sensitivity of an effect: covariates partialled out, and the mixed model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from orglab.results.statistics.data.cells import Cells, Floats, Values, as_floats
from orglab.results.statistics.data.dataset import Dataset
from orglab.results.statistics.data.pairing import pair
from orglab.results.statistics.models.mixed import MOST_COLUMNS, Codes, MixedModel, mixed_model
from orglab.results.statistics.models.regression import Coefficient, least_squares
from orglab.results.statistics.plan import AnalysisPlan, Contrast


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
    dataset: Dataset, plan: AnalysisPlan, outcome: str, contrast: Contrast
) -> list[AdjustedEffect]:
    """Partial out each covariate, then all if there are several.

    Raises:
        PlanError: An outcome, covariate or arm does not exist.
    """
    sets = [(name,) for name in plan.covariates]
    if len(sets) > 1:
        return [
            _adjusted_effect(dataset, plan, outcome, contrast, names)
            for names in [*sets, plan.covariates]
        ]
    return [_adjusted_effect(dataset, plan, outcome, contrast, names) for names in sets]


def _adjusted_effect(
    dataset: Dataset, plan: AnalysisPlan, outcome: str, contrast: Contrast, names: tuple[str, ...]
) -> AdjustedEffect:
    columns = [_differences(dataset.cells(name), contrast) for name in (outcome, *names)]
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
    """Return differences by unit of the study; NaN if a unit has no pair."""
    pairs = pair(cells, contrast.arm, contrast.reference)
    place = {unit: at for at, unit in enumerate(cells.axes.units)}
    found = np.full(len(cells.axes.units), np.nan)
    found[[place[unit] for unit in pairs.units]] = pairs.first - pairs.second
    return found


def mixed_effect(
    dataset: Dataset, outcome: str, contrast: Contrast, level: float = 0.95
) -> MixedEffect:
    """Fit the mixed model of a contrast, over verdicts or runs of the units that have both arms.

    One row a unit and arm needs an intercept by unit alone, and is the paired t. With more rows the
    arm's effect varies by unit too (a slope), else a true null is rejected far too often. Judges
    cross the units: as a random component, or as fixed effects where the table is too large for it.

    Raises:
        PlanError: No such outcome or arm.
    """
    cells = dataset.cells(outcome)
    values, arm, unit, judge = _long_table(cells, contrast)
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
        balanced=_is_balanced(unit, arm, judge),
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


def _long_table(cells: Cells, contrast: Contrast) -> tuple[Floats, Floats, Codes, Codes]:
    """Return all values of the units with both arms: value, arm (-1/2, 1/2), unit, judge."""
    one, other = cells.of(contrast.arm), cells.of(contrast.reference)
    both = np.isfinite(one).any(axis=(1, 2), keepdims=True)
    both &= np.isfinite(other).any(axis=(1, 2), keepdims=True)
    parts = []
    for values, code in ((one, 0.5), (other, -0.5)):
        unit, replicate, judge = np.nonzero(np.isfinite(values) & both)
        parts.append((values[unit, replicate, judge], np.full(len(unit), code), unit, judge))
    joined = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
    return joined[0], joined[1], joined[2], joined[3]


def _is_balanced(unit: Codes, arm: Floats, judge: Codes) -> bool:
    """Check whether every unit has the same number of values of every judge under both arms."""
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


@dataclass(frozen=True, kw_only=True)
class Adjusted:
    """What is left of a difference when the arms do not differ in the covariates.

    Attributes:
        covariates: Their names.
        n: Pairs with every value.
        difference: The intercept: the expected difference at no difference in the covariates.
        slopes: The coefficients of the covariates' differences.
        df: Degrees of freedom of t.
        why: Why there is no estimate or no p, or "".
    """

    covariates: tuple[str, ...]
    n: int
    difference: Coefficient | None
    slopes: tuple[Coefficient, ...]
    df: int | None
    why: str = ""


def adjusted_difference(
    d: Values, covariates: Mapping[str, Values], level: float = 0.95
) -> Adjusted:
    """Regress differences on the covariates' differences, centred at 0 (Judd & Kenny 2010).

    The covariates' differences are not centred at their mean: at 0 the two arms are alike in them,
    and the intercept is the difference that remains.

    Args:
        d: Differences of the outcome, arm minus reference, one a unit.
        covariates: Differences of each covariate over the same units.
        level: Confidence of the intervals, 0 to 1.
    """
    names = tuple(covariates)
    table = np.column_stack([as_floats(covariates[name]) for name in names])
    fit = least_squares(as_floats(d), table, names, level=level)
    return Adjusted(
        covariates=names,
        n=fit.n,
        difference=fit.coefficients[0] if fit.coefficients else None,
        slopes=fit.coefficients[1:],
        df=fit.df,
        why=fit.why,
    )
