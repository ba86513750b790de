"""The figures of studies side by side, one column an arm: what the end of a run prints.

Missing is never 0: every figure says of how many runs it is, and how many are missing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import loads_stored
from orglab.providers.terminal_safety import visible
from orglab.results.display.layout import printed
from orglab.results.display.measures import MeasureSummary, short_number
from orglab.results.number_format import dollars, duration
from orglab.results.report.experiment.plan_history import (
    SweepPlan,
    current_numbers,
    current_runs,
    frozen_plans,
    planned_keys,
    sweep_plan,
)
from orglab.results.store.reader import Reader, RunRow
from orglab.results.usage.served_models import Drift, drift_text, drifts
from orglab.results.usage.spending import money_notes, unreal

_DETAIL = re.compile(r"@\d+$|^hedges\.|^judge_panel\.")
"""Names of scores of single drafts, of classes, and of how judging went; they are not shown."""
_AT_ONCE = 4
"""Columns side by side; more groups follow below."""


@dataclass(kw_only=True, slots=True)
class ArmFigures:
    """The figures of one arm of one study.

    Attributes:
        label: Its name in the table.
        arm: The arm.
        study: The study's file.
        statuses: Runs by status.
        simulated: Runs with simulated replies.
        unpriced: Runs whose cost is unknown.
        totals: What the store counts of every ended run, by name.
        measures: Scores by name.
        earlier: Runs of an earlier content of their unit: another one, and in no figure.
    """

    label: str
    arm: str
    study: Path
    statuses: Counter[str] = field(default_factory=Counter)
    simulated: int = 0
    unpriced: int = 0
    totals: dict[str, list[float]] = field(default_factory=dict)
    measures: dict[str, MeasureSummary] = field(default_factory=dict)
    earlier: int = 0

    def add(self, row: RunRow) -> None:
        """Count a run or a score."""
        self.statuses[row.status] += 1
        if row.status == "running":
            return
        self.simulated += row.simulated
        spent = row.service_seconds + row.waiting_seconds
        figures = {
            "turns": row.turns,
            "loops": row.loops,
            "tool calls": row.tool_calls,
            "tokens": row.tokens_input + row.tokens_output,
            "seconds": spent if row.seconds is None else row.seconds,
        }
        for name, value in figures.items():
            self.totals.setdefault(name, []).append(value)
        if row.cost_usd is None:
            self.unpriced += 1
        else:
            self.totals.setdefault("dollars", []).append(row.cost_usd)

    @property
    def runs(self) -> int:
        """All its runs."""
        return self.statuses.total()

    @property
    def ended(self) -> int:
        """Its runs that have ended: of others it is not known who answered."""
        return self.runs - self.statuses["running"]

    def as_json(self) -> dict[str, JSON]:
        """Convert to plain data."""
        return {
            "label": self.label,
            "arm": self.arm,
            "study": str(self.study),
            "runs": self.runs,
            "statuses": dict(self.statuses),
            "simulated_runs": self.simulated,
            "runs_of_unknown_cost": self.unpriced,
            "runs_of_earlier_contents": self.earlier,
            "totals": {
                name: {"n": len(values), "mean": fmean(values), "median": median(values)}
                for name, values in self.totals.items()
            },
            "measures": {name: measure.as_json() for name, measure in self.measures.items()},
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """Figures side by side; a Rich console prints it.

    Attributes:
        groups: One an arm.
        everything: Every figure is printed, not the main ones alone.
        drifts: Models of a study that were served by several, by the study's folder.
        money: What was not paid, or may have been, by the study's folder.
    """

    groups: tuple[ArmFigures, ...]
    everything: bool = False
    drifts: tuple[tuple[str, Drift], ...] = ()
    money: tuple[tuple[str, str], ...] = ()

    @property
    def simulated(self) -> bool:
        """A reply of any run was simulated."""
        return any(group.simulated for group in self.groups)

    def __rich__(self) -> RenderableType:
        parts: list[RenderableType] = []
        if self.simulated:
            words = "SIMULATED: no language model wrote these replies; the figures measure nothing"
            if not all(group.simulated == group.ended for group in self.groups):
                words = f"PARTLY SIMULATED: {_first_few([*map(_simulated_text, self.groups)])}"
            parts.append(Text(words, style="bold magenta"))
        starts = range(0, len(self.groups), _AT_ONCE)
        texts = [name for name in _measured(self.groups) if self.everything or self._is_main(name)]
        zeros = [name for name in texts if _is_zero(self.groups, name)]
        names = [name for name in texts if name not in zeros]
        totals = _TOTALS if self.everything else _MAIN_TOTALS
        parts += [
            _groups_table(self.groups[start : start + _AT_ONCE], totals, names) for start in starts
        ]
        parts.append(Text("Means and medians; rates with Wilson intervals of 95 %.", style="dim"))
        if earlier := sum(group.earlier for group in self.groups):
            words = f"Left out: {earlier} runs of units that were edited under the same id since."
            parts.append(Text(words, style="dim"))
        if zeros:
            parts.append(Text(f"0 in every run: {visible(', '.join(zeros))}", style="dim"))
        parts += [Text(f"{self._study_prefix(place)}{words}") for place, words in self.money]
        parts += [
            Text(f"DRIFT: {self._study_prefix(place)}{drift_text(drift)}", style="bold yellow")
            for place, drift in self.drifts
        ]
        return Group(*parts)

    def _study_prefix(self, place: str) -> str:
        """Return which study, if there are several."""
        several = len({group.study for group in self.groups}) > 1
        return f"{visible(place)}: " if several else ""

    def _is_main(self, name: str) -> bool:
        if _DETAIL.search(name):
            return False
        found = [group.measures[name] for group in self.groups if name in group.measures]
        return any(measure.main for measure in found)

    def text(self, width: int = 100) -> str:
        """Render as plain text."""
        return printed(self, width)

    def as_json(self) -> dict[str, JSON]:
        """Convert to plain data."""
        return {
            "simulated": self.simulated,
            "groups": [group.as_json() for group in self.groups],
            "drifts": [{"study": place, **drift.as_json()} for place, drift in self.drifts],
            "money": [{"study": place, "words": words} for place, words in self.money],
        }


def _simulated_text(group: ArmFigures) -> str:
    """Describe how many runs of a group are simulated; "" if none is."""
    words = f"{visible(group.label)} {group.simulated} of {group.ended} ended runs"
    return words if group.simulated else ""


def _first_few(words: Sequence[str]) -> str:
    texts = [each for each in words if each]
    more = [f"{len(texts) - _AT_ONCE} more"] if len(texts) > _AT_ONCE else []
    return ", ".join([*texts[:_AT_ONCE], *more])


def summary(places: Sequence[Path], *, everything: bool = False) -> Summary:
    """Summarise studies, one group an arm of each.

    Args:
        places: The studies' files or folders.
        everything: Prints every figure, not the main ones alone.

    Raises:
        StoreError: There is no study at one of them.
    """
    groups: list[ArmFigures] = []
    drifting: list[tuple[str, Drift]] = []
    money: list[tuple[str, str]] = []
    for place in places:
        with Reader(place) as reader:
            groups += _read_groups(reader)
            name = reader.path.parent.name
            drifting += [(name, drift) for drift in drifts(reader)]
            money += [(name, words) for words in money_notes(reader)]
    arms = Counter(group.arm for group in groups)
    for group in groups:
        if arms[group.arm] > 1:
            group.label = f"{group.arm} ({group.study.parent.name})"
    return Summary(
        groups=tuple(groups), everything=everything, drifts=tuple(drifting), money=tuple(money)
    )


def _read_groups(reader: Reader) -> Iterable[ArmFigures]:
    groups: dict[str, ArmFigures] = {}
    rows = list(reader.runs())
    sweep = sweep_plan(reader)
    current = (
        current_numbers(reader, sweep.as_experiment) if sweep else _current_numbers(reader, rows)
    )
    for row in rows:
        if sweep is not None and not _is_planned(sweep, row):
            continue
        new = ArmFigures(label=row.arm, arm=row.arm, study=reader.path)
        group = groups.setdefault(row.arm, new)
        if row.run in current:
            group.add(row)
        else:
            group.earlier += 1
    _add_scores(reader, groups, current)
    arms = list(sweep.by_name) if sweep else _arm_order(reader)
    order = {arm: at for at, arm in enumerate(arms)}
    return sorted(groups.values(), key=lambda group: order.get(group.arm, len(order)))


def _is_planned(sweep: SweepPlan, row: RunRow) -> bool:
    """Check whether the sweep's last plan has the run's variant, unit, replicate and seed."""
    normal = sweep.normal
    return (
        row.arm in sweep.by_name
        and row.unit in sweep.units
        and row.replicate < normal["replicates"]
        and row.seed == normal["seed"]
    )


def _arm_order(reader: Reader) -> list[str]:
    """Return the arms in the order of the report; [] if the study is no experiment."""
    return frozen_plans(reader)[-1].arms if _is_experiment(reader) else []


def _current_numbers(reader: Reader, rows: Sequence[RunRow]) -> set[int]:
    """Return the numbers of the runs of each unit as it is now.

    Two runs of one unit are of different contents of it: the frozen plan says which counts, and
    where there is none the latest.
    """
    latest: dict[tuple[object, ...], int] = {}
    for row in rows:
        key = (row.arm, row.spec, row.unit, row.replicate, row.seed)
        latest[key] = max(row.run, latest.get(key, 0))
    plans = frozen_plans(reader) if _is_experiment(reader) else []
    if plans:
        seed = plans[-1].normal["seed"]
        own = [row for row in rows if row.seed == seed]
        for row in current_runs(plans[-1], list(planned_keys(plans[-1])), own).values():
            latest[row.arm, row.spec, row.unit, row.replicate, row.seed] = row.run
    return set(latest.values())


def _is_experiment(reader: Reader) -> bool:
    return any(True for _ in reader.rows("SELECT 1 FROM specs WHERE kind='experiment' LIMIT 1"))


def _add_scores(reader: Reader, groups: Mapping[str, ArmFigures], current: set[int]) -> None:
    names = _score_names(reader)
    sql = """SELECT s.run, r.arm, r.unit, s.evaluator, s.arguments, s.name, s.scale, s.value, s.label
             FROM scores s JOIN runs r USING (run) ORDER BY s.run"""
    for row in reader.rows(sql):
        if row["run"] not in current:
            continue
        name = names[row["evaluator"], row["arguments"], row["name"]]
        measure = groups[row["arm"]].measures.setdefault(name, MeasureSummary())
        measure.scale = row["scale"]
        measure.main = row["evaluator"] != "usage" and row["name"] not in _DETAILS
        measure.add(row["value"], row["label"], row["unit"])
    failed = """SELECT e.run, r.arm, e.evaluator FROM evaluations e JOIN runs r USING (run)
                WHERE e.error IS NOT NULL ORDER BY e.run"""
    for row in reader.rows(failed):
        if row["run"] not in current:
            continue
        name = f"{row['evaluator']} could not measure"
        measure = groups[row["arm"]].measures.setdefault(name, MeasureSummary(scale="count"))
        measure.missing += 1


def _score_names(reader: Reader) -> dict[tuple[str, str, str], str]:
    """Map scores to names, with the evaluator's arguments where several share one."""
    sql = "SELECT DISTINCT evaluator, arguments, name FROM scores"
    keys = [tuple(row) for row in reader.rows(sql)]
    often = Counter(name for _, _, name in keys)
    return {
        (evaluator, arguments, name): name
        if often[name] == 1
        else f"{name} {_arguments(evaluator, arguments)}"
        for evaluator, arguments, name in keys
    }


def _arguments(evaluator: str, arguments: str) -> str:
    try:
        known = loads_stored(arguments)
    except ValueError:
        return f"({evaluator})"
    if not isinstance(known, Mapping) or not known:
        return f"({evaluator})"
    return "(" + ", ".join(f"{key}: {value}" for key, value in known.items()) + ")"


def _groups_table(
    groups: Sequence[ArmFigures], totals: Sequence[str], names: Sequence[str]
) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
    table.add_column("", no_wrap=True, overflow="fold")
    for group in groups:
        table.add_column(Text(visible(group.label)), justify="left")
    for name, cells in _table_lines(groups, totals, names):
        table.add_row(Text(visible(name), style="dim"), *[Text(cell) for cell in cells])
    return table


def _table_lines(
    groups: Sequence[ArmFigures], totals: Sequence[str], names: Sequence[str]
) -> Iterable[tuple[str, list[str]]]:
    yield "runs", [str(group.runs) for group in groups]
    for status, words in _STATUSES.items():
        if any(group.statuses[status] for group in groups):
            yield words, [str(group.statuses[status]) for group in groups]
    for name in totals:
        yield (
            f"{_simulated_mark(groups)}{name} a run" if name == "dollars" else f"{name} a run",
            [_total_text(group, name) for group in groups],
        )
    for name in names:
        found = [(group.measures.get(name, MeasureSummary()), group.runs) for group in groups]
        yield name, [measure.text(runs) for measure, runs in found]


def _simulated_mark(groups: Sequence[ArmFigures]) -> str:
    """Mark the dollars of simulated models."""
    if not any(any(group.totals.get("dollars", ())) for group in groups):
        return ""
    words = unreal(sum(group.simulated for group in groups), sum(group.ended for group in groups))
    return f"{words} " if words else ""


def _measured(groups: Sequence[ArmFigures]) -> list[str]:
    """List the names of scores, rates first, without those in the lines above."""
    scales = {name: measure.scale for group in groups for name, measure in group.measures.items()}
    names = [name for name in scales if name not in _SHOWN_ABOVE]
    return sorted(names, key=lambda name: scales[name] != "binary")


def _is_zero(groups: Sequence[ArmFigures], name: str) -> bool:
    """Check whether a score is 0 in every run."""
    return all(group.measures.get(name, MeasureSummary(values=[0])).is_zero for group in groups)


_TOTALS = ("turns", "loops", "tool calls", "tokens", "dollars", "seconds")
_MAIN_TOTALS = _TOTALS[2:]
# What `approvals` counts beside the main figures.
_DETAILS = frozenset(("comments", "reviews", "unreviewed"))
# What `usage` measures and the store counts: shown once.
_SHOWN_ABOVE = frozenset(
    ("turns", "loops", "tool_calls", "tokens.total", "cost_usd", "seconds", "simulated")
)
_STATUSES = {
    "completed": "  completed",
    "stopped": "  stopped, no answer",
    "failed": "  failed",
    "running": "  not ended",
}


def _total_text(group: ArmFigures, name: str) -> str:
    values = group.totals.get(name)
    unknown = f"{group.unpriced} unknown" if name == "dollars" and group.unpriced else ""
    if not values:
        return unknown
    shows: dict[str, Callable[[float], str]] = {"dollars": dollars, "seconds": duration}
    show = shows.get(name, short_number)
    text = f"{show(fmean(values))}, median {show(median(values))}"
    return f"{text}\n{unknown}" if unknown else text
