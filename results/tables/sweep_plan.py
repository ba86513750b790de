"""The frozen plans of a sweep: factors, points, and which runs come to which points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from orglab.providers.base import JSON
from orglab.results.report.experiment.plan_history import FrozenPlan, read_plans
from orglab.results.store.reader import Reader

__all__ = ["FrozenFactor", "SweepPlan", "arm_of", "is_sweep", "sweep_plan", "sweep_plans"]


@dataclass(frozen=True, kw_only=True)
class FrozenFactor:
    """A factor as it was frozen.

    Attributes:
        path: The path as written.
        name: Its short name.
        drawn: Its levels were drawn from a range.
        log: Evenly on the scale of logarithms.
        labels: Its levels that were run, in order.
        values: Their values.
    """

    path: str
    name: str
    drawn: bool
    log: bool
    labels: tuple[str, ...]
    values: tuple[JSON, ...]

    @property
    def numeric(self) -> bool:
        """Every level is a number, and there is more than one."""
        return len(self.values) > 1 and all(
            isinstance(value, int | float) and not isinstance(value, bool) for value in self.values
        )

    def value(self, label: str) -> JSON:
        """Return the value of a level."""
        return self.values[self.labels.index(label)]


@dataclass(frozen=True, kw_only=True)
class SweepPlan(FrozenPlan):
    """A sweep's plan as it was frozen."""

    @property
    def name(self) -> str:
        """The sweep's name."""
        return str(self.normal["name"])

    @property
    def over_experiment(self) -> bool:
        """The base is an experiment: every cell belongs to one of its arms."""
        return bool(self.normal["base"]["kind"] == "experiment")

    @property
    def arms(self) -> list[str]:
        """The experiment's arms; [""] over a topology."""
        return list(self.normal["base"]["arms"])

    @cached_property
    def factors(self) -> tuple[FrozenFactor, ...]:
        """The factors."""
        return tuple(
            FrozenFactor(
                path=each["path"],
                name=each["name"],
                drawn=each["drawn"],
                log=each["log"],
                labels=tuple(level["label"] for level in each["levels"]),
                values=tuple(level["value"] for level in each["levels"]),
            )
            for each in self.normal["factors"]
        )

    @property
    def points(self) -> Sequence[Mapping[str, JSON]]:
        """The points: ``{name, levels}``, the levels' labels in the order of the factors."""
        return list(self.normal["points"])

    @property
    def cells(self) -> Sequence[Mapping[str, JSON]]:
        """The teams that are run: ``{name, arm, spec, key, points}``."""
        return list(self.normal["cells"])

    @cached_property
    def by_name(self) -> Mapping[str, Mapping[str, JSON]]:
        """The cells by their name."""
        return {cell["name"]: cell for cell in self.cells}

    @cached_property
    def units(self) -> frozenset[str]:
        """Ids of the planned units."""
        return frozenset(self.normal["units"])

    @cached_property
    def as_experiment(self) -> FrozenPlan:
        """The plan as tables are read by: its teams are the arms."""
        normal, taken = self.normal, ("name", "question", "units", "contents", "replicates", "seed")
        return FrozenPlan(
            hash=self.hash,
            added=self.added,
            normal={
                **{key: normal[key] for key in taken if key in normal},
                "arms": {cell["name"]: cell["spec"] for cell in self.cells},
                "keys": {cell["name"]: cell["key"] for cell in self.cells},
                "composites": normal["composites"],
                "analysis": {"primary": normal["analysis"].get("primary", [])},
                "evaluators": normal["evaluators"],
            },
        )

    @property
    def runs(self) -> int:
        """How many runs are planned."""
        return len(self.cells) * len(self.normal["units"]) * int(self.normal["replicates"])

    def key(self, name: str, spec: str) -> str:
        """Return what distinguishes the runs and calls of a stored arm from others'."""
        return f"{arm_of(name)} {spec}" if self.over_experiment else spec

    def cell_of(self, arm: str, point: int) -> str:
        """Return the cell that stands for a point under an arm."""
        return self._places[arm, point]

    @cached_property
    def _places(self) -> Mapping[tuple[str, int], str]:
        return {
            (cell["arm"], point): cell["name"] for cell in self.cells for point in cell["points"]
        }

    def reference(self, factor: FrozenFactor) -> str:
        """Return the level that others are compared with: the declared one, else the first."""
        wanted = self.normal["analysis"].get("reference", {}).get(factor.path, factor.labels[0])
        pairs = zip(factor.labels, factor.values, strict=True)
        return next((label for label, value in pairs if wanted in (label, value)), factor.labels[0])


def arm_of(name: str) -> str:
    """Return the experiment's arm that a team's name begins with."""
    return name.partition(" ")[0].removeprefix("arm=")


def sweep_plans(reader: Reader) -> list[SweepPlan]:
    """Read the plans of a sweep, oldest first; [] for other studies."""
    return read_plans(reader, "sweep", SweepPlan)


def sweep_plan(reader: Reader) -> SweepPlan | None:
    """Read the plan that counts, the last one; None for other studies."""
    return next(reversed(sweep_plans(reader)), None)


def is_sweep(reader: Reader) -> bool:
    """Check whether the study is a sweep."""
    return any(True for _ in reader.rows("SELECT 1 FROM specs WHERE kind='sweep' LIMIT 1"))
