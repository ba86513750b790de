"""Counts beside the effects: loops by link and action, hedges by term and class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from orglab.providers.structured_output.strict_json import loads_stored
from orglab.results.report.experiment.data import Tables
from orglab.results.store.journal.history import use_of
from orglab.results.store.reader import Reader
from orglab.results.store.row_codec import event_of_row

__all__ = ["HedgeCounts", "LoopRow", "read_hedges", "read_loops"]


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
