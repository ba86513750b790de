"""The headline rows: one effect of one outcome, with its tests and sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from orglab.results.statistics.data.cells import Cells, Flags, Floats, optional, unit_means
from orglab.results.statistics.data.dataset import Dataset
from orglab.results.statistics.data.pairing import Missing, PairedUnits, missing, pair
from orglab.results.statistics.models.wilson import wilson
from orglab.results.statistics.plan import AnalysisPlan, Contrast
from orglab.results.statistics.tests.mcnemar import PairedRates, paired_rates
from orglab.results.statistics.tests.multiple_testing import adjusted
from orglab.results.statistics.tests.paired import (
    Equivalence,
    PairedTest,
    Wins,
    differences,
    equivalence_of,
    paired_t,
    wins,
)
from orglab.results.statistics.tests.wilcoxon import SignedRanks, wilcoxon

#: Above this part of missing units a row warns.
_MANY_MISSING = 0.05
#: Columns of the runs that are compute, where the table has them.
COMPUTE = ("tokens", "tokens_input", "tokens_output", "cost_usd", "seconds", "calls", "loops")


@dataclass(frozen=True, kw_only=True)
class ArmSummary:
    """One arm of an effect.

    Attributes:
        n: Units with a value, paired or not.
        mean: Their mean.
        sd: Their standard deviation (n - 1).
        paired_mean: Mean over the pairs of this row.
        rate_low: For a binary outcome, the lower end of the rate's interval (Wilson 1927), in the
            paired units.
        rate_high: The upper end.
        missing: Units without a value, and why.
        compute: Mean by run, over the paired units: tokens, dollars, seconds, ….
    """

    n: int
    mean: float | None
    sd: float | None
    paired_mean: float | None
    rate_low: float | None
    rate_high: float | None
    missing: Missing
    compute: Mapping[str, float | None]


@dataclass(frozen=True, kw_only=True)
class WorstCase:
    """Mean difference if all that is missing were as bad, or as good, for the arm as can be."""

    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Effect:
    """One headline row: arm minus reference in one outcome.

    Attributes:
        outcome: The outcome.
        arm: The arm.
        reference: The arm it is compared with.
        family: ``primary``, ``followups``, or another name for rows that are not corrected.
        family_size: Declared tests of the family; 0 where it is not corrected.
        n: Pairs: units, however many replicates, judges and criteria each has.
        replicates: The most runs that a unit has under an arm.
        judges: Judges whose verdicts are in it.
        test: The test that p comes from.
        statistic: Its statistic.
        p: Two-sided, uncorrected; None with a reason in ``why``.
        p_adjusted: Corrected within the family (Holm 1979).
        effect: Difference, interval, d_z and its interval, d_av, g_z: the paired t in full.
        rates: McNemar's table, for a binary outcome without replicates.
        wins: Units higher in the arm, equal, lower.
        arms: Both arms by name.
        unmatched: Cells left out because the other arm has no counterpart.
        robust: Wilcoxon's test of the same differences.
        equivalence: Two one-sided tests.
        worst_case: Bounds for what is missing, where the outcome's range was declared.
        warnings: What to say beside it.
        why: Why there is no p, or "".
    """

    outcome: str
    arm: str
    reference: str
    family: str
    family_size: int
    n: int
    replicates: int
    judges: int
    test: str
    statistic: float | None
    p: float | None
    p_adjusted: float | None
    effect: PairedTest
    rates: PairedRates | None
    wins: Wins
    arms: Mapping[str, ArmSummary]
    unmatched: int
    robust: SignedRanks | None
    equivalence: Equivalence | None
    worst_case: WorstCase | None
    warnings: tuple[str, ...]
    why: str = ""


def effect(
    dataset: Dataset,
    plan: AnalysisPlan,
    outcome: str,
    contrast: Contrast,
    *,
    family: str = "",
    keep: Flags | None = None,
) -> Effect:
    """Compute one row, not corrected yet.

    Args:
        dataset: The tables.
        plan: The plan.
        outcome: An outcome, a composite or a numeric column of the runs.
        contrast: Arm and reference.
        family: The family's name.
        keep: Which (unit, replicate) count; default: all.

    Raises:
        PlanError: No such outcome or arm.
    """
    cells = dataset.cells(outcome)
    pairs = pair(cells, contrast.arm, contrast.reference, keep)
    test = paired_t(pairs.first, pairs.second, plan.level)
    rates = _rates(cells, pairs, plan.level)
    arms = {
        arm: _arm_summary(dataset, cells, arm, values, pairs.units, plan.level if rates else None)
        for arm, values in ((contrast.reference, pairs.second), (contrast.arm, pairs.first))
    }
    d = differences(pairs.first, pairs.second)
    return Effect(
        outcome=outcome,
        arm=contrast.arm,
        reference=contrast.reference,
        family=family,
        family_size=0,
        n=test.n,
        replicates=int(np.isfinite(cells.values).any(axis=3).sum(axis=2).max(initial=0)),
        judges=len(cells.judges) if cells.judged else 0,
        test=rates.test if rates else "paired t",
        statistic=rates.statistic if rates else test.statistic,
        p=rates.p if rates else test.p,
        p_adjusted=None,
        effect=test,
        rates=rates,
        wins=wins(pairs.first, pairs.second),
        arms=arms,
        unmatched=pairs.unmatched,
        robust=wilcoxon(d, zeros=plan.zeros, alpha=plan.alpha) if plan.robust else None,
        equivalence=_equivalence(test, plan),
        worst_case=_worst_case(cells, contrast, plan) if keep is None else None,
        warnings=_warnings(arms, pairs),
        why=rates.why if rates else test.why,
    )


def family(
    dataset: Dataset,
    plan: AnalysisPlan,
    outcomes: Sequence[str],
    name: str,
    *,
    correct: bool = True,
) -> list[Effect]:
    """Compute all contrasts of some outcomes, corrected as one family of declared tests (Holm 1979)."""
    rows = [
        effect(dataset, plan, outcome, contrast, family=name)
        for outcome in outcomes
        for contrast in plan.contrasts
    ]
    if not correct:
        return rows
    ps = adjusted([row.p for row in rows], "holm", size=len(rows))
    return [
        replace(row, p_adjusted=p, family_size=len(rows)) for row, p in zip(rows, ps, strict=True)
    ]


def _rates(cells: Cells, pairs: PairedUnits, level: float) -> PairedRates | None:
    """Return McNemar's table if the outcome is binary and each unit has one value an arm."""
    values = np.concatenate([pairs.first, pairs.second])
    if cells.scale != "binary" or not np.isin(values, (0.0, 1.0)).all():
        return None
    if len(cells.axes.replicates) > 1 or len(cells.judges) > 1:
        return None
    return paired_rates(pairs.first == 1, pairs.second == 1, level)


def _arm_summary(
    dataset: Dataset,
    cells: Cells,
    arm: str,
    paired: Floats,
    units: Sequence[str],
    rates: float | None,
) -> ArmSummary:
    means = unit_means(cells.of(arm))
    have = means[np.isfinite(means)]
    rate = wilson(int(paired.sum()), len(paired), rates) if rates and len(paired) else None
    return ArmSummary(
        n=len(have),
        mean=optional(have.mean()) if len(have) else None,
        sd=optional(have.std(ddof=1)) if len(have) > 1 else None,
        paired_mean=optional(paired.mean()) if len(paired) else None,
        rate_low=rate.low if rate else None,
        rate_high=rate.high if rate else None,
        missing=missing(dataset, cells, arm),
        compute=_compute(dataset, arm, units),
    )


def _compute(dataset: Dataset, arm: str, units: Sequence[str]) -> dict[str, float | None]:
    own = np.isin(np.array(dataset.axes.units, dtype=object), list(units))
    found: dict[str, float | None] = {}
    for name in COMPUTE:
        if dataset.has(name):
            values = dataset.cells(name).judges_averaged().of(arm)[own]
            known = values[np.isfinite(values)]
            found[name] = optional(known.mean()) if len(known) else None
    return found


def _equivalence(test: PairedTest, plan: AnalysisPlan) -> Equivalence | None:
    asked = plan.equivalence
    if asked is None:
        return None
    return equivalence_of(test, margin=asked.margin, margin_d_z=asked.margin_dz, alpha=plan.alpha)


def _worst_case(cells: Cells, contrast: Contrast, plan: AnalysisPlan) -> WorstCase | None:
    if cells.outcome not in plan.bounds:
        return None
    low, high = plan.bounds[cells.outcome]
    first, second = (unit_means(cells.of(arm)) for arm in (contrast.arm, contrast.reference))
    return WorstCase(
        low=float((_filled(first, low) - _filled(second, high)).mean()),
        high=float((_filled(first, high) - _filled(second, low)).mean()),
    )


def _filled(values: Floats, gap: float) -> Floats:
    return np.where(np.isfinite(values), values, gap)


def _warnings(arms: Mapping[str, ArmSummary], pairs: PairedUnits) -> tuple[str, ...]:
    found = [
        f"{arm}: {len(one.missing.units)} of {one.missing.planned} units without a value "
        f"({one.missing.rate:.0%})"
        for arm, one in arms.items()
        if one.missing.rate > _MANY_MISSING
    ]
    if pairs.unmatched:
        values = "1 value" if pairs.unmatched == 1 else f"{pairs.unmatched} values"
        found.append(f"{values} left out: missing under the other arm")
    return tuple(found)
