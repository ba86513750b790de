"""Usage of earlier runs of a team in any study, for a plan's estimates."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

from orglab.providers.base import JSON
from orglab.results.store.group_commit import StoreError
from orglab.results.store.reader import Reader

MOST_RUNS = 500
"""Runs read of each study, the latest: enough for a mean and its spread."""


class Asked(NamedTuple):
    """Whom calls asked, and for whom."""

    role: str
    provider: str
    model: str
    judging: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class PastUse:
    """What one run used of one model for one role.

    Attributes:
        calls: Calls, those with replies of other runs included.
        input: Tokens read.
        cached: Of them, from the provider's cache.
        output: Tokens written.
        seconds: Seconds of service.
        longest: Tokens of its longest prompt.
        paid: What of it was not taken from another run of the study: calls, input, cached, output.
    """

    calls: int
    input: int
    cached: int
    output: int
    seconds: float
    longest: int
    paid: tuple[int, int, int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class PastRun:
    """What one ended run used.

    Attributes:
        turns: Turns, reviews by a model included.
        seconds: Seconds on its critical path, or None.
        uses: By whom was asked.
        judged_alike: It was judged as the plan's runs will be, or neither is judged.
    """

    turns: int
    seconds: float | None
    uses: Mapping[Asked, PastUse] = field(default_factory=dict)
    judged_alike: bool = True


class UsageSpread(NamedTuple):
    """Values of several runs: mean, standard deviation (None for one run), least, most."""

    n: int
    mean: float
    sd: float | None
    low: float
    high: float

    def of(self, runs: int) -> tuple[float, float | None]:
        """Return the sum over ``runs`` runs, and the standard error of predicting it from these ``n``."""
        error = None if self.sd is None else self.sd * math.sqrt(runs + runs * runs / self.n)
        return self.mean * runs, error

    def as_json(self) -> dict[str, JSON]:
        """Convert to plain data."""
        return self._asdict()


def spread_of(values: Iterable[float | None]) -> UsageSpread | None:
    """Summarise values; None if there are none or one of them is unknown."""
    known = list(values)
    numbers = [value for value in known if value is not None]
    if not numbers or len(numbers) < len(known):
        return None
    sd = stdev(numbers) if len(numbers) > 1 else None
    return UsageSpread(len(numbers), fmean(numbers), sd, min(numbers), max(numbers))


def studies_under(runs: Path) -> list[Path]:
    """List the studies in a folder of studies, and in the folders of its sweeps."""
    return sorted([*runs.glob("*/study.sqlite"), *runs.glob("*/*/study.sqlite")])


def past_runs(studies: Iterable[Path], spec: str, evaluators: JSON) -> list[PastRun]:
    """Read what completed and stopped runs of a team used.

    Args:
        studies: Files of studies; what is none, or cannot be read, holds no runs.
        spec: The hash of the team's spec.
        evaluators: How the plan's runs will be measured, in normal form. It is no part of the hash,
            so judges' calls of runs that were measured otherwise do not count.
    """
    found: list[PastRun] = []
    for study in dict.fromkeys(path.resolve() for path in studies):
        try:
            with Reader(study) as reader:
                found += _read_past_runs(reader, spec, evaluators)
        except (StoreError, sqlite3.Error):
            continue
    return found


_RUNS = """SELECT run, turns, seconds FROM runs WHERE spec=? AND status IN ('completed', 'stopped')
           ORDER BY run DESC LIMIT ?"""
_CALLS = """
SELECT run, role, provider, model, purpose='judge' AS judging, COUNT(*) AS calls,
  SUM(tokens_input) AS input, SUM(tokens_cached) AS cached, SUM(tokens_output) AS output,
  TOTAL(service_seconds) AS seconds, MAX(tokens_input) AS longest,
  SUM(paid), SUM(paid*tokens_input), SUM(paid*tokens_cached), SUM(paid*tokens_output)
FROM (SELECT *, attempts>0 OR error IS NOT NULL OR json_extract(reply, '$.kept') IS NOT NULL AS paid
  FROM calls WHERE superseded=0 AND run BETWEEN ? AND ?)
GROUP BY run, role, provider, model, judging
"""
"""What another study had paid for counts as paid: it need not be there the next time."""


def _read_past_runs(reader: Reader, spec: str, evaluators: JSON) -> Iterator[PastRun]:
    runs = list(reader.rows(_RUNS, (spec, MOST_RUNS)))
    if not runs:
        return
    normal = reader.spec(spec) or {}
    uses = _usage_by_run(reader, [row["run"] for row in runs])
    for row in runs:
        yield PastRun(
            turns=row["turns"],
            seconds=row["seconds"],
            uses=uses.get(row["run"], {}),
            judged_alike=normal.get("evaluators", []) == evaluators,
        )


def _usage_by_run(reader: Reader, runs: Sequence[int]) -> dict[int, dict[Asked, PastUse]]:
    found: dict[int, dict[Asked, PastUse]] = {}
    for row in reader.rows(_CALLS, (min(runs), max(runs))):
        asked = Asked(row["role"], row["provider"], row["model"], bool(row["judging"]))
        names = ("calls", "input", "cached", "output", "seconds", "longest")
        calls, read, cached, written = tuple(row)[-4:]
        paid = (calls, read, cached, written)
        use = PastUse(**{name: row[name] for name in names}, paid=paid)
        found.setdefault(row["run"], {})[asked] = use
    return found
