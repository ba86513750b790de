"""Roles that are teams: loaded, given models, inlined, overridden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from orglab.engine.spec.load import Loaded, load, load_text

INNER = """\
kind: topology
version: 1
inputs: {topic: {type: string}}
models: {m: {provider: simulated}, n: {provider: simulated, profile: strict}}
roles: {writer: {model: m, system: {file: who.md}}, editor: {model: n}}
links: [{id: oversight, from: editor, to: writer, kind: authority, cap: 1}]
output: writer
"""
OUTER = """\
kind: topology
version: 1
inputs: {topic: {type: string}}
models: {m: {provider: simulated}}
roles: {lead: {team: teams/inner.yaml}}
output: lead
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A spec whose role is a team in a folder below."""
    (tmp_path / "teams").mkdir()
    (tmp_path / "teams/inner.yaml").write_text(INNER, encoding="utf-8")
    (tmp_path / "teams/who.md").write_text("You write.", encoding="utf-8")
    (tmp_path / "outer.yaml").write_text(OUTER, encoding="utf-8")
    return tmp_path


def sound(loaded: Loaded) -> Any:
    """The topology of a document without faults."""
    assert loaded.issues == []
    return loaded.topology


def test_the_normal_form_holds_the_team_whole(folder: Path) -> None:
    """It is itself a topology with the same normal form; its texts are in it."""
    first = load(folder / "outer.yaml")
    team = sound(first).roles["lead"].team
    assert team.roles["writer"].system == "You write."
    assert first.normal is not None
    text = yaml.safe_dump({k: v for k, v in first.normal.items() if k != "files"}, sort_keys=False)
    second = load_text(text, folder, "again.yaml")
    assert second.normal == first.normal
    assert second.topology == first.topology


def test_equal_models_are_one_and_others_stand_under_the_role(folder: Path) -> None:
    """So that one server is one line, and no alias means two things."""
    topology = sound(load(folder / "outer.yaml"))
    assert list(topology.models) == ["m", "lead/n"]
    team = topology.roles["lead"].team
    assert (team.roles["writer"].model, team.roles["editor"].model) == ("m", "lead/n")
    assert topology.role_paths == ("lead", "lead/writer", "lead/editor")


def test_the_hash_sees_through_to_the_team(folder: Path) -> None:
    """A change of the team's file is a change of the spec; a remark in it is none."""
    before = sound(load(folder / "outer.yaml")).hash
    file = folder / "teams/inner.yaml"
    file.write_text(f"# a remark\n{INNER}description: words\n", encoding="utf-8")
    assert sound(load(folder / "outer.yaml")).hash == before
    file.write_text(INNER.replace("cap: 1", "cap: 2"), encoding="utf-8")
    assert sound(load(folder / "outer.yaml")).hash != before


def test_an_override_reaches_into_the_team(folder: Path) -> None:
    """By the path that a difference has; the file stays as it is."""
    path = "roles.lead.team.links.oversight.cap"
    loaded = load(folder / "outer.yaml", overrides={path: 0})
    assert sound(loaded).roles["lead"].team.authority[0].cap == 0
    wrong = load(folder / "outer.yaml", overrides={"roles.lead.team.links.o.cap": 0})
    (issue,) = wrong.issues
    assert str(issue).startswith("--set roles.lead.team.links.o.cap ")
    assert "there is no link `o`" in str(issue)


def test_a_team_without_models_has_those_around_it(folder: Path) -> None:
    """With its pools; a role without a model keeps the one that the document was written with."""
    text = OUTER.replace("teams/inner.yaml", "{roles: {w: {}}, output: w}")
    team = sound(load_text(text, folder, "x.yaml")).roles["lead"].team
    assert team.roles["w"].model == "m"
    catalogue = folder / "models.yaml"
    catalogue.write_text("m: {provider: scripted, file: a.jsonl}\nother: {provider: simulated}\n")
    (folder / "a.jsonl").write_text("{}\n")
    team = sound(load_text(text, folder, "x.yaml", models=catalogue)).roles["lead"].team
    assert team.roles["w"].model == "m"
    assert team.models["m"].provider == "scripted"


def test_a_catalogue_serves_the_models_of_a_team(folder: Path) -> None:
    """`--models` swaps them everywhere."""
    catalogue = folder / "models.yaml"
    catalogue.write_text("default: {provider: simulated, profile: sloppy}\n")
    topology = sound(load(folder / "outer.yaml", models=catalogue))
    used = {role.model for role in topology.roles["lead"].team.roles.values()}
    assert {topology.models[alias].options["profile"] for alias in used} == {"sloppy"}


def test_faults_of_a_team_stand_in_its_file(folder: Path) -> None:
    """With the role that is the team; those of models taken from outside are told once."""
    (folder / "teams/inner.yaml").write_text(INNER.replace("cap: 1", "cpa: 1"), encoding="utf-8")
    lines = [str(issue) for issue in load(folder / "outer.yaml").issues]
    assert any(
        "teams/inner.yaml:6:68 roles.lead.team.links[0].cpa: unknown key" in x for x in lines
    )
    text = OUTER.replace("teams/inner.yaml", "{roles: {w: {}}, output: w}")
    broken = text.replace("provider: simulated", "provider: simlated")
    assert len(load_text(broken, folder, "x.yaml").issues) == 1


def test_a_document_that_extends_changes_a_team_in_its_place(folder: Path) -> None:
    """Fields merge, links by id."""
    team = (
        "{roles: {w: {}, e: {}}, output: w, "
        "links: [{id: o, from: e, to: w, kind: authority, cap: 1}]}"
    )
    (folder / "base.yaml").write_text(OUTER.replace("teams/inner.yaml", team), encoding="utf-8")
    over = (
        "kind: topology\nversion: 1\nextends: base.yaml\n"
        "roles: {lead: {team: {roles: {w: {system: x}}, links: {o: {cap: 3}}}}}\n"
    )
    made = sound(load_text(over, folder, "x.yaml")).roles["lead"].team
    assert made.roles["w"].system == "x"
    assert made.authority[0].cap == 3


@pytest.mark.parametrize("deep", [5, 6])
def test_teams_lie_in_each_other_only_so_deep(folder: Path, deep: int) -> None:
    """Five is enough; a hundred in all."""
    team = "{roles: {w: {}}, output: w}"
    for _ in range(deep - 1):
        team = f"{{roles: {{w: {{team: {team}}}}}, output: w}}"
    issues = load_text(OUTER.replace("teams/inner.yaml", team), folder, "x.yaml").issues
    assert [str(issue) for issue in issues if "more than 5 deep" in str(issue)] == [
        str(issue) for issue in issues
    ]
    assert bool(issues) == (deep > 5)


def test_teams_do_not_multiply_without_bound(folder: Path) -> None:
    """A few files that name each other many times are refused, not loaded a million times."""
    for number in range(4):
        named = f"teams/t{number + 1}.yaml" if number < 3 else "teams/inner.yaml"
        roles = ", ".join(f"r{n}: {{team: {Path(named).name}}}" for n in range(9))
        text = f"kind: topology\nversion: 1\nroles: {{{roles}}}\noutput: [r0]\n"
        (folder / f"teams/t{number}.yaml").write_text(text, encoding="utf-8")
    issues = load(folder / "teams/t0.yaml").issues
    assert any("more than 100 teams within one document" in str(issue) for issue in issues)
