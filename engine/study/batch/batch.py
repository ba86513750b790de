"""A batch: the runs that are planned, and how far they have come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from orglab.engine.graph.team import Team
from orglab.engine.run.calls.call_key import draw
from orglab.engine.run.outcome import Unit
from orglab.engine.study.batch.budget import Budget
from orglab.engine.study.batch.units import unit_content
from orglab.providers.base import Provider
from orglab.results.store.run_id import run_id


@dataclass(frozen=True, kw_only=True, slots=True)
class Arm:
    """One team of a batch.

    Attributes:
        name: Its name in records: the arm's, or the topology's outside experiments.
        team: The team.
        key: Tells its runs and calls from those of other arms; "" outside experiments.
    """

    name: str
    team: Team
    key: str = ""

    @classmethod
    def alone(cls, team: Team) -> Arm:
        """Return a team outside any experiment."""
        return cls(name=team.topology.name, team=team)


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedRun:
    """One run of a batch.

    Attributes:
        id: Its id: the spec's hash, the unit's id and content, replicate, seed and arm.
        arm: The arm.
        unit: The unit.
        replicate: From 0.
        order: Its place in the plan.
    """

    id: str
    arm: Arm
    unit: Unit
    replicate: int
    order: int


@dataclass(kw_only=True, slots=True)
class BatchTally:
    """How far a batch has come.

    Numbers are of this process alone, but for ``planned``, ``kept`` and ``others``.

    Attributes:
        planned: Runs planned.
        teams: Teams that each unit is run with, one after another.
        kept: Runs that earlier processes had ended.
        completed: Runs completed.
        stopped: Runs stopped by a limit or a cap.
        failed: Runs failed, those of earlier processes that were not tried again included.
        resumed: Runs that went on from what an earlier process left.
        asked_again: Calls that were under way when a process died, and were retried.
        turns: Turns taken.
        loops: Verdicts that obliged, and uses of closing links.
        reused: Calls whose reply another study had paid for.
        reused_usd: US dollars that they had cost, as far as that is known.
        tokens: Tokens paid for: those of replies that arms share count once, of other studies never.
        cost_usd: US dollars of calls whose price is known, counted likewise.
        unpriced: Calls whose price is not known, counted likewise.
        others: Runs in the study that are not of this batch: other units, seeds or replicates.
        interrupted: The user stopped the batch.
        budget: The money of the study, where it is bounded.
        warnings: What a user should know, as text.
    """

    planned: int = 0
    teams: int = 1
    kept: int = 0
    completed: int = 0
    stopped: int = 0
    failed: int = 0
    resumed: int = 0
    asked_again: int = 0
    reused: int = 0
    reused_usd: float = 0.0
    turns: int = 0
    loops: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    others: int = 0
    interrupted: bool = False
    budget: Budget | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def done(self) -> int:
        """Runs that have ended, in this process or an earlier one."""
        return self.kept + self.completed + self.stopped + self.failed


Progress: TypeAlias = Callable[[BatchTally], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """What is to be run.

    Attributes:
        arms: The teams, one an arm; all run on the same units.
        units: The units of work.
        replicates: Runs of each unit under each arm.
        seed: The root seed.
        share_prefix: Identical calls are made once for all arms, until the arms diverge.
        retry_failed: Failed runs are tried again, and calls of judges that could not be made.
        at_once: Runs under way at once; None: as many as the models have room for.
        providers: Providers in place of the spec's, by alias; ``*`` serves any other.
        kept: The file of the calls that studies keep for each other; None: none is read or kept.
        max_cost: US dollars that the study may cost in all, earlier processes included; None: any.
    """

    arms: Sequence[Arm]
    units: Sequence[Unit]
    replicates: int = 1
    seed: int = 0
    share_prefix: bool = False
    retry_failed: bool = False
    at_once: int | None = None
    providers: Mapping[str, Provider] = field(default_factory=dict)
    kept: Path | None = None
    max_cost: float | None = None

    @property
    def teams(self) -> list[Team]:
        """The team of each arm."""
        return [arm.team for arm in self.arms]

    def planned(self) -> Iterator[PlannedRun]:
        """Yield the runs in their order: all units of a replicate, then the next.

        With several arms units come in a seeded order, and the arms of a unit one after another,
        in an order of their own: no arm has the first hour of a server to itself.
        """
        contents = [unit_content(unit) for unit in self.units]
        order = 0
        for replicate in range(self.replicates):
            for index in self._shuffled(replicate):
                unit = self.units[index]
                for arm in self._arms(unit, replicate):
                    spec = arm.team.topology.hash
                    name = run_id(spec, unit.id, contents[index], replicate, self.seed, arm.key)
                    yield PlannedRun(id=name, arm=arm, unit=unit, replicate=replicate, order=order)
                    order += 1

    def _shuffled(self, replicate: int) -> Sequence[int]:
        indexes = range(len(self.units))
        if len(self.arms) == 1:
            return indexes
        return sorted(indexes, key=lambda at: self._draw(self.units[at], replicate, "order"))

    def _arms(self, unit: Unit, replicate: int) -> Sequence[Arm]:
        return sorted(self.arms, key=lambda arm: self._draw(unit, replicate, f"arm {arm.name}"))

    def _draw(self, unit: Unit, replicate: int, what: str) -> float:
        return draw(self.seed, unit.id, replicate, what, "", 0)
