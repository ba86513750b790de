"""The frozen plans of a study, and changes of plan after data existed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias, TypeVar

from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import dumps, loads_stored
from orglab.results.store.group_commit import StoreError
from orglab.results.store.reader import Reader, RunRow
from orglab.results.store.run_id import run_id

Key: TypeAlias = tuple[str, str, int]
"""Arm, unit, replicate."""

_MANY = 4

P = TypeVar("P", bound="FrozenPlan")


@dataclass(frozen=True, kw_only=True)
class FrozenPlan:
    """One plan as it was frozen.

    Attributes:
        hash: Its hash.
        added: When it was frozen (UTC, ISO 8601).
        normal: The plan as plain data; ``keys`` gives the key of an arm's runs, where that
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
    """Read the plans of an experiment, oldest first; the last one counts.

    Raises:
        StoreError: The study is no experiment.
    """
    plans = read_plans(reader, "experiment", FrozenPlan)
    if not plans:
        raise StoreError(
            f"{reader.path} holds runs of one team, no experiment and no sweep: there is nothing to report; "
            f"`orglab compare {reader.path.parent}` prints its figures"
        )
    return plans


def read_plans(reader: Reader, kind: str, plan: type[P]) -> list[P]:
    """Read the frozen plans of a kind, oldest first."""
    sql = "SELECT hash, added, normal FROM specs WHERE kind=? ORDER BY added, hash"
    return [
        plan(hash=row["hash"], added=row["added"], normal=loads_stored(row["normal"]))
        for row in reader.rows(sql, (kind,))
    ]


def runs_ended_before(reader: Reader, when: str) -> int:
    """Count the runs that had ended before a moment."""
    sql = "SELECT COUNT(*) AS n FROM runs WHERE ended IS NOT NULL AND ended<?"
    return int(next(reader.rows(sql, (when,)))["n"])


def planned_keys(plan: FrozenPlan) -> Iterator[Key]:
    """Yield every planned run: arm, unit, replicate."""
    for arm in plan.arms:
        for unit in plan.normal["units"]:
            for replicate in range(plan.normal["replicates"]):
                yield arm, str(unit), replicate


def current_runs(
    plan: FrozenPlan, keys: Sequence[Key], rows: Sequence[RunRow]
) -> dict[Key, RunRow]:
    """Return the runs of the planned units as they are now: an edited unit is another unit.

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
    """Return the numbers of the runs of ``current_runs``, without reading the runs."""
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
    """Return the ids of the runs of units as they are now; None if the plan holds no contents."""
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
    """Read how the arms of each contrast (``arm - reference``) differ: the latest frozen comparison."""
    sql = "SELECT name, normal FROM specs WHERE kind='comparison' ORDER BY added, hash"
    return {row["name"]: loads_stored(row["normal"]) for row in reader.rows(sql)}


def plan_changes(reader: Reader, plans: Sequence[FrozenPlan]) -> list[PlanChange]:
    """List the changes of plan, and how many runs had ended by then."""
    return [
        PlanChange(
            added=after.added,
            ended=runs_ended_before(reader, after.added),
            changes=tuple(_changes(before.normal, after.normal)),
        )
        for before, after in pairwise(plans)
    ]


def undeclared_evaluators(reader: Reader, plan: FrozenPlan) -> list[str]:
    """List evaluators with scores that the plan does not have, with their arguments."""
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
            yield _unit_changes(before, after)
        else:
            yield Change(path=path, before=_value_text(before), after=_value_text(after))


def _unit_changes(before: Sequence[str], after: Sequence[str]) -> Change:
    gone, new = set(before) - set(after), set(after) - set(before)
    texts = [f"{len(after)}"]
    texts += [f"added: {_first_few(sorted(new))}"] if new else []
    texts += [f"left out: {_first_few(sorted(gone))}"] if gone else []
    return Change(path="units", before=f"{len(before)}", after="; ".join(texts))


def _first_few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MANY} more" if len(names) > _MANY else ""
    return ", ".join(names[:_MANY]) + more


def _value_text(value: JSON) -> str:
    if value is None:
        return "nothing"
    return value if isinstance(value, str) else dumps(value)


@dataclass(frozen=True, kw_only=True)
class FrozenFactor:
    """A factor as it was frozen.

    Attributes:
        path: The path as written.
        name: Its short name.
        drawn: Its levels were drawn from a range.
        log: Evenly on the scale of logarithms.
        labels: Its levels that were run, in order.
        values: Their values.
    """

    path: str
    name: str
    drawn: bool
    log: bool
    labels: tuple[str, ...]
    values: tuple[JSON, ...]

    @property
    def numeric(self) -> bool:
        """Every level is a number, and there is more than one."""
        return len(self.values) > 1 and all(
            isinstance(value, int | float) and not isinstance(value, bool) for value in self.values
        )

    def value(self, label: str) -> JSON:
        """Return the value of a level."""
        return self.values[self.labels.index(label)]


@dataclass(frozen=True, kw_only=True)
class SweepPlan(FrozenPlan):
    """A sweep's plan as it was frozen."""

    @property
    def name(self) -> str:
        """The sweep's name."""
        return str(self.normal["name"])

    @property
    def over_experiment(self) -> bool:
        """The base is an experiment: every cell belongs to one of its arms."""
        return bool(self.normal["base"]["kind"] == "experiment")

    @property
    def arms(self) -> list[str]:
        """The experiment's arms; [""] over a topology."""
        return list(self.normal["base"]["arms"])

    @cached_property
    def factors(self) -> tuple[FrozenFactor, ...]:
        """The factors."""
        return tuple(
            FrozenFactor(
                path=each["path"],
                name=each["name"],
                drawn=each["drawn"],
                log=each["log"],
                labels=tuple(level["label"] for level in each["levels"]),
                values=tuple(level["value"] for level in each["levels"]),
            )
            for each in self.normal["factors"]
        )

    @property
    def points(self) -> Sequence[Mapping[str, JSON]]:
        """The points: ``{name, levels}``, the levels' labels in the order of the factors."""
        return list(self.normal["points"])

    @property
    def cells(self) -> Sequence[Mapping[str, JSON]]:
        """The teams that are run: ``{name, arm, spec, key, points}``."""
        return list(self.normal["cells"])

    @cached_property
    def by_name(self) -> Mapping[str, Mapping[str, JSON]]:
        """The cells by their name."""
        return {cell["name"]: cell for cell in self.cells}

    @cached_property
    def units(self) -> frozenset[str]:
        """Ids of the planned units."""
        return frozenset(self.normal["units"])

    @cached_property
    def as_experiment(self) -> FrozenPlan:
        """The plan as tables are read by: its teams are the arms."""
        normal, taken = self.normal, ("name", "question", "units", "contents", "replicates", "seed")
        return FrozenPlan(
            hash=self.hash,
            added=self.added,
            normal={
                **{key: normal[key] for key in taken if key in normal},
                "arms": {cell["name"]: cell["spec"] for cell in self.cells},
                "keys": {cell["name"]: cell["key"] for cell in self.cells},
                "composites": normal["composites"],
                "analysis": {"primary": normal["analysis"].get("primary", [])},
                "evaluators": normal["evaluators"],
            },
        )

    @property
    def runs(self) -> int:
        """How many runs are planned."""
        return len(self.cells) * len(self.normal["units"]) * int(self.normal["replicates"])

    def key(self, name: str, spec: str) -> str:
        """Return what distinguishes the runs and calls of a stored arm from others'."""
        return f"{arm_of(name)} {spec}" if self.over_experiment else spec

    def cell_of(self, arm: str, point: int) -> str:
        """Return the cell that stands for a point under an arm."""
        return self._places[arm, point]

    @cached_property
    def _places(self) -> Mapping[tuple[str, int], str]:
        return {
            (cell["arm"], point): cell["name"] for cell in self.cells for point in cell["points"]
        }

    def reference(self, factor: FrozenFactor) -> str:
        """Return the level that others are compared with: the declared one, else the first."""
        wanted = self.normal["analysis"].get("reference", {}).get(factor.path, factor.labels[0])
        pairs = zip(factor.labels, factor.values, strict=True)
        return next((label for label, value in pairs if wanted in (label, value)), factor.labels[0])


def arm_of(name: str) -> str:
    """Return the experiment's arm that a team's name begins with."""
    return name.partition(" ")[0].removeprefix("arm=")


def sweep_plans(reader: Reader) -> list[SweepPlan]:
    """Read the plans of a sweep, oldest first; [] for other studies."""
    return read_plans(reader, "sweep", SweepPlan)


def sweep_plan(reader: Reader) -> SweepPlan | None:
    """Read the plan that counts, the last one; None for other studies."""
    return next(reversed(sweep_plans(reader)), None)


def is_sweep(reader: Reader) -> bool:
    """Check whether the study is a sweep."""
    return any(True for _ in reader.rows("SELECT 1 FROM specs WHERE kind='sweep' LIMIT 1"))
