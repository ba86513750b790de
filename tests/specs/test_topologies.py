"""The gallery: each topology runs, costs the calls that its page says, and has its picture."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from orglab.engine.graph.check import check_file
from orglab.engine.graph.draw.draw import draw
from orglab.engine.graph.team import Team
from orglab.engine.run.calls.model_registry import ModelRegistry
from orglab.engine.run.engine import run_team
from orglab.engine.run.outcome import Outcome
from orglab.engine.run.run_plan import RunPlan
from orglab.engine.study.batch.study_folder import units_of
from orglab.results.records import CallEntry
from orglab.results.store.journal.journal import MemoryJournal

FOLDER = Path(__file__).parents[2] / "specs/topologies"
FILES = sorted(path for path in FOLDER.glob("*.yaml") if path.stem != "equal-compute")
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")
CALLS = dict(
    re.findall(r"^\| \[([a-z-]+)\.yaml\]\([a-z-]+\.yaml\) \| ([^|]+?) \|", PAGE, re.MULTILINE)
)
UNITS = 4


def loaded(path: Path) -> Team:
    """The team of a file without faults."""
    checked = check_file(path)
    assert checked.team is not None, checked.issues
    return checked.team


def told(calls: str) -> set[int]:
    """The numbers of calls that the page allows: "5", "2, 4 or 6", "3 to 5"."""
    numbers = [int(number) for number in re.findall(r"\d+", calls)]
    return set(range(numbers[0], numbers[1] + 1)) if " to " in calls else set(numbers)


async def played(team: Team) -> list[tuple[Outcome, int]]:
    """Runs on the first units, each with its number of calls."""
    registry = ModelRegistry(team.topology.models)
    plan = RunPlan(team, registry)
    found = []
    for unit in units_of(team, units=FOLDER / "units.jsonl")[:UNITS]:
        journal = MemoryJournal()
        outcome = await run_team(plan, unit, seed=1, journal=journal)
        found.append(
            (outcome, sum(isinstance(entry, CallEntry) for entry in journal.entries.values()))
        )
    await registry.aclose()
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
async def test_a_topology_runs_and_costs_what_its_page_says(path: Path) -> None:
    """On the shipped units; every run has a whole number for an answer."""
    team = loaded(path)
    for outcome, calls in await played(team):
        assert outcome.status == "completed", outcome.reason
        assert outcome.answer is not None
        assert outcome.answer.value["answer"] in range(11)
        assert calls in told(CALLS[path.stem])
        assert calls <= team.bounds.calls


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_picture_is_up_to_date(path: Path) -> None:
    """As `orglab graph --format svg` draws it now; the page shows it."""
    picture = FOLDER / f"pictures/{path.stem}.svg"
    assert picture.read_text(encoding="utf-8").strip() == draw(loaded(path), "svg").strip()
    assert f"](pictures/{path.stem}.svg)" in PAGE


def test_the_page_has_a_row_for_each() -> None:
    """And no other."""
    assert sorted(CALLS) == [path.stem for path in FILES]
