"""Tables of a study for the statistics, read from its store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pandas as pd

from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import loads_stored
from orglab.results.report.experiment.plan_history import FrozenPlan, current_runs, planned_keys
from orglab.results.report.experiment.scores import Scored, ValueRow, read_scored
from orglab.results.statistics.plan import listed
from orglab.results.store.reader import RUN_COUNTS, RUN_MEASURES, Reader, RunRow

Key: TypeAlias = tuple[str, str, int]
"""Arm, unit, replicate."""

NOT_RUN = "not run"
"""The status of a planned run that was not begun."""

_AMBIGUOUS = "several evaluators give a score of this name; name one of them alone"
_ABSENT = "no evaluator has given a score of this name"


@dataclass(frozen=True, kw_only=True)
class Tables:
    """A study's tables.

    Attributes:
        runs: One row a planned run, those not begun among them, with the run's counts, the drawn
            models (``model.writer``) and the unit's columns.
        scores: One row a value: ``arm unit replicate outcome judge value scale reason``.
        drafts: One row a measure of a draft.
        rows: The planned runs that were begun, by arm, unit and replicate.
        planned: How many runs are planned.
        outside: Runs in the store that the plan does not have: other units, replicates or seeds,
            or an earlier content of a unit.
        earlier: Of them, those of an earlier content of a planned unit.
        scored: Scores as they were read.
    """

    runs: pd.DataFrame
    scores: pd.DataFrame
    drafts: pd.DataFrame
    rows: Mapping[Key, RunRow]
    planned: int
    outside: int
    earlier: int
    scored: Scored

    @property
    def numbers(self) -> dict[int, RunRow]:
        """The planned runs by their number in the file."""
        return {row.run: row for row in self.rows.values()}


def wanted_names(plan: FrozenPlan) -> tuple[str, ...]:
    """List the scores or columns that the plan's analysis needs, each once."""
    analysis, composites = plan.normal["analysis"], plan.normal["composites"]
    named = [
        *listed(analysis.get("primary")),
        *listed((analysis.get("followups") or {}).get("outcomes")),
        *listed(analysis.get("covariates")),
        *composites,
    ]
    for part in [*listed(analysis.get("mixed")), *listed(analysis.get("dose"))]:
        named += [part["outcome"], *listed(part.get("dose")), *listed(part.get("covariates"))]
    for part in listed(analysis.get("drafts")):
        named += listed(part.get("measures"))
    return tuple(dict.fromkeys(leaf for name in named for leaf in _leaves(name, composites, ())))


def _leaves(
    name: str, composites: Mapping[str, Sequence[str]], above: tuple[str, ...]
) -> Iterator[str]:
    if name not in composites or name in above:
        yield name
        return
    for part in composites[name]:
        yield from _leaves(part, composites, (*above, name))


def read_tables(reader: Reader, plan: FrozenPlan, *, aside: Sequence[str] = ()) -> Tables:
    """Read the tables of the plan's runs; runs beyond the plan are left out.

    Args:
        reader: The study.
        plan: The plan.
        aside: Evaluators of whose scores only those are read that the plan's analysis names.
    """
    keys = list(planned_keys(plan))
    every = list(reader.runs())
    seed = plan.normal["seed"]
    rows = current_runs(plan, keys, [row for row in every if row.seed == seed])
    runs = _runs(reader, keys, rows)
    wanted = wanted_names(plan)
    drafts = [name for name in wanted if "@" in name]
    scored = read_scored(reader, drafts, aside=aside, wanted=wanted)
    numbers = {row.run: key for key, row in rows.items()}
    return Tables(
        runs=runs,
        scores=_scores(scored, numbers, [name for name in wanted if name not in runs.columns]),
        drafts=_drafts(scored, numbers),
        rows=rows,
        planned=len(keys),
        outside=len(every) - len(rows),
        earlier=_earlier(rows, keys, every, seed),
        scored=scored,
    )


def _earlier(
    rows: Mapping[Key, RunRow], keys: Sequence[Key], every: Sequence[RunRow], seed: int
) -> int:
    planned, taken = set(keys), {row.run for row in rows.values()}
    return sum(
        (row.arm, row.unit, row.replicate) in planned and row.seed == seed and row.run not in taken
        for row in every
    )


# --- runs ----------------------------------------------------------------------------------------


def _runs(reader: Reader, keys: Sequence[Key], rows: Mapping[Key, RunRow]) -> pd.DataFrame:
    models, units = _models(reader), _units(reader)
    found = []
    for key in keys:
        row = rows.get(key)
        own = _run_columns(key, row)
        more = units.get(row.run, {}) | models.get(row.run, {}) if row else {}
        found.append(own | {_free_name(name, own): value for name, value in more.items()})
    return pd.DataFrame(found)


def _run_columns(key: Key, row: RunRow | None) -> dict[str, JSON]:
    place = dict(zip(("arm", "unit", "replicate"), key, strict=True))
    if row is None or row.status == "running":
        status = NOT_RUN if row is None else "not ended"
        return place | {"status": status, "reason": ""} | dict.fromkeys(RUN_MEASURES)
    return place | {
        "status": row.status,
        "reason": row.reason,
        **{name: getattr(row, name) for name in RUN_COUNTS},
        "tokens": row.tokens_input + row.tokens_output,
        "cost_usd": row.cost_usd,
        "seconds": row.seconds,
    }


def _free_name(name: str, taken: Mapping[str, JSON]) -> str:
    """Return ``unit.NAME`` for a unit's column named like one of the run's own."""
    return f"unit.{name}" if name in taken else name


def _models(reader: Reader) -> dict[int, dict[str, JSON]]:
    """Return the model that each copy drew, by run."""
    sql = "SELECT run, body FROM events WHERE kind='started'"
    return {
        row["run"]: {f"model.{copy}": name for copy, name in _drawn_models(row["body"]).items()}
        for row in reader.rows(sql)
    }


def _drawn_models(body: str) -> Mapping[str, JSON]:
    models = loads_stored(body).get("models")
    return models if isinstance(models, Mapping) else {}


def _units(reader: Reader) -> dict[int, dict[str, JSON]]:
    """Return the columns of the unit that hold one value, by run."""
    rows = list(reader.rows("SELECT run, inputs, extra FROM runs"))
    names = {row[column] for row in rows for column in ("inputs", "extra")}
    texts = {name: loads_stored(text) for name, text in reader.blobs(sorted(names)).items()}
    return {
        row["run"]: {
            str(name): value
            for column in ("inputs", "extra")
            for name, value in (texts[row[column]] or {}).items()
            if isinstance(value, str | int | float)
        }
        for row in rows
    }


# --- scores --------------------------------------------------------------------------------------


def _scores(scored: Scored, numbers: Mapping[int, Key], wanted: Sequence[str]) -> pd.DataFrame:
    """Return the scores of the planned runs; what the plan wants and nobody gave is missing."""
    rows = [(*numbers[row.run], *_score_cells(row)) for row in scored.values if row.run in numbers]
    given = {row[3] for row in rows}
    for name in wanted:
        if name not in given:
            reason = _AMBIGUOUS if name in scored.ambiguous else _ABSENT
            rows += [(*key, name, "", None, "", reason) for key in _some(numbers)]
    return pd.DataFrame(rows, columns=[*_SCORE_COLUMNS])


_SCORE_COLUMNS = ("arm", "unit", "replicate", "outcome", "judge", "value", "scale", "reason")


def _score_cells(row: ValueRow) -> tuple[str, str, float | None, str, str]:
    return row.outcome, row.judge, row.value, row.scale, row.reason


def _some(numbers: Mapping[int, Key]) -> Sequence[Key]:
    """Every run that was begun; the table of scores needs one row of an outcome at least."""
    return list(numbers.values())


def _drafts(scored: Scored, numbers: Mapping[int, Key]) -> pd.DataFrame:
    rows = [
        (*numbers[row.run], row.role, row.number, row.measure, row.value)
        for row in scored.drafts
        if row.run in numbers
    ]
    columns = ["arm", "unit", "replicate", "role", "visit", "measure", "value"]
    return pd.DataFrame(rows, columns=columns)
