"""Scores of the store as rows for the statistics, verdicts of judges apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple, TypeAlias

from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import loads_stored
from orglab.results.store.reader import Reader

Key: TypeAlias = tuple[str, str]
"""An evaluator and its arguments."""

_DRAFT = re.compile(r"(?P<measure>.+)@(?P<number>\d+)\Z")
_COUNTED_BY_STORE = frozenset(("loops", "calls", "turns", "tool_calls", "cost_usd", "seconds"))
"""What the evaluator ``usage`` measures and the store counts of every run: the store's counts."""
_TEXT = "its value is a text, no number"


class ValueRow(NamedTuple):
    """One value of one run: of the run, or of one judge (the mean of the judge's repeats)."""

    run: int
    outcome: str
    judge: str
    value: float | None
    scale: str
    reason: str


class DraftScore(NamedTuple):
    """One measure of one draft; ``number`` from 1."""

    run: int
    role: str
    number: int
    measure: str
    value: float | None


@dataclass(frozen=True, kw_only=True)
class Scored:
    """Every score of a study.

    Attributes:
        values: Values, drafts apart.
        drafts: Measures of drafts.
        ambiguous: Names that several evaluators give; each has its arguments in its name.
        repeats: The most verdicts that one judge gave on one criterion of one run.
        same_model: Runs in which a judge's model also served a role.
    """

    values: tuple[ValueRow, ...]
    drafts: tuple[DraftScore, ...]
    ambiguous: frozenset[str]
    repeats: int
    same_model: int


def read_scored(
    reader: Reader,
    drafts: Sequence[str] = (),
    *,
    aside: Sequence[str] = (),
    wanted: Sequence[str] = (),
) -> Scored:
    """Read every score.

    Args:
        reader: The study.
        drafts: Names of drafts' scores (``words@1``) that are wanted among the values too.
        aside: Evaluators of whose scores only the wanted ones are read.
        wanted: Names of scores.
    """
    names = _score_names(reader)
    reading = _Reading(names, frozenset(drafts))
    passed = [
        key for key, name in names.items() if key[0] in aside and not {name, key[2]} & {*wanted}
    ]
    sql = f"""SELECT run, evaluator, arguments, name, scale, value, label, reason,
                    CASE WHEN evaluator='judge_panel' AND name NOT LIKE 'judge_panel.%'
                         THEN detail WHEN name LIKE '%@%' THEN detail ELSE '' END AS detail
             FROM scores{_excluding(len(passed))} ORDER BY run, evaluator, arguments, name"""  # noqa: S608 - marks
    for row in reader.rows(sql, [part for key in passed for part in key]):
        reading.score(dict(row))
    failed = "SELECT run, evaluator, arguments, error FROM evaluations WHERE error IS NOT NULL"
    for row in reader.rows(failed):
        reading.failure(dict(row))
    return Scored(
        values=tuple(reading.values),
        drafts=tuple(reading.drafts),
        ambiguous=frozenset(reading.ambiguous),
        repeats=reading.repeats,
        same_model=reading.same_model,
    )


def _excluding(keys: int) -> str:
    """Return the condition that leaves out so many names of scores."""
    marks = ", ".join(["(?, ?, ?)"] * keys)
    return f" WHERE (evaluator, arguments, name) NOT IN (VALUES {marks})" if keys else ""


class _Reading:
    def __init__(self, names: Mapping[tuple[str, str, str], str], wanted: frozenset[str]) -> None:
        self.names = names
        self.wanted = wanted
        clear = set(names.values())
        self.ambiguous = {plain for _, _, plain in names if plain not in clear}
        self.values: list[ValueRow] = []
        self.drafts: list[DraftScore] = []
        self.repeats = 0
        self.same_model = 0
        self._scales: dict[Key, dict[str, str]] = {}

    def score(self, row: Mapping[str, JSON]) -> None:
        key, plain = (row["evaluator"], row["arguments"]), row["name"]
        if row["evaluator"] == "usage" and plain in _COUNTED_BY_STORE:
            return
        name = self.names[(*key, plain)]
        if match := _DRAFT.match(plain):
            self._draft(row, match)
            if plain not in self.wanted:
                return
        self._scales.setdefault(key, {})[name] = row["scale"]
        if plain == "judge_panel.same_model":
            self.same_model += bool(row["value"])
        verdicts = loads_stored(row["detail"]).get("verdicts") if row["detail"] else None
        if verdicts:
            self.values += self._verdicts(row, name, verdicts)
        else:
            reason = _TEXT if row["label"] is not None else row["reason"]
            self.values.append(ValueRow(row["run"], name, "", row["value"], row["scale"], reason))

    def failure(self, row: Mapping[str, JSON]) -> None:
        """Record an evaluator that could not measure: its every score is missing."""
        known = self._scales.get((row["evaluator"], row["arguments"]), {})
        self.values += [
            ValueRow(row["run"], name, "", None, scale, row["error"])
            for name, scale in known.items()
        ]

    def _verdicts(
        self, row: Mapping[str, JSON], name: str, verdicts: Sequence[Mapping[str, JSON]]
    ) -> Iterator[ValueRow]:
        """Average the repeats of one judge: they are not more judges."""
        by_judge: dict[str, list[float | None]] = {}
        for verdict in verdicts:
            by_judge.setdefault(str(verdict["judge"]), []).append(verdict["value"])
        for judge, found in by_judge.items():
            self.repeats = max(self.repeats, len(found))
            given = [value for value in found if value is not None]
            value = fmean(given) if given else None
            reason = "" if given else "no readable verdict"
            yield ValueRow(row["run"], name, judge, value, row["scale"], reason)

    def _draft(self, row: Mapping[str, JSON], match: re.Match[str]) -> None:
        output = loads_stored(row["detail"]).get("output", "") if row["detail"] else ""
        role = _argument(row["arguments"], "role") or str(output).partition("@")[0]
        self.drafts.append(
            DraftScore(row["run"], role, int(match["number"]), match["measure"], row["value"])
        )


def _argument(arguments: str, name: str) -> str:
    try:
        known = loads_stored(arguments)
    except ValueError:
        return ""
    return str(known.get(name) or "") if isinstance(known, Mapping) else ""


def _score_names(reader: Reader) -> dict[tuple[str, str, str], str]:
    """Map scores to names, with the evaluator's arguments where several evaluators give one.

    Where one alone of them is called like the score, the plain name is its.
    """
    rows = reader.rows("SELECT DISTINCT evaluator, arguments, name FROM scores")
    keys = [(row["evaluator"], row["arguments"], row["name"]) for row in rows]
    often = Counter(name for _, _, name in keys)
    own = Counter(name for evaluator, _, name in keys if _measure_of(name) == evaluator)
    return {
        (evaluator, arguments, name): name
        if often[name] == 1 or (own[name] == 1 and _measure_of(name) == evaluator)
        else f"{name} ({evaluator} {arguments})"
        for evaluator, arguments, name in keys
    }


def _measure_of(name: str) -> str:
    """Return the measure of a name: ``hedges`` of ``hedges.modal@2``."""
    return re.split(r"[.@]", name, maxsplit=1)[0]
