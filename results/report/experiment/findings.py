"""Findings of an experiment, read from its store."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import loads_stored
from orglab.results.report.experiment.costs import read_costs
from orglab.results.report.experiment.data import Tables, read_tables
from orglab.results.report.experiment.plan_history import (
    FrozenPlan,
    PlanChange,
    comparisons,
    frozen_plans,
    plan_changes,
    undeclared_evaluators,
)
from orglab.results.report.page import StudyFindings, progress_of
from orglab.results.statistics.analysis import Analysis, analyse_dataset
from orglab.results.statistics.data.dataset import Dataset, dataset_of
from orglab.results.statistics.errors import StatisticsError
from orglab.results.statistics.plan import AnalysisPlan, Contrast, FollowupsPlan, plan_of
from orglab.results.store.journal.history import use_of
from orglab.results.store.reader import Reader
from orglab.results.store.row_codec import event_of_row
from orglab.results.usage.served_models import Drift, drifts
from orglab.results.usage.spending import Spending, spending


class LoopRow(NamedTuple):
    """Verdicts of one kind under one arm.

    Attributes:
        arm: The arm.
        link: The authority link, or the closing forward link.
        by: ``judgement``, ``checks``, ``coin``; ``forward`` for a closing link.
        action: The action; ``passed on`` for a closing link.
        number: How often.
        obliged: How often it obliged a copy to act: a loop.
        forced: How often it came to nothing, the cap being used up.
        runs: In how many runs.
    """

    arm: str
    link: str
    by: str
    action: str
    number: int
    obliged: int
    forced: int
    runs: int


@dataclass(kw_only=True)
class HedgeCounts:
    """Hedges in the measured outputs of one arm.

    Attributes:
        runs: Runs counted.
        words: Words of their outputs.
        classes: By class.
        terms: By term.
    """

    runs: int = 0
    words: int = 0
    classes: Counter[str] = field(default_factory=Counter)
    terms: Counter[str] = field(default_factory=Counter)

    def rate(self, number: int) -> float | None:
        """Return the rate per 1,000 words; None without words."""
        return 1000 * number / self.words if self.words else None


_VERDICTS = """
SELECT run, json_extract(body, '$.link') AS link, json_extract(body, '$.by') AS by,
  json_extract(body, '$.action') AS action, COUNT(*) AS number,
  TOTAL(json_extract(body, '$.obliged')) AS obliged, TOTAL(json_extract(body, '$.forced')) AS forced
FROM events WHERE kind='verdict' GROUP BY run, link, by, action
"""
_USES = """
SELECT run, seq, tick, kind, body FROM events
WHERE kind='delivered' AND json_extract(body, '$.use') IS NOT NULL
"""


def read_loops(reader: Reader, tables: Tables) -> list[LoopRow]:
    """Count verdicts by arm, link, speaker and action, over every planned run that was begun."""
    numbers, found = tables.numbers, dict[tuple[str, str, str, str], list[int]]()
    for row in reader.rows(_VERDICTS):
        if row["run"] in numbers:
            key = (numbers[row["run"]].arm, str(row["link"]), str(row["by"]), str(row["action"]))
            counts = found.setdefault(key, [0, 0, 0, 0])
            more = (row["number"], row["obliged"], row["forced"], 1)
            found[key] = [count + int(add) for count, add in zip(counts, more, strict=True)]
    for (run, link), uses in _closing_link_uses(reader).items():
        if run in numbers:
            key = (numbers[run].arm, link, "forward", "passed on")
            counts = found.setdefault(key, [0, 0, 0, 0])
            more = (uses, uses, 0, 1)
            found[key] = [count + add for count, add in zip(counts, more, strict=True)]
    return [LoopRow(*key, *counts) for key, counts in sorted(found.items())]


def _closing_link_uses(reader: Reader) -> Counter[tuple[int, str]]:
    """Count the uses of closing links by run and link; copies that deliver together use it once."""
    texts = {
        (row["run"], use)
        for row in reader.rows(_USES)
        if (use := use_of(event_of_row(tuple(row)[1:]))) is not None
    }
    return Counter((run, link) for run, (_, link, _) in texts)


def read_hedges(reader: Reader, tables: Tables) -> Mapping[str, Mapping[str, HedgeCounts]]:
    """Read the hedges of completed runs, by set of arguments and by arm."""
    numbers = tables.numbers
    found: dict[str, dict[str, HedgeCounts]] = {}
    sql = """SELECT run, arguments, detail FROM scores
             WHERE evaluator='hedges' AND name='hedges' AND value IS NOT NULL ORDER BY run"""
    for row in reader.rows(sql):
        run = numbers.get(row["run"])
        if run is None or run.status != "completed":
            continue
        counts = found.setdefault(row["arguments"], {}).setdefault(run.arm, HedgeCounts())
        detail = loads_stored(row["detail"])
        counts.runs += 1
        counts.words += detail["words"]
        counts.terms.update(detail["by_term"])
        counts.classes.update(detail["by_class"])
    return found


_DETAIL = re.compile(
    r"@\d+$|^(tokens|seconds|tool_calls|calls|judge_panel)\.|^hedges\.|^cost_usd\."
)
_OF_USAGE = frozenset(("asked_again", "repairs", "simulated", "comments", "reviews", "unreviewed"))


@dataclass(frozen=True, kw_only=True)
class ExperimentFindings(StudyFindings):
    """ExperimentFindings of an experiment.

    Attributes:
        changes: Changes of plan.
        later: Evaluators that the plan does not have, and whose scores the study holds.
        comparisons: How the arms of each contrast differ, by ``arm - reference``.
        declared: Whether the plan declares an analysis; if not, everything is exploratory.
        analysis_plan: What was computed.
        analysis: The results; None if nothing could be computed (see ``errors``).
        dataset: The tables as the statistics read them, or None.
        loops: Verdicts by link and action.
        hedges: Hedges by arguments and arm.
        drifts: Models that were served by several versions.
        spending: What was paid, and interrupted requests.
    """

    changes: Sequence[PlanChange]
    later: Sequence[str]
    comparisons: Mapping[str, Mapping[str, JSON]]
    declared: bool
    analysis_plan: AnalysisPlan | None
    analysis: Analysis | None
    dataset: Dataset | None
    loops: Sequence[LoopRow]
    hedges: Mapping[str, Mapping[str, HedgeCounts]]
    drifts: Sequence[Drift] = ()
    spending: Spending | None = None

    @property
    def level(self) -> float:
        """Confidence of intervals, 0 to 1."""
        return self.analysis_plan.level if self.analysis_plan else 0.95


def read_findings(place: Path) -> ExperimentFindings:
    """Read and analyse an experiment.

    Raises:
        StoreError: There is no study, or it is no experiment.
    """
    with Reader(place) as reader:
        plans = frozen_plans(reader)
        plan = plans[-1]
        tables = read_tables(reader, plan)
        computed = _computed(plan, tables)
        return ExperimentFindings(
            plan=plan,
            changes=plan_changes(reader, plans),
            later=undeclared_evaluators(reader, plan),
            comparisons=comparisons(reader),
            declared=bool(plan.normal["analysis"].get("primary")),
            analysis_plan=computed.plan,
            analysis=computed.analysis,
            dataset=computed.dataset,
            errors=computed.errors,
            tables=tables,
            progress=progress_of(tables),
            costs=read_costs(reader, tables, plan.arms),
            loops=read_loops(reader, tables),
            hedges=read_hedges(reader, tables),
            meta=reader.meta(),
            drifts=drifts(reader),
            spending=spending(reader),
        )


# --- the analysis --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Computed:
    plan: AnalysisPlan | None = None
    analysis: Analysis | None = None
    dataset: Dataset | None = None
    errors: tuple[str, ...] = ()


def _computed(plan: FrozenPlan, tables: Tables) -> _Computed:
    if not len(tables.scores):
        return _Computed(errors=("no run has a score yet",))
    try:
        asked = _analysis_plan(plan, tables)
        dataset = dataset_of(tables.scores, tables.runs, asked.composites)
    except (StatisticsError, TypeError, ValueError) as error:
        return _Computed(errors=(str(error),))
    return _analysed(asked, dataset, tables)


def _analysed(asked: AnalysisPlan, dataset: Dataset, tables: Tables) -> _Computed:
    """Run the whole analysis; if a part of it fails, the effects alone."""
    try:
        analysis = analyse_dataset(dataset, asked, tables.drafts)
    except StatisticsError as error:
        errors = (str(error),)
    else:
        return _Computed(plan=asked, analysis=analysis, dataset=dataset)
    less = replace(
        asked, covariates=(), leave_one_out=(), mixed=(), dose=(), drafts=(), subsets={}, by=()
    )
    try:
        analysis = analyse_dataset(dataset, less, tables.drafts)
    except StatisticsError as error:
        return _Computed(plan=asked, dataset=dataset, errors=(*errors, str(error)))
    words = "only the effects are shown: covariates, leaving out, models, dose, drafts and subsets"
    return _Computed(
        plan=less, analysis=analysis, dataset=dataset, errors=(*errors, f"{words} are not computed")
    )


def _analysis_plan(plan: FrozenPlan, tables: Tables) -> AnalysisPlan:
    """Return the declared analysis; without one, every score described and nothing tested."""
    normal = plan.normal
    contrasts = [list(pair) for pair in plan.contrasts]
    if normal["analysis"].get("primary"):
        asked = {"contrasts": contrasts, **normal["analysis"]}
        return plan_of({"seed": normal["seed"], **asked}, normal["composites"])
    outcomes = [*normal["composites"], *_main_scores(tables)]
    return AnalysisPlan(
        contrasts=tuple(Contrast(arm=arm, reference=other) for arm, other in contrasts),
        primary=(),
        composites=normal["composites"],
        followups=FollowupsPlan(outcomes=tuple(dict.fromkeys(outcomes)), correct="none"),
    )


def _main_scores(tables: Tables) -> list[str]:
    names = tables.scores.loc[tables.scores["value"].notna(), "outcome"].drop_duplicates()
    return [name for name in sorted(names) if not _DETAIL.search(name) and name not in _OF_USAGE]
