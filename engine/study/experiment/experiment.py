"""An experiment as data: arms, contrasts, treatment; its hash, its frozen plan, the guard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orglab.engine.graph.team import Team
from orglab.engine.run.calls.call_key import digest
from orglab.engine.run.engine import Unit
from orglab.engine.study.batch.units import unit_content
from orglab.engine.study.experiment.declarations import Contrast
from orglab.engine.study.experiment.diff import Difference, differences, undeclared
from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import canonical
from orglab.results.word_diff import changed_words

__all__ = ["Experiment", "UndeclaredDifference", "guard", "tested"]


class UndeclaredDifference(Exception):
    """Raised when arms differ beyond the treatment; ``lines`` says where and how."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = tuple(lines)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A loaded experiment.

    Attributes:
        name: Its name.
        question: What it asks, "" where it does not say.
        folder: The document's folder.
        arms: Arm -> compiled team, in written order.
        contrasts: Pairs (arm, reference).
        treatments: For each contrast the paths in which its arms may differ.
        units: The units of work.
        replicates: Runs of each unit under each arm.
        seed: The root seed.
        share_prefix: Identical calls are made once, until the arms diverge.
        composites: Outcome -> the outcomes whose mean it is.
        analysis: What is tested, as written.
        read: SHA-256 of each file that evaluators read, by its path in ``folder``.
        document: The document as plain data.
    """

    name: str
    question: str
    folder: Path
    arms: Mapping[str, Team]
    contrasts: Sequence[Contrast]
    treatments: Mapping[Contrast, Sequence[str]]
    units: Sequence[Unit]
    replicates: int
    seed: int
    share_prefix: bool
    composites: Mapping[str, Sequence[str]]
    analysis: Mapping[str, JSON]
    read: Mapping[str, str]
    document: Mapping[str, JSON]

    @property
    def hash(self) -> str:
        """Digest of what makes its runs: arms, seed, pairing.

        Units, replicates and analysis may grow or change in the same study; frozen plans tell.
        """
        arms = [[name, team.topology.hash] for name, team in self.arms.items()]
        return digest(canonical([self.name, arms, self.seed, self.share_prefix]))

    def plan(self) -> dict[str, JSON]:
        """Return the frozen plan: what is declared before the first run, as plain data."""
        return {
            "kind": "experiment",
            "name": self.name,
            "question": self.question,
            "arms": {name: team.topology.hash for name, team in self.arms.items()},
            "contrasts": [list(pair) for pair in self.contrasts],
            "treatment": {f"{a} - {b}": list(paths) for (a, b), paths in self.treatments.items()},
            "units": [unit.id for unit in self.units],
            "contents": {unit.id: unit_content(unit) for unit in self.units},
            "replicates": self.replicates,
            "seed": self.seed,
            "share_prefix": self.share_prefix,
            "evaluators": next(iter(self.arms.values())).topology.normal["evaluators"],
            "composites": {name: list(parts) for name, parts in self.composites.items()},
            "analysis": dict(self.analysis),
            "read": dict(sorted(self.read.items())),
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


def tested(found: Sequence[Difference]) -> list[Difference]:
    """Without evaluators: they are the experiment's own, the same for all arms."""
    return [each for each in found if each.kind != "evaluation"]


def _difference_text(found: Difference) -> str:
    if isinstance(found.left, str) and isinstance(found.right, str):
        return f"{found.where} ({found.kind}): {changed_words(found.left, found.right)}"
    return f"{found.where} ({found.kind}): {found.right!r} and {found.left!r}"
