"""A plan: what is to be run, what it may use at most, and what such runs used before.

Nothing is asked of any model. A bound says "at most", an estimate says of how many runs it is, and
what is not known is said to be unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orglab.engine.graph.team import Team
from orglab.engine.run.outcome import Unit
from orglab.engine.spec.model import Model
from orglab.engine.study.batch.batch import Arm, Batch, PlannedRun
from orglab.engine.study.plan.estimates import ModelEstimate, UsageEstimate, estimate, estimated_sum
from orglab.engine.study.plan.prices import priced
from orglab.engine.study.plan.upper_bounds import (
    ModelBound,
    UsageBound,
    UsageBounds,
    sum_of,
    upper_bounds,
)
from orglab.providers.base import JSON
from orglab.results.records import RunStatus
from orglab.results.store.reader import Reader, study_file
from orglab.results.usage.spending import Spending, spending, unreal
from orglab.results.usage.usage_history import past_runs, studies_under

_SIMULATED = frozenset(("scripted", "simulated"))
"""Providers whose replies no language model writes."""


@dataclass(frozen=True, kw_only=True)
class PlannedStudy:
    """One batch and the folder of its study.

    Attributes:
        name: What it is called.
        batch: The runs.
        folder: The study's folder; it need not be there.
    """

    name: str
    batch: Batch
    folder: Path


@dataclass(frozen=True, kw_only=True)
class ArmPlan:
    """The runs of one arm.

    Attributes:
        name: The arm.
        runs: Runs planned.
        done: Of them, completed or stopped in the study.
        failed: Failed; they stay so unless they are to be tried again.
        begun: Begun and not ended: they resume from their last durable reply.
        upper_bounds: What a run may use.
        estimate: What such runs used, or None where none are known.
    """

    name: str
    runs: int
    done: int
    failed: int
    begun: int
    upper_bounds: UsageBounds
    estimate: UsageEstimate | None

    @property
    def to_do(self) -> int:
        """Runs to be made or ended."""
        return self.runs - self.done - self.failed

    @property
    def bound(self) -> UsageBound:
        """What the runs to do may use at most, judges included."""
        return sum_of([self.upper_bounds.writing, self.upper_bounds.judging]).times(self.to_do)

    def as_json(self) -> dict[str, JSON]:
        """As plain data."""
        bounds = self.upper_bounds
        return {
            "arm": self.name,
            "runs": self.runs,
            "done": self.done,
            "failed": self.failed,
            "begun": self.begun,
            "to_do": self.to_do,
            "run_at_most": {
                "turns": bounds.turns,
                "writing": bounds.writing.as_json(),
                "judging": bounds.judging.as_json(),
            },
            "longest_prompts": dict(bounds.prompts),
            "run_likely": self.estimate.as_json() if self.estimate else None,
            "unknown_because": bounds.issue or None,
        }


@dataclass(frozen=True, kw_only=True)
class StudyPlan:
    """One study.

    Attributes:
        name: Its name.
        folder: Its folder.
        arms: Its arms.
        spent: What it has cost so far; None where it is not begun.
        shares: Calls of one dry run of each arm, and how many of them are made once because
            arms share them; None where they share none.
    """

    name: str
    folder: Path
    arms: tuple[ArmPlan, ...]
    spent: Spending | None
    shares: tuple[int, int] | None

    def as_json(self) -> dict[str, JSON]:
        """As plain data."""
        spent = self.spent
        return {
            "name": self.name,
            "folder": str(self.folder),
            "arms": [arm.as_json() for arm in self.arms],
            "spent": {
                "paid_usd": spent.paid_usd,
                "replies_of_unknown_price": spent.unpriced,
                "reserved_usd_for_cut_requests": spent.reserved_usd,
                "reserved_usd_for_uncounted_replies": spent.uncounted_usd,
            }
            if spent
            else None,
            "imagined_calls": self.shares[0] if self.shares else None,
            "imagined_calls_made": self.shares[1] if self.shares else None,
        }


@dataclass(frozen=True, kw_only=True)
class ModelPlan:
    """What all runs to do use of one model, or of a pool.

    Attributes:
        line: The model and who asks it, of one of the arms that use it.
        arms: The arms that use it.
        bound: At most.
        estimate: By what such runs used; None where an arm has no such runs.
        seconds: The least time that the model's own limits allow for it, and which limit that is;
            None where it has none, or the number of calls is unknown.
    """

    line: ModelBound
    arms: tuple[str, ...]
    bound: UsageBound
    estimate: ModelEstimate | None
    seconds: tuple[float, str] | None

    def as_json(self) -> dict[str, JSON]:
        """As plain data."""
        return {
            "name": self.line.name,
            "judging": self.line.judging,
            "models": [
                {"provider": each.provider, "model": each.model, "price": priced(each).as_json()}
                for each in self.line.models
            ],
            "arms": list(self.arms),
            "at_most": self.bound.as_json(),
            "likely": self.estimate.as_json() if self.estimate else None,
            "seconds_at_least": self.seconds[0] if self.seconds else None,
            "seconds_by": self.seconds[1] if self.seconds else None,
        }


def unreal_dollars(models: Iterable[Model]) -> str:
    """Return ``simulated`` or ``partly simulated``, as the dollars of models are; "" where all are real."""
    simulated = [each.provider in _SIMULATED for each in models]
    return unreal(sum(simulated), len(simulated))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be run, of one study or several.

    Attributes:
        studies: The studies.
        models: By model, over all of them.
    """

    studies: tuple[StudyPlan, ...]
    models: tuple[ModelPlan, ...]

    @property
    def arms(self) -> list[ArmPlan]:
        """The arms of all studies."""
        return [arm for study in self.studies for arm in study.arms]

    @property
    def unreal(self) -> str:
        """What its dollars are where nobody is paid; see ``unreal_dollars``."""
        return unreal_dollars(each for model in self.models for each in model.line.models)

    @property
    def bound(self) -> UsageBound:
        """What all runs to do may use at most."""
        return sum_of(arm.bound for arm in self.arms)

    @property
    def estimated_usd(self) -> tuple[float, float | None] | None:
        """Dollars of all runs to do by what such runs used, with their standard error."""
        waiting = [arm for arm in self.arms if arm.to_do]
        spreads = [(arm.estimate.usd if arm.estimate else None, arm.to_do) for arm in waiting]
        return estimated_sum(spreads)

    def as_json(self) -> dict[str, JSON]:
        """As plain data."""
        estimated_usd = self.estimated_usd
        return {
            "studies": [study.as_json() for study in self.studies],
            "models": [model.as_json() for model in self.models],
            "to_do": {
                "runs": sum(arm.to_do for arm in self.arms),
                "at_most": self.bound.as_json(),
                "likely_usd": estimated_usd[0] if estimated_usd else None,
                "likely_usd_error": estimated_usd[1] if estimated_usd else None,
            },
        }


async def plan_of(parts: Sequence[PlannedStudy], *, runs: Path = Path("runs")) -> Plan:
    """Look ahead; nothing is asked of any model, and nothing is written.

    Args:
        parts: What is to be run.
        runs: The folder in which runs of the same teams are looked for, beside each part's own.

    Raises:
        StoreError: A study is there and cannot be read.
    """
    known = studies_under(runs)
    memory: dict[tuple[object, ...], UsageBounds] = {}
    studies = [await _study(part, known, memory) for part in parts]
    return Plan(studies=tuple(studies), models=tuple(_models(studies)))


async def _study(
    part: PlannedStudy, known: Sequence[Path], memory: dict[tuple[object, ...], UsageBounds]
) -> StudyPlan:
    file = study_file(part.folder) if part.folder.is_dir() else part.folder / "study.sqlite"
    there = file.is_file()
    statuses: Mapping[str, RunStatus] = {}
    spent = None
    if there:
        with Reader(file) as reader:
            statuses, spent = reader.statuses(), spending(reader)
    planned: dict[str, list[PlannedRun]] = {}
    for run in part.batch.planned():
        planned.setdefault(run.arm.name, []).append(run)
    studies = [file, *known] if there else list(known)
    arms = [
        await _arm(arm, planned.get(arm.name, []), part.batch, statuses, studies, memory)
        for arm in part.batch.arms
    ]
    return StudyPlan(
        name=part.name,
        folder=part.folder,
        arms=tuple(arms),
        spent=spent,
        shares=_shares(arms) if part.batch.share_prefix else None,
    )


async def _arm(
    arm: Arm,
    planned: Sequence[PlannedRun],
    batch: Batch,
    statuses: Mapping[str, RunStatus],
    studies: Sequence[Path],
    memory: dict[tuple[object, ...], UsageBounds],
) -> ArmPlan:
    found = [statuses.get(run.id) for run in planned]
    failed = 0 if batch.retry_failed else found.count("failed")
    topology = arm.team.topology
    bounds = await _upper_bounds(arm.team, batch.units, batch.seed, memory)
    past = past_runs(studies, topology.hash, topology.normal.get("evaluators", []))
    return ArmPlan(
        name=arm.name,
        runs=len(planned),
        done=found.count("completed") + found.count("stopped"),
        failed=failed,
        begun=found.count("running"),
        upper_bounds=bounds,
        estimate=estimate(past, bounds.lines, shared=batch.share_prefix) if past else None,
    )


async def _upper_bounds(
    team: Team, units: Sequence[Unit], seed: int, memory: dict[tuple[object, ...], UsageBounds]
) -> UsageBounds:
    """One look at a team, however many studies of a sweep run it on the same units."""
    judges = str(team.topology.normal.get("evaluators"))
    key = (team.topology.hash, judges, seed, *(unit.id for unit in units))
    if key not in memory:
        memory[key] = await upper_bounds(team, units, seed)
    return memory[key]


def _shares(arms: Iterable[ArmPlan]) -> tuple[int, int]:
    calls = [identity for arm in arms for identity in arm.upper_bounds.identities]
    return len(calls), len(set(calls))


# --- by model ------------------------------------------------------------------------------------


def _models(studies: Sequence[StudyPlan]) -> list[ModelPlan]:
    found: dict[tuple[object, ...], list[tuple[ArmPlan, ModelBound]]] = {}
    for arm in (arm for study in studies for arm in study.arms):
        for line in arm.upper_bounds.lines:
            who = tuple((model.provider, model.model, str(model.options)) for model in line.models)
            found.setdefault((line.judging, line.name, who), []).append((arm, line))
    order = sorted(found.values(), key=lambda own: own[0][1].judging)
    return [_model(own) for own in order]


def _model(own: Sequence[tuple[ArmPlan, ModelBound]]) -> ModelPlan:
    line = own[0][1]
    bound = sum_of(each.bound.times(arm.to_do) for arm, each in own)
    parts = [
        (arm.estimate.lines.get(each.name) if arm.estimate else None, arm.to_do)
        for arm, each in own
        if arm.to_do
    ]
    expected = ModelEstimate.sum(parts)
    return ModelPlan(
        line=line,
        arms=tuple(dict.fromkeys(arm.name for arm, _ in own)),
        bound=bound,
        estimate=expected,
        seconds=_seconds(line, bound, expected),
    )


def _seconds(
    line: ModelBound, bound: UsageBound, expected: ModelEstimate | None
) -> tuple[float, str] | None:
    """Return the least time by the limits of a model that stands alone; of a pool's members it is unknown."""
    if len(line.models) != 1:
        return None
    (model,) = line.models
    calls = expected.calls if expected else bound.calls
    tokens = expected.input + expected.output if expected else _both(bound)
    found: list[tuple[float, str]] = []
    if model.requests_per_minute and calls is not None:
        found.append((calls / model.requests_per_minute * 60, "requests_per_minute"))
    if model.tokens_per_minute and tokens is not None:
        found.append((tokens / model.tokens_per_minute * 60, "tokens_per_minute"))
    if model.max_concurrency and expected is not None and expected.seconds:
        found.append((expected.seconds / model.max_concurrency, "max_concurrency"))
    return max(found, default=None)


def _both(bound: UsageBound) -> float | None:
    return None if bound.input is None or bound.output is None else bound.input + bound.output
