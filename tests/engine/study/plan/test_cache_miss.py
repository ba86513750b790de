"""Why a call was made: the part that differs from the nearest stored call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import orglab
from orglab.engine.graph.team import Team
from orglab.engine.run.outcome import Unit
from orglab.engine.study.plan.cache_miss import CallExplanation, explain_call
from orglab.results.store.group_commit import StoreError
from orglab.results.store.reader import Reader


def run(team: Team, folder: Path, asked: Any, **options: Any) -> None:
    """Runs a team on units of a topic each."""
    topics = options.pop("topics", ["tea"])
    units = [Unit(id=f"u{n}", inputs={"topic": topic}, index=n) for n, topic in enumerate(topics)]
    orglab.run(team, units=units, out=folder, providers=asked().providers, **options)


def explained(folder: Path, position: str, number: int = 0) -> CallExplanation:
    """The explanation of a call of one run."""
    with Reader(folder) as reader:
        row = list(reader.runs())[number]
        return explain_call(reader, row.id[:8], position)


def differing(found: CallExplanation) -> dict[str, str]:
    """The parts that differ."""
    return {part.name: part.change for part in found.parts if not part.same}


TEAM = """\
roles:
  writer: {system: "You write about {{ topic }}, as it is done by those who know how to write."}
output: writer
"""


def test_another_unit_shows_its_words(
    team: Callable[..., Team], head: str, asked: Any, tmp_path: Path
) -> None:
    """The unit and the message differ, word by word; model, parameters and the rest do not."""
    run(team(head + TEAM), tmp_path / "study", asked, topics=["tea", "coffee"])
    found = explained(tmp_path / "study", "1.turn.0.0", 1)
    assert found.other is not None
    assert differing(found) == {
        "message 1 (system)": "-'tea,' +'coffee,'",
        "unit": "u0 there, u1 here",
    } | {name: change for name, change in differing(found).items() if name.startswith("message 2")}
    same = {part.name for part in found.parts if part.same}
    assert {"provider", "model", "params", "tools", "schema", "seed", "replicate"} <= same


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"replicates": 2}, {"replicate": "0 there, 1 here"}),
        ({"seed": 4}, {"seed": "0 there, 4 here"}),
    ],
)
def test_a_repeat_differs_by_its_number_alone(
    team: Callable[..., Team], head: str, asked: Any, tmp_path: Path, options: Any, part: Any
) -> None:
    """Another replicate, another seed."""
    run(team(head + TEAM), tmp_path / "study", asked)
    run(team(head + TEAM), tmp_path / "study", asked, **options)
    assert differing(explained(tmp_path / "study", "1.turn.0.0", 1)) == part


def test_the_nearest_call_is_taken(
    team: Callable[..., Team], head: str, asked: Any, tmp_path: Path
) -> None:
    """Of several of the same role the one with the most equal parts."""
    run(team(head + TEAM), tmp_path / "study", asked, topics=["tea", "coffee"], replicates=2)
    with Reader(tmp_path / "study") as reader:
        rows = {(row.unit, row.replicate): row.id for row in reader.runs()}
        found = explain_call(reader, rows["u1", 1], "1.turn.0.0")
    assert found.other_run == rows["u1", 0]
    assert differing(found) == {"replicate": "0 there, 1 here"}


def test_what_was_asked_before_counts(pair: Team, asked: Any, tmp_path: Path) -> None:
    """Where only the run's history differs, that is told."""
    run(pair, tmp_path / "study", asked, topics=["tea", "coffee"])
    found = explained(tmp_path / "study", "2.turn.0.0", 1)
    assert differing(found)["earlier calls of the run"] == "1 calls there, 1 calls here"


def test_the_only_call_of_a_role(pair: Team, asked: Any, tmp_path: Path) -> None:
    """There is nothing to compare it with."""
    run(pair, tmp_path / "study", asked)
    found = explained(tmp_path / "study", "1.turn.0.0")
    assert (found.other, found.parts) == (None, ())


def test_what_is_not_there(pair: Team, asked: Any, tmp_path: Path) -> None:
    """Another position names those that there are; another run is refused."""
    run(pair, tmp_path / "study", asked)
    with pytest.raises(ValueError, match=r"no call at 9\.turn\.0\.0; it has: 1\.turn\.0\.0"):
        explained(tmp_path / "study", "9.turn.0.0")
    with Reader(tmp_path / "study") as reader, pytest.raises(StoreError, match="no run"):
        explain_call(reader, "zz", "1.turn.0.0")
