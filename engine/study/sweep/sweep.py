"""A sweep as data: factors, points, the teams that they come to, the frozen plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orglab.engine.graph.team import Team
from orglab.engine.run.calls.call_key import digest
from orglab.engine.study.batch.batch import Arm
from orglab.engine.study.experiment.experiment import Experiment, StudyDesign
from orglab.engine.study.sweep.designs import Point
from orglab.engine.study.sweep.factors import Factor
from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import canonical

_LONGEST = 150
"""Longer names are cut, with a digest of the whole: file systems take 255 bytes."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One team that is run: one or several points of the design come to it.

    Attributes:
        name: Its name in records: what differs, ``cap=2 persona=cautious``.
        arm: The experiment's arm; "" over a topology.
        team: The team.
        points: Numbers of the points that come to this very team.
    """

    name: str
    arm: str
    team: Team
    points: tuple[int, ...]

    @property
    def key(self) -> str:
        """Tells its runs and calls from others': by the team itself, so that renaming keeps them."""
        spec = self.team.topology.hash
        return f"{self.arm} {spec}" if self.arm else spec


@dataclass(frozen=True, kw_only=True)
class Sweep(StudyDesign):
    """A loaded sweep.

    Attributes:
        base: The base's file as written.
        experiment: The base, where it is an experiment.
        bases: Arm -> hash of its team as it stands in the base; "" is the arm of a topology.
        factors: What varies.
        design: The design as written.
        points: The points, in the design's order.
        cells: The teams that are run, each once.
    """

    base: str
    experiment: Experiment | None
    bases: Mapping[str, str]
    factors: Sequence[Factor]
    design: JSON
    points: Sequence[Point]
    cells: Sequence[Cell]

    @property
    def hash(self) -> str:
        """Digest of what its runs have in common: base, seed, pairing.

        Values, factors, designs, units and replicates may grow in the same study.
        """
        bases = [[arm, spec] for arm, spec in self.bases.items()]
        return digest(canonical(["sweep", self.name, bases, self.seed, self.share_prefix]))

    def batch_arms(self) -> list[Arm]:
        """Return an arm for each team that is run."""
        return [Arm(name=cell.name, team=cell.team, key=cell.key) for cell in self.cells]

    def plan(self) -> dict[str, JSON]:
        """Return the frozen plan: what is declared before the first run, as plain data."""
        names = differing(self.factors, self.points)
        return {
            "kind": "sweep",
            "hash": self.hash,
            "name": self.name,
            "question": self.question,
            "base": {
                "file": self.base,
                "kind": "topology" if self.experiment is None else "experiment",
                "arms": dict(self.bases),
                "reference": self._reference_arm(),
            },
            "design": self.design,
            "factors": [self._factor(at) for at in range(len(self.factors))],
            "points": [
                {
                    "name": point_name(self.factors, point, names=names),
                    "levels": [level.label for level in point],
                }
                for point in self.points
            ],
            "cells": [
                {
                    "name": cell.name,
                    "arm": cell.arm,
                    "spec": cell.team.topology.hash,
                    "key": cell.key,
                    "points": list(cell.points),
                }
                for cell in self.cells
            ],
            **self.shared_plan(self.cells[0].team),
        }

    def _reference_arm(self) -> str:
        """Return the arm that others are compared with; "" over a topology."""
        if self.experiment is None:
            return ""
        contrasts = self.experiment.contrasts
        return contrasts[0][1] if contrasts else next(iter(self.bases))

    def _factor(self, at: int) -> dict[str, JSON]:
        """Return a factor with every level that a point has, in written order; drawn ones by size."""
        factor = self.factors[at]
        met = {point[at].label: point[at] for point in self.points}
        levels = [level for level in factor.levels if level.label in met]
        if factor.span is not None:
            levels = sorted(met.values(), key=lambda level: level.value)
        return {
            "path": factor.path,
            "name": factor.name,
            "drawn": factor.span is not None,
            "log": factor.span is not None and factor.span.log,
            "levels": [{"label": level.label, "value": level.value} for level in levels],
        }


def differing(factors: Sequence[Factor], points: Sequence[Point]) -> list[str]:
    """Return the factors with more than one level; all, where there is no such factor."""
    names = [
        factor.name
        for at, factor in enumerate(factors)
        if len({point[at].label for point in points}) > 1
    ]
    return names or [factor.name for factor in factors]


def point_name(
    factors: Sequence[Factor], point: Point, *, names: Sequence[str], arm: str = ""
) -> str:
    """Return what a variant is called: ``cap=2 persona=cautious``.

    Args:
        factors: The factors.
        point: A level of each.
        names: The factors that are reported.
        arm: The experiment's arm, which stands first.
    """
    parts = [f"arm={arm}"] if arm else []
    parts += [
        f"{factor.name}={level.label}"
        for factor, level in zip(factors, point, strict=True)
        if factor.name in names
    ]
    name = " ".join(parts)
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 7]}~{digest(name)[:6]}"
