"""Attrition and compute: runs of each arm by status, and what they used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from orglab.results.statistics.data.cells import optional
from orglab.results.statistics.data.dataset import Dataset
from orglab.results.statistics.effects import COMPUTE
from orglab.results.statistics.plan import Contrast


@dataclass(frozen=True, kw_only=True)
class Attrition:
    """The runs of one arm.

    Attributes:
        arm: The arm.
        planned: Runs planned: every unit and replicate of the study.
        completed: Runs that completed.
        rate: Part that did not, 0 to 1.
        why: The others by what stopped or failed them, commonest first.
    """

    arm: str
    planned: int
    completed: int
    rate: float
    why: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class ComputeRow:
    """What the completed runs of one arm used; runs where it is not known are ``missing``."""

    column: str
    arm: str
    n: int
    missing: int
    mean: float | None
    total: float | None


@dataclass(frozen=True, kw_only=True)
class ComputeContrast:
    """Use in the arm against the reference, over pairs of runs in which both are known.

    Attributes:
        column: What is used.
        arm: The arm.
        reference: The arm it is compared with.
        n: Pairs of runs.
        difference: Mean of the arm minus mean of the reference.
        relative: difference / mean of the reference; None where that is 0.
    """

    column: str
    arm: str
    reference: str
    n: int
    difference: float | None
    relative: float | None


def attrition(dataset: Dataset) -> list[Attrition]:
    """Count the runs of each arm by status."""
    rows = []
    for arm, states in zip(dataset.axes.arms, dataset.state, strict=True):
        texts, counts = np.unique(states.reshape(-1).astype(str), return_counts=True)
        found = dict(zip(texts.tolist(), counts.tolist(), strict=True))
        completed = found.pop("", 0)
        why = dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))
        planned = states.size
        rate = 1 - completed / planned
        rows.append(Attrition(arm=arm, planned=planned, completed=completed, rate=rate, why=why))
    return rows


def compute(dataset: Dataset) -> list[ComputeRow]:
    """Average tokens, dollars, seconds and loops of the completed runs of each arm."""
    rows = []
    for name in (name for name in COMPUTE if dataset.has(name)):
        for arm in dataset.axes.arms:
            values = dataset.cells(name).judges_averaged().of(arm)
            known = values[np.isfinite(values)]
            done = int(dataset.completed[dataset.axes.arms.index(arm)].sum())
            rows.append(
                ComputeRow(
                    column=name,
                    arm=arm,
                    n=len(known),
                    missing=done - len(known),
                    mean=optional(known.mean()) if len(known) else None,
                    total=optional(known.sum()) if len(known) else None,
                )
            )
    return rows


def compute_contrasts(dataset: Dataset, contrasts: tuple[Contrast, ...]) -> list[ComputeContrast]:
    """Compare the compute of each arm with its reference."""
    return [
        _contrast(dataset, name, contrast)
        for name in COMPUTE
        if dataset.has(name)
        for contrast in contrasts
    ]


def _contrast(dataset: Dataset, name: str, contrast: Contrast) -> ComputeContrast:
    cells = dataset.cells(name).judges_averaged()
    one, other = cells.of(contrast.arm), cells.of(contrast.reference)
    both = np.isfinite(one) & np.isfinite(other)
    n = int(both.sum())
    means = (float(one[both].mean()), float(other[both].mean())) if n else None
    return ComputeContrast(
        column=name,
        arm=contrast.arm,
        reference=contrast.reference,
        n=n,
        difference=means[0] - means[1] if means else None,
        relative=means[0] / means[1] - 1 if means and means[1] else None,
    )
