"""The frozen plans of a study, and what became of the plan after there were data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import dumps, loads_stored
from orglab.results.store.group_commit import StoreError
from orglab.results.store.reader import Reader, RunRow
from orglab.results.store.run_id import run_id

__all__ = [
    "Change",
    "FrozenPlan",
    "PlanChange",
    "comparisons",
    "current_numbers",
    "current_runs",
    "frozen_plans",
    "plan_changes",
    "planned_keys",
    "undeclared_evaluators",
]


Key: TypeAlias = tuple[str, str, int]
"""Arm, unit, replicate."""

_MANY = 4


@dataclass(frozen=True, kw_only=True)
class FrozenPlan:
    """One plan as it was frozen.

    Attributes:
        hash: Its hash.
        added: When it was frozen (UTC, ISO 8601).
        normal: The plan as plain data; ``keys`` tells what runs of an arm are known by, where that
            is not the arm's name.
    """

    hash: str
    added: str
    normal: Mapping[str, JSON]

    @property
    def contrasts(self) -> list[tuple[str, str]]:
        """Pairs (arm, reference)."""
        return [(arm, reference) for arm, reference in self.normal.get("contrasts", [])]

    @property
    def arms(self) -> list[str]:
        """Names of the arms as every part shows them: references first, else in written order."""
        references = {reference for _, reference in self.contrasts}
        return sorted(self.normal["arms"], key=lambda arm: arm not in references)


@dataclass(frozen=True, kw_only=True)
class Change:
    """One place in which two plans differ, both sides in words."""

    path: str
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class PlanChange:
    """A plan that took the place of another.

    Attributes:
        added: When.
        ended: Runs that had ended by then; above 0 the plan was changed after data existed.
        changes: Where it differs from the plan before.
    """

    added: str
    ended: int
    changes: tuple[Change, ...]

    @property
    def touches_analysis(self) -> bool:
        """Outcomes, composites or tests were changed, not only the number of units or runs."""
        parts = ("analysis", "composites", "evaluators", "contrasts", "read")
        return any(change.path.split(".")[0] in parts for change in self.changes)


def frozen_plans(reader: Reader) -> list[FrozenPlan]:
    """The plans of a study in the order in which they were frozen; the last one counts.

    Raises:
        StoreError: The study is no experiment.
    """
    sql = "SELECT hash, added, normal FROM specs WHERE kind='experiment' ORDER BY added, hash"
    plans = [
        FrozenPlan(hash=row["hash"], added=row["added"], normal=loads_stored(row["normal"]))
        for row in reader.rows(sql)
    ]
    if not plans:
        raise StoreError(
            f"{reader.path} holds runs of one team, no experiment and no sweep: there is nothing to report; "
            f"`orglab compare {reader.path.parent}` prints its figures"
        )
    return plans


def planned_keys(plan: FrozenPlan) -> Iterator[Key]:
    """Every planned run: arm, unit, replicate."""
    for arm in plan.arms:
        for unit in plan.normal["units"]:
            for replicate in range(plan.normal["replicates"]):
                yield arm, str(unit), replicate


def current_runs(
    plan: FrozenPlan, keys: Sequence[Key], rows: Sequence[RunRow]
) -> dict[Key, RunRow]:
    """The runs of the planned units as they are now: a unit that was edited is another one.

    Plans of older studies hold no contents; there the latest run of a unit counts.

    Args:
        plan: The plan.
        keys: Its runs.
        rows: Runs of the study with the plan's seed.
    """
    ids = _planned_ids(plan, keys)
    if ids is None:
        found = {(row.arm, row.unit, row.replicate): row for row in rows}
        return {key: found[key] for key in keys if key in found}
    known = {row.id: row for row in rows}
    return {key: known[each] for key, each in ids.items() if each in known}


def current_numbers(reader: Reader, plan: FrozenPlan) -> set[int]:
    """The numbers in the file of the runs of ``current_runs``, found without reading the runs."""
    keys = list(planned_keys(plan))
    ids = _planned_ids(plan, keys)
    sql = "SELECT run, id, arm, unit, replicate FROM runs WHERE seed=? ORDER BY run"
    rows = reader.rows(sql, (plan.normal["seed"],))
    if ids is None:
        wanted = set(keys)
        latest = {(row["arm"], row["unit"], row["replicate"]): row["run"] for row in rows}
        return {run for key, run in latest.items() if key in wanted}
    planned = set(ids.values())
    return {row["run"] for row in rows if row["id"] in planned}


def _planned_ids(plan: FrozenPlan, keys: Sequence[Key]) -> dict[Key, str] | None:
    """The ids of the runs of units as they are now; None where the plan holds no contents."""
    contents, own = plan.normal.get("contents"), plan.normal.get("keys", {})
    if contents is None:
        return None
    arms, seed = plan.normal["arms"], plan.normal["seed"]
    return {
        (arm, unit, replicate): run_id(
            arms[arm], unit, contents[unit], replicate, seed, own.get(arm, arm)
        )
        for arm, unit, replicate in keys
        if unit in contents
    }


def comparisons(reader: Reader) -> dict[str, Mapping[str, JSON]]:
    """How the arms of each contrast (``arm - reference``) differ: the latest frozen comparison."""
    sql = "SELECT name, normal FROM specs WHERE kind='comparison' ORDER BY added, hash"
    return {row["name"]: loads_stored(row["normal"]) for row in reader.rows(sql)}


def plan_changes(reader: Reader, plans: Sequence[FrozenPlan]) -> list[PlanChange]:
    """Every change of plan, and how many runs had ended by then."""
    ended = "SELECT COUNT(*) AS n FROM runs WHERE ended IS NOT NULL AND ended<?"
    return [
        PlanChange(
            added=after.added,
            ended=int(next(reader.rows(ended, (after.added,)))["n"]),
            changes=tuple(_changes(before.normal, after.normal)),
        )
        for before, after in pairwise(plans)
    ]


def undeclared_evaluators(reader: Reader, plan: FrozenPlan) -> list[str]:
    """Evaluators whose scores the study holds and the plan does not have, with their arguments."""
    declared = [
        {name: dict(arguments or {})}
        for each in plan.normal["evaluators"]
        for name, arguments in each.items()
    ]
    rows = reader.rows("SELECT DISTINCT evaluator, arguments FROM evaluations ORDER BY 1, 2")
    return [
        f"{row['evaluator']} {row['arguments']}"
        for row in rows
        if {row["evaluator"]: _parsed(row["arguments"])} not in declared
    ]


def _parsed(arguments: str) -> JSON:
    try:
        return loads_stored(arguments)
    except ValueError:
        return arguments


def _changes(before: JSON, after: JSON, path: str = "") -> Iterator[Change]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys([*before, *after]):
            inner = f"{path}.{key}" if path else str(key)
            yield from _changes(before.get(key), after.get(key), inner)
    elif before != after:
        if path == "units":
            yield _units(before, after)
        else:
            yield Change(path=path, before=_text(before), after=_text(after))


def _units(before: Sequence[str], after: Sequence[str]) -> Change:
    gone, new = set(before) - set(after), set(after) - set(before)
    told = [f"{len(after)}"]
    told += [f"added: {_few(sorted(new))}"] if new else []
    told += [f"left out: {_few(sorted(gone))}"] if gone else []
    return Change(path="units", before=f"{len(before)}", after="; ".join(told))


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MANY} more" if len(names) > _MANY else ""
    return ", ".join(names[:_MANY]) + more


def _text(value: JSON) -> str:
    if value is None:
        return "nothing"
    return value if isinstance(value, str) else dumps(value)
