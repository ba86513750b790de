"""The teams of study 1: sound, and different in nothing but what each says it changes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from orglab.engine.graph.check import check_file
from orglab.engine.graph.team import Team
from orglab.engine.study.batch.units import read_units
from orglab.engine.tools.factory import make

SPECS = Path(__file__).parents[2] / "specs"
STUDY = SPECS / "insight-review"
TEAMS = [path for path in sorted(STUDY.glob("*.yaml")) if not path.stem.startswith("experiment")]
TABLES = sorted((STUDY / "data").glob("*.csv"))
WITH_REVIEWER = (
    "validator",
    "strict-validator",
    "challenge",
    "skeptic",
    "skeptic-columns",
    "skeptic-checked",
    "evidence-checked",
)
PERSONAS = ("statistician", "economist", "journalist", "detective", "newcomer")

REVIEWER = "roles.reviewer"
LINK = "links.review"
CHANGES = {
    "strict-validator": ("validator", {f"{REVIEWER}.system"}),
    "challenge": ("validator", {f"{LINK}.cap", f"{LINK}.review"}),
    "skeptic": ("validator", {f"{REVIEWER}.system", f"{LINK}.cap", f"{LINK}.review"}),
    "skeptic-columns": (
        "skeptic",
        {f"{REVIEWER}.system", f"{REVIEWER}.tools", f"{REVIEWER}.limits.tool_calls"},
    ),
    "skeptic-checked": ("skeptic", {"links.columns"}),
    "evidence-checked": ("skeptic-checked", {"links.figures"}),
    "blind-retry": (
        "validator",
        {f"{LINK}.cap", f"{LINK}.review", f"{LINK}.trigger", f"{LINK}.directive"},
    ),
    "personas": ("skeptic", {"roles.explorer.vars"}),
} | {
    f"reviewer-truth-{name}": (name, {"models.planted", "roles.explorer.model", "files"})
    for name in WITH_REVIEWER
}


def team(name: str, **overrides: Any) -> Team:
    """A team of the study, compiled."""
    checked = check_file(STUDY / f"{name}.yaml", overrides=overrides)
    assert not checked.issues
    assert checked.team is not None
    return checked.team


def by_name(normal: Mapping[str, Any]) -> dict[str, Any]:
    """A normal form with links by id, less what describes it."""
    links = {link["id"]: link for link in normal["links"]}
    rest = {key: value for key, value in normal.items() if key not in ("name", "description")}
    return {**rest, "links": links}


def differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Paths at which two values differ."""
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        if one != other:
            yield path
        return
    for key in sorted({*one, *other}):
        below = f"{path}.{key}" if path else key
        if (key in one) != (key in other):
            yield below
        else:
            yield from differences(one[key], other[key], below)


@pytest.mark.parametrize("path", TEAMS, ids=lambda path: path.stem)
def test_every_team_checks_clean(path: Path) -> None:
    """No fault of any kind, in it or in what it extends."""
    assert [str(issue) for issue in check_file(path).issues] == []


@pytest.mark.parametrize("path", TEAMS, ids=lambda path: path.stem)
def test_every_team_names_its_schema_for_editors(path: Path) -> None:
    """The first line leads to the schema file, from where the spec lies."""
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# yaml-language-server: $schema=")
    assert (path.parent / first.partition("=")[2]).is_file()


@pytest.mark.parametrize("path", TEAMS, ids=lambda path: path.stem)
def test_a_team_is_named_as_its_file(path: Path) -> None:
    """Reports show names, people look for files."""
    assert team(path.stem).topology.name == path.stem


def test_every_variant_but_the_first_says_what_it_changes() -> None:
    """A new file must be entered above."""
    assert {path.stem for path in TEAMS} == {*CHANGES, "validator"}


@pytest.mark.parametrize("name", CHANGES)
def test_a_variant_differs_from_its_base_only_where_it_says(name: str) -> None:
    """Normal forms are compared: nothing is overlooked because it is inherited or a default."""
    base, declared = CHANGES[name]
    found = set(
        differences(by_name(team(base).topology.normal), by_name(team(name).topology.normal))
    )
    for path in found:
        assert any(path == each or path.startswith(f"{each}.") for each in declared), path
    for each in declared:
        assert any(path == each or path.startswith(f"{each}.") for path in found), each


@pytest.mark.parametrize("persona", PERSONAS)
def test_a_persona_is_chosen_by_one_setting(persona: str) -> None:
    """The five differ in `vars.persona` alone, and each has a text."""
    chosen = team("personas", **{"roles.explorer.vars.persona": persona})
    other = team("personas", **{"roles.explorer.vars.persona": "none of them"})
    assert list(differences(by_name(chosen.topology.normal), by_name(other.topology.normal))) == [
        "roles.explorer.vars.persona"
    ]
    assert chosen.topology.roles["explorer"].vars["personas"][persona]


def test_the_blind_retry_takes_as_many_turns_as_the_sceptic_has_at_most() -> None:
    """Half of the sceptic's turns are reviews, and the blind retry has none."""
    assert team("blind-retry").bounds.turns == team("skeptic").bounds.turns // 2 == 5


@pytest.mark.parametrize("catalogue", sorted((SPECS / "models").glob("*.yaml")))
@pytest.mark.parametrize("name", WITH_REVIEWER)
def test_every_shipped_catalogue_fits_every_variant(name: str, catalogue: Path) -> None:
    """`--models` swaps the models of a team and leaves no alias without one."""
    checked = check_file(STUDY / f"{name}.yaml", models=catalogue)
    assert [str(issue) for issue in checked.issues] == []


@pytest.mark.parametrize("file", ["units.jsonl", "units-truth.jsonl"])
def test_units_fit_the_inputs_of_the_teams(file: str) -> None:
    """Every path is found, inside the study's folder."""
    assert len(read_units(STUDY / file, team("validator").topology)) == 40


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
async def test_every_tool_of_the_explorer_reads_every_table(table: Path) -> None:
    """What a tool gives is strict JSON and no error, on real faults and on synthetic data alike."""
    settings = {"file": str(table)}
    schema = await make("get_schema", settings, resolve=Path).call({})
    columns = {column["name"]: column["type"] for column in schema["columns"]}
    numbers = [name for name, kind in columns.items() if kind in ("integer", "number")]
    texts = [name for name, kind in columns.items() if kind == "text"]
    assert schema["rows"] >= 1000
    assert len(numbers) >= 2
    calls: dict[str, dict[str, Any]] = {
        "get_schema": {},
        "describe": {},
        "head": {"n": 5},
        "value_counts": {"column": texts[0]},
        "histogram": {"column": numbers[0]},
        "correlate": {"x": numbers[0], "y": numbers[1]},
        "group_by": {"by": texts[0], "measure": "mean", "column": numbers[0]},
        "query": {"sql": "SELECT count(*) AS n FROM data"},
    }
    assert set(calls) == set(team("validator").topology.roles["explorer"].tools)
    for name, arguments in calls.items():
        result = await make(name, settings, resolve=Path).call(arguments)
        assert json.loads(json.dumps(result, allow_nan=False))
