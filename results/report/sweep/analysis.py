"""Analysis of a sweep: variants, main effects, trends, interactions, the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import log, prod

import numpy as np

from orglab.results.statistics.data.cells import Flags, Floats
from orglab.results.statistics.models.main_effects import (
    Design,
    Estimate,
    contrast,
    difference,
    fitted,
    front,
    front_shares,
    interaction,
    level_mean,
    mean_estimate,
)
from orglab.results.statistics.tests.multiple_testing import adjusted

_MOST_BOOTSTRAPPED = 500
"""More variants than these are not resampled."""


@dataclass(frozen=True, kw_only=True)
class Axis:
    """A factor as the analysis has it; the arms of an experiment are one.

    Attributes:
        name: Its name.
        labels: Its levels, in order.
        values: Their values where all are numbers, else None.
        reference: The number of the level that others are compared with.
        log: Its values were drawn evenly on the scale of logarithms.
        drawn: Its levels were drawn from a range.
    """

    name: str
    labels: tuple[str, ...]
    values: tuple[float, ...] | None
    reference: int
    log: bool = False
    drawn: bool = False

    @property
    def steps(self) -> Floats | None:
        """The values on the scale on which they were drawn."""
        if self.values is None:
            return None
        return np.array([log(value) if self.log else value for value in self.values])


@dataclass(frozen=True, kw_only=True)
class VariantRow:
    """One variant in one outcome.

    Attributes:
        point: Its number.
        mean: Its mean over units.
        against: Its paired difference to the reference variant.
        p_adjusted: Corrected over all variants (Holm 1979).
    """

    point: int
    mean: Estimate
    against: Estimate
    p_adjusted: float | None


def variants_of(values: Floats, reference: int) -> list[VariantRow]:
    """Compare every variant with the reference variant.

    Args:
        values: Points by units; NaN = missing.
        reference: The number of the reference variant.
    """
    against = [
        difference(row, values[reference]) if at != reference else Estimate(n=0, value=None)
        for at, row in enumerate(values)
    ]
    corrected = adjusted([each.p for each in against], size=max(len(values) - 1, 1))
    return [
        VariantRow(point=at, mean=mean_estimate(row), against=against[at], p_adjusted=corrected[at])
        for at, row in enumerate(values)
    ]


# --- main effects --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class MainEffect:
    """A level of a factor against its reference level.

    Attributes:
        factor: The factor's number.
        level: The level's number.
        mean: The mean at the level, over its variants.
        effect: The level minus the reference, other factors held equal; without a value for the
            reference itself.
        p_adjusted: Corrected over all contrasts of the outcome (Holm 1979).
        how: ``matched`` (variants that differ in this factor alone) or ``fitted`` (a linear model
            within each unit), "" for the reference.
    """

    factor: int
    level: int
    mean: Estimate
    effect: Estimate
    p_adjusted: float | None
    how: str


def effects_of(values: Floats, design: Design, axes: Sequence[Axis]) -> list[MainEffect]:
    """Estimate main effects of every factor with listed levels; factors drawn from ranges have trends."""
    made = []
    models = None if is_grid(design, axes) else _model(values, design, axes)
    for at, axis in enumerate(axes):
        if axis.drawn or len(axis.labels) < 2:
            continue
        for level in range(len(axis.labels)):
            effect, how = Estimate(n=0, value=None), ""
            if level != axis.reference:
                if models is None or _is_matched(design, at, axis):
                    effect, how = contrast(values, design, at, level, axis.reference), "matched"
                else:
                    effect, how = models[at, level], "fitted"
            made.append((at, level, level_mean(values, design, at, level), effect, how))
    corrected = adjusted([row[3].p for row in made], size=max(sum(row[4] != "" for row in made), 1))
    return [
        MainEffect(factor=at, level=level, mean=mean, effect=effect, p_adjusted=p, how=how)
        for (at, level, mean, effect, how), p in zip(made, corrected, strict=True)
    ]


def _is_matched(design: Design, factor: int, axis: Axis) -> bool:
    """Check whether every point of another level has its like at the reference level."""
    others = [level for level in range(len(axis.labels)) if level != axis.reference]
    return all(
        len(design.alike(factor, level, axis.reference))
        == int((design.codes[:, factor] == level).sum())
        for level in others
    )


def is_grid(design: Design, axes: Sequence[Axis]) -> bool:
    """Check whether the design has every combination of levels."""
    return len(np.unique(design.codes, axis=0)) == prod(len(axis.labels) for axis in axes)


def _model(
    values: Floats, design: Design, axes: Sequence[Axis]
) -> dict[tuple[int, int | None], Estimate]:
    """Fit contrasts of levels and slopes of drawn factors in one model; a slope's level is None."""
    keys: list[tuple[int, int | None]] = []
    columns = []
    for at, axis in enumerate(axes):
        codes, steps = design.codes[:, at], axis.steps
        there = sorted(set(codes.tolist()))
        if axis.drawn and steps is not None:
            keys.append((at, None))
            columns.append(steps[codes] - steps[codes].mean())
            continue
        base = axis.reference if axis.reference in there else there[0]
        keys += [(at, level) for level in there if level != base]
        columns += [(codes == level).astype(np.float64) for level in there if level != base]
    found = fitted(values, np.column_stack(columns), [axes[at].name for at, _ in keys])
    return dict(zip(keys, found, strict=True))


@dataclass(frozen=True, kw_only=True)
class Trend:
    """What a step of 1 in a numeric factor does, in a straight line.

    Attributes:
        factor: The factor's number.
        slope: Mean over units of the slope within each; of a natural logarithm where ``log``.
        log: The factor's logarithm is what the line is drawn over.
    """

    factor: int
    slope: Estimate
    log: bool


def trends_of(values: Floats, design: Design, axes: Sequence[Axis]) -> list[Trend]:
    """Estimate the slopes of numeric factors, other factors held equal."""
    found = []
    for at, axis in enumerate(axes):
        if axis.steps is None or len(axis.labels) < 2:
            continue
        straight = [
            replace(each, drawn=True) if number == at else each for number, each in enumerate(axes)
        ]
        slope = _model(values, design, straight)[at, None]
        found.append(Trend(factor=at, slope=slope, log=axis.log))
    return found


# --- interactions --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Interaction:
    """How a contrast of one factor differs between two levels of another."""

    factors: tuple[int, int]
    levels: tuple[int, int]
    effect: Estimate
    p_adjusted: float | None


def interactions_of(values: Floats, design: Design, axes: Sequence[Axis]) -> list[Interaction]:
    """Estimate all interactions of pairs of factors; [] if the grid is not complete."""
    if not is_grid(design, axes):
        return []
    made = [
        ((one, other), (a, b))
        for one, other in combinations(range(len(axes)), 2)
        for a in range(len(axes[one].labels))
        for b in range(len(axes[other].labels))
        if a != axes[one].reference and b != axes[other].reference
    ]
    found = [
        interaction(
            values,
            design,
            factors,
            levels,
            (axes[factors[0]].reference, axes[factors[1]].reference),
        )
        for factors, levels in made
    ]
    corrected = adjusted([each.p for each in found])
    return [
        Interaction(factors=factors, levels=levels, effect=effect, p_adjusted=p)
        for (factors, levels), effect, p in zip(made, found, corrected, strict=True)
        if effect.value is not None
    ]


# --- the front -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class FrontRow:
    """One variant on the plane of quality and cost.

    Attributes:
        point: Its number.
        cost: Mean cost of a run.
        quality: Mean quality.
        front: No variant is as good for less, or better for as much.
        share: In which share of resamples of the units it is on the front; None where not counted.
    """

    point: int
    cost: Estimate
    quality: Estimate
    front: bool
    share: float | None


def front_of(
    cost: Floats, quality: Floats, cells: Sequence[int], *, lower: bool, seed: int
) -> list[FrontRow]:
    """Place the variants by cost and quality, each team once.

    Args:
        cost: Points by units.
        quality: Points by units.
        cells: The team of each point: the first point of a team stands for all.
        lower: Less of the quality is better.
        seed: Of the resampling.
    """
    first = _first_points(cells)
    costs, qualities = cost[first], quality[first]
    sign = -1.0 if lower else 1.0
    means = [[mean_estimate(row) for row in side] for side in (costs, qualities)]
    known = [_mean_values(side) for side in means]
    on_front: Flags = front(known[0], sign * known[1])
    shares = (
        front_shares(costs, sign * qualities, seed=seed).tolist()
        if len(first) <= _MOST_BOOTSTRAPPED and costs.shape[1] > 1
        else [None] * len(first)
    )
    return [
        FrontRow(point=point, cost=c, quality=q, front=bool(is_front), share=share)
        for point, c, q, is_front, share in zip(first, *means, on_front, shares, strict=True)
    ]


def _first_points(cells: Sequence[int]) -> list[int]:
    seen: dict[int, int] = {}
    for at, cell in enumerate(cells):
        seen.setdefault(cell, at)
    return list(seen.values())


def _mean_values(means: Sequence[Estimate]) -> Floats:
    return np.array([np.nan if each.value is None else each.value for each in means])
