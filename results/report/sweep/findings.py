"""Findings of a sweep, read from its store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from orglab.providers.base import JSON
from orglab.results.number_format import amount
from orglab.results.report.experiment.costs import Costs, read_costs
from orglab.results.report.experiment.data import Tables, read_tables
from orglab.results.report.experiment.plan_history import SweepPlan, runs_ended_before, sweep_plans
from orglab.results.report.page import StudyFindings, progress_of
from orglab.results.report.sweep.analysis import (
    Axis,
    FrontRow,
    Interaction,
    MainEffect,
    Trend,
    VariantRow,
    effects_of,
    front_of,
    interactions_of,
    trends_of,
    variants_of,
)
from orglab.results.statistics.data.cells import Floats, unit_means
from orglab.results.statistics.data.dataset import Dataset, dataset_of
from orglab.results.statistics.errors import StatisticsError
from orglab.results.statistics.models.main_effects import Design
from orglab.results.store.group_commit import StoreError
from orglab.results.store.reader import Reader

_PROCESS = ("usage", "approvals")
"""Evaluators that say how a run went, not how good its answer is."""
_MOST_INTERACTIONS = 200
"""Larger tables of interactions are not computed."""


@dataclass(frozen=True, kw_only=True)
class OutcomeFindings:
    """What the sweep says of one outcome.

    Attributes:
        name: The outcome.
        lower: Less of it is better.
        values: Points by units.
        variants: Every point.
        effects: Main effects.
        trends: Slopes of numeric factors.
        interactions: Differences of differences; () where there are too many.
    """

    name: str
    lower: bool
    values: Floats
    variants: Sequence[VariantRow]
    effects: Sequence[MainEffect]
    trends: Sequence[Trend]
    interactions: Sequence[Interaction]

    @property
    def ranked(self) -> list[VariantRow]:
        """The variants with a mean, the best first."""
        known = [row for row in self.variants if row.mean.value is not None]
        sign = 1 if self.lower else -1
        return sorted(known, key=lambda row: (sign * (row.mean.value or 0.0), row.point))


@dataclass(frozen=True, kw_only=True)
class SweepPlanChange:
    """A plan that took the place of another.

    Attributes:
        added: When.
        ended: Runs that had ended by then.
        words: What was changed.
        analysis: What the report looks at was changed.
    """

    added: str
    ended: int
    words: str
    analysis: bool


@dataclass(frozen=True, kw_only=True)
class SweepFindings(StudyFindings):
    """Findings of a sweep; arms of the tables are the teams that are run.

    Attributes:
        plan: The plan that counts.
        changes: Changes of plan.
        axes: The factors; the arms of an experiment come first.
        design: The points: each variant, under each arm of an experiment.
        names: Their names.
        teams: For each, the team (the store's arm) that stands for it.
        reference: The number of the point that the others are compared with.
        chosen: Why the first outcome stands for quality.
        outcomes: Findings of each outcome.
        cost: Unit of cost: ``dollars`` or ``tokens``.
        spent: Cost of completed runs, points by units.
        front: Quality against cost.
    """

    plan: SweepPlan
    changes: Sequence[SweepPlanChange]
    axes: Sequence[Axis]
    design: Design
    names: Sequence[str]
    teams: Sequence[str]
    reference: int
    chosen: str
    outcomes: Sequence[OutcomeFindings]
    cost: str
    spent: Floats | None
    front: Sequence[FrontRow]

    @property
    def main(self) -> OutcomeFindings | None:
        """What is said of the quality."""
        return self.outcomes[0] if self.outcomes else None


def read_sweep_findings(place: Path) -> SweepFindings:
    """Read and analyse a sweep.

    Raises:
        StoreError: There is no study, or it is no sweep.
    """
    with Reader(place) as reader:
        plans = sweep_plans(reader)
        if not plans:
            raise StoreError(f"{reader.path} is no sweep")
        plan = plans[-1]
        tables = read_tables(reader, plan.as_experiment, aside=_PROCESS)
        costs = read_costs(reader, tables, [cell["name"] for cell in plan.cells])
        chosen = _chosen_outcomes(reader, plan, tables)
        changes = list(_changes(reader, plans))
        meta = reader.meta()
    return _Reading(plan, tables, chosen).findings(costs, changes, meta)


# --- which outcomes ------------------------------------------------------------------------------


def _chosen_outcomes(reader: Reader, plan: SweepPlan, tables: Tables) -> tuple[list[str], str]:
    """Choose the outcomes to analyse, and say why."""
    declared = plan.normal["analysis"].get("primary") or []
    if declared:
        return list(declared), "declared as primary"
    if plan.normal["composites"]:
        return [next(iter(plan.normal["composites"]))], "not declared: the first composite"
    known = set(tables.scores["outcome"].tolist()) if len(tables.scores) else set()
    for each in plan.normal["evaluators"]:
        for evaluator in each:
            if evaluator not in _PROCESS:
                for name in _number_names(reader, evaluator):
                    if name in known:
                        return [name], f"not declared: the first number that {evaluator} gives"
    return [], "no evaluator gives a number that says how good an answer is"


def _number_names(reader: Reader, evaluator: str) -> list[str]:
    """List the numbers an evaluator gives, its own name first, without those of single drafts."""
    sql = """SELECT DISTINCT name, arguments FROM scores WHERE evaluator=? AND value IS NOT NULL
             AND label IS NULL AND name NOT LIKE '%@%' ORDER BY name"""
    rows = [(row["name"], row["arguments"]) for row in reader.rows(sql, (evaluator,))]
    rows.sort(key=lambda row: (row[0] != evaluator, "." in row[0], row[0]))
    return [
        text for name, arguments in rows for text in (name, f"{name} ({evaluator} {arguments})")
    ]


# --- changes of plan -----------------------------------------------------------------------------


def _changes(reader: Reader, plans: Sequence[SweepPlan]) -> Iterator[SweepPlanChange]:
    for before, after in pairwise(plans):
        found = list(_plan_differences(before.normal, after.normal))
        yield SweepPlanChange(
            added=after.added,
            ended=runs_ended_before(reader, after.added),
            words="; ".join(words for words, _ in found),
            analysis=any(analysis for _, analysis in found),
        )


def _plan_differences(
    before: Mapping[str, JSON], after: Mapping[str, JSON]
) -> Iterator[tuple[str, bool]]:
    """Yield what two plans differ in, and whether it changes the analysis."""
    for part, what in (("points", "variants"), ("units", "units")):
        old_size, size = len(before[part]), len(after[part])
        if old_size != size:
            yield f"{what}: {old_size:,}, then {size:,}", False
        elif before[part] != after[part]:
            yield f"{what}: {size:,} as before, and not the same ones", False
    old, new = before.get("contents", {}), after.get("contents", {})
    if edited := sum(old[unit] != new[unit] for unit in old.keys() & new.keys()):
        yield f"{amount(edited, 'unit')} edited under the same id", False
    if before["replicates"] != after["replicates"]:
        yield f"replicates: {before['replicates']}, then {after['replicates']}", False
    for part in ("analysis", "composites", "evaluators", "read"):
        if before[part] != after[part]:
            yield f"{part} changed", True


# --- the figures ---------------------------------------------------------------------------------


class _Reading:
    def __init__(self, plan: SweepPlan, tables: Tables, chosen: tuple[list[str], str]) -> None:
        self.plan, self.tables = plan, tables
        self.wanted, self.chosen = chosen
        self.errors: list[str] = []
        arms = [plan.normal["base"]["reference"]] if plan.over_experiment else []
        self.arms = [*arms, *(arm for arm in plan.arms if arm not in arms)]
        self.axes = list(self._axes())
        self.points = [(arm, at) for at in range(len(plan.points)) for arm in self.arms]
        self.cells = [plan.cell_of(arm, at) for arm, at in self.points]

    def _axes(self) -> Iterator[Axis]:
        if self.plan.over_experiment:
            yield Axis(name="arm", labels=tuple(self.arms), values=None, reference=0)
        for factor in self.plan.factors:
            yield Axis(
                name=factor.name,
                labels=factor.labels,
                values=tuple(map(float, factor.values)) if factor.numeric else None,
                reference=factor.labels.index(self.plan.reference(factor)),
                log=factor.log,
                drawn=factor.drawn and factor.numeric,
            )

    def findings(
        self, costs: Costs, changes: Sequence[SweepPlanChange], meta: Mapping[str, str]
    ) -> SweepFindings:
        dataset, design = self._dataset(), self._design()
        reference = self._reference(design)
        outcomes = self._outcomes(dataset, design, reference) if dataset is not None else []
        cost, spent = self._spent(dataset) if dataset is not None else ("tokens", None)
        numbers = design.cells.tolist()
        main = outcomes[0] if outcomes else None
        rows = (
            front_of(spent, main.values, numbers, lower=main.lower, seed=self.plan.normal["seed"])
            if main is not None and spent is not None
            else []
        )
        return SweepFindings(
            plan=self.plan,
            changes=changes,
            tables=self.tables,
            progress=progress_of(self.tables),
            costs=costs,
            axes=self.axes,
            design=design,
            names=self._point_names(),
            teams=self.cells,
            reference=reference,
            chosen=self.chosen,
            outcomes=outcomes,
            cost=cost,
            spent=spent,
            front=rows,
            errors=self.errors,
            meta=meta,
        )

    def _dataset(self) -> Dataset | None:
        if not self.tables.rows:
            self.errors.append("no run has begun")
            return None
        try:
            composites = self.plan.normal["composites"] if len(self.tables.scores) else {}
            return dataset_of(self.tables.scores, self.tables.runs, composites)
        except (StatisticsError, TypeError, ValueError) as error:
            self.errors.append(str(error))
            return None

    def _design(self) -> Design:
        codes = []
        for arm, at in self.points:
            row = [self.arms.index(arm)] if self.plan.over_experiment else []
            labels = self.plan.points[at]["levels"]
            row += [
                factor.labels.index(label)
                for factor, label in zip(self.plan.factors, labels, strict=True)
            ]
            codes.append(row)
        numbers = {name: at for at, name in enumerate(dict.fromkeys(self.cells))}
        return Design(
            codes=np.array(codes, dtype=np.intp),
            cells=np.array([numbers[name] for name in self.cells], dtype=np.intp),
        )

    def _reference(self, design: Design) -> int:
        """Return the point with every factor at its reference; the first if there is none."""
        wanted = np.array([axis.reference for axis in self.axes])
        found = np.flatnonzero((design.codes == wanted).all(axis=1))
        return int(found[0]) if len(found) else 0

    def _point_names(self) -> list[str]:
        if not self.plan.over_experiment:
            return [str(point["name"]) for point in self.plan.points]
        return [f"arm={arm} {self.plan.points[at]['name']}" for arm, at in self.points]

    def _outcomes(self, dataset: Dataset, design: Design, reference: int) -> list[OutcomeFindings]:
        lower = self.plan.normal["analysis"].get("lower_is_better", [])
        found = []
        for name in self.wanted:
            try:
                values = self._values(dataset, name)
            except StatisticsError as error:
                self.errors.append(str(error))
                continue
            found.append(
                OutcomeFindings(
                    name=name,
                    lower=name in lower,
                    values=values,
                    variants=variants_of(values, reference),
                    effects=effects_of(values, design, self.axes),
                    trends=trends_of(values, design, self.axes),
                    interactions=self._interactions(values, design),
                )
            )
        return found

    def _interactions(self, values: Floats, design: Design) -> Sequence[Interaction]:
        beside = [len(axis.labels) - 1 for axis in self.axes]
        cells = (sum(beside) ** 2 - sum(number**2 for number in beside)) // 2
        return interactions_of(values, design, self.axes) if cells <= _MOST_INTERACTIONS else ()

    def _values(self, dataset: Dataset, name: str) -> Floats:
        """Return unit means of an outcome: points by units."""
        cells = dataset.cells(name)
        places = {arm: at for at, arm in enumerate(dataset.axes.arms)}
        means = {
            cell: unit_means(np.asarray(cells.values[places[cell]]))
            for cell in dict.fromkeys(self.cells)
        }
        return np.array([means[cell] for cell in self.cells])

    def _spent(self, dataset: Dataset) -> tuple[str, Floats | None]:
        """Return cost in dollars if every price is known and not all are 0; else in tokens."""
        done = self.tables.runs[self.tables.runs["status"] == "completed"]
        if not len(done):
            return "tokens", None
        dollars = done["cost_usd"]
        if dollars.notna().all() and float(dollars.sum()) > 0:
            return "dollars", self._values(dataset, "cost_usd")
        if not float(done["tokens"].sum()):
            return "tokens", None
        return "tokens", self._values(dataset, "tokens")
