"""An experiment as data: arms, contrasts, treatment; its hash, its frozen plan, the guard."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orglab.engine.graph.team import Team
from orglab.engine.run.calls.call_key import digest
from orglab.engine.run.outcome import Unit
from orglab.engine.study.batch.batch import Arm, Batch
from orglab.engine.study.batch.units import unit_content
from orglab.engine.study.experiment.declarations import Contrast
from orglab.engine.study.experiment.diff import Difference, differences, tested, undeclared
from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import canonical
from orglab.results.word_diff import changed_words


class UndeclaredDifference(Exception):
    """Raised when arms differ beyond the treatment; ``lines`` says where and how."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = tuple(lines)


@dataclass(frozen=True, kw_only=True)
class StudyDesign(ABC):
    """What experiments and sweeps declare alike.

    Attributes:
        name: Its name.
        question: What it asks, "" where it does not say.
        folder: The document's folder.
        units: The units of work.
        replicates: Runs of each unit under each team.
        seed: The root seed.
        share_prefix: Identical calls are made once, until the teams diverge.
        composites: Outcome -> the outcomes whose mean it is.
        analysis: The analysis as written.
        read: SHA-256 of each file that evaluators read, by its path in ``folder``.
        document: The document as plain data.
    """

    name: str
    question: str = ""
    folder: Path
    units: Sequence[Unit]
    replicates: int = 1
    seed: int = 0
    share_prefix: bool = False
    composites: Mapping[str, Sequence[str]] = field(default_factory=dict)
    analysis: Mapping[str, JSON] = field(default_factory=dict)
    read: Mapping[str, str]
    document: Mapping[str, JSON] = field(default_factory=dict)

    @property
    @abstractmethod
    def hash(self) -> str:
        """Digest of what its runs have in common."""

    @abstractmethod
    def batch_arms(self) -> list[Arm]:
        """Return the teams that are run."""

    def batch(self, **options: Any) -> Batch:  # noqa: ANN401 - Batch's own fields
        """Return its runs; ``options`` are further fields of ``Batch``."""
        return Batch(
            arms=self.batch_arms(),
            units=self.units,
            replicates=self.replicates,
            seed=self.seed,
            share_prefix=self.share_prefix,
            **options,
        )

    def shared_plan(self, team: Team) -> dict[str, JSON]:
        """Return the part of the frozen plan that experiments and sweeps share."""
        return {
            "units": [unit.id for unit in self.units],
            "contents": {unit.id: unit_content(unit) for unit in self.units},
            "replicates": self.replicates,
            "seed": self.seed,
            "share_prefix": self.share_prefix,
            "evaluators": team.topology.normal["evaluators"],
            "composites": {name: list(parts) for name, parts in self.composites.items()},
            "analysis": dict(self.analysis),
            "read": dict(sorted(self.read.items())),
        }


@dataclass(frozen=True, kw_only=True)
class Experiment(StudyDesign):
    """A loaded experiment.

    Attributes:
        arms: Arm -> compiled team, in written order.
        contrasts: Pairs (arm, reference).
        treatments: For each contrast the paths in which its arms may differ.
    """

    arms: Mapping[str, Team]
    contrasts: Sequence[Contrast]
    treatments: Mapping[Contrast, Sequence[str]]

    @property
    def hash(self) -> str:
        """Digest of what makes its runs: arms, seed, pairing.

        Units, replicates and analysis may change in the same study; frozen plans record them.
        """
        arms = [[name, team.topology.hash] for name, team in self.arms.items()]
        return digest(canonical([self.name, arms, self.seed, self.share_prefix]))

    def batch_arms(self) -> list[Arm]:
        """Return the arms, each its own team."""
        return [Arm(name=name, team=team, key=name) for name, team in self.arms.items()]

    def plan(self) -> dict[str, JSON]:
        """Return the frozen plan: what is declared before the first run, as plain data."""
        return {
            "kind": "experiment",
            "name": self.name,
            "question": self.question,
            "arms": {name: team.topology.hash for name, team in self.arms.items()},
            "contrasts": [list(pair) for pair in self.contrasts],
            "treatment": {f"{a} - {b}": list(paths) for (a, b), paths in self.treatments.items()},
            **self.shared_plan(next(iter(self.arms.values()))),
        }


def guard(experiment: Experiment) -> None:
    """Refuse arms that differ beyond the treatment.

    Raises:
        UndeclaredDifference: With each difference and, for texts, the words.
    """
    lines: list[str] = []
    for (arm, reference), paths in experiment.treatments.items():
        left = experiment.arms[reference].topology.normal
        right = experiment.arms[arm].topology.normal
        extra = undeclared(tested(differences(left, right)), paths)
        lines += [f"{arm} and {reference} differ in {_difference_text(each)}" for each in extra]
    if lines:
        hint = "declare it under `treatment`, or make the arms equal there"
        raise UndeclaredDifference([*lines, hint])


def _difference_text(found: Difference) -> str:
    if isinstance(found.left, str) and isinstance(found.right, str):
        return f"{found.where} ({found.kind}): {changed_words(found.left, found.right)}"
    return f"{found.where} ({found.kind}): {found.right!r} and {found.left!r}"
