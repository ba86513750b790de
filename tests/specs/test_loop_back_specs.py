"""The teams of study 2: sound, and different in nothing but what each says it changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from orglab.engine.graph.check import check_file
from orglab.engine.graph.team import Team
from orglab.engine.study.batch.units import read_units
from orglab.evaluators.text.required_sections import headings

SPECS = Path(__file__).parents[2] / "specs"
STUDY = SPECS / "loop-back-authority"
TEAMS = [
    path
    for path in sorted(STUDY.glob("*.yaml"))
    if not path.stem.startswith(("experiment", "sweep"))
]

LINK = "links.oversight"
CHANGES = {
    "flat": ("hierarchical", {f"{LINK}.cap", f"{LINK}.sees"}),
    "flat-blackboard": ("hierarchical", {f"{LINK}.cap"}),
    "hierarchical-latest": ("hierarchical", {f"{LINK}.sees"}),
    "verifier-gated": ("hierarchical", {f"{LINK}.trigger", f"{LINK}.target"}),
    "single-pass": ("hierarchical", {f"{LINK}.cap", f"{LINK}.to", f"{LINK}.reviews"}),
    "peer-negotiation": ("hierarchical", {f"{LINK}.cap", "links.exchange"}),
    "staked": ("hierarchical", {f"{LINK}.stake"}),
    "random-loops": ("hierarchical", {f"{LINK}.to", f"{LINK}.trigger"}),
    "placebo": ("random-loops", {f"{LINK}.directive"}),
    "personas": ("hierarchical", {"roles.writer.prompt", "roles.writer.vars"}),
}
WORKERS = ("researcher", "analyst", "writer", "critic")
ARM_WORDS = (
    "hierarch|flat|revise|revision|approv|reject|directive|oblige|veto|loop|round|placebo|coin|stake|points|"
    "experiment|arm|comment|send back|sent back|authority|cap"
)


def team(name: str, **overrides: Any) -> Team:
    """A team of the study, compiled."""
    checked = check_file(STUDY / f"{name}.yaml", overrides=overrides)
    assert not checked.issues
    assert checked.team is not None
    return checked.team


def by_name(normal: Mapping[str, Any]) -> dict[str, Any]:
    """A normal form with links by id, less what describes it and the digests of its files."""
    links = {link["id"]: link for link in normal["links"]}
    rest = {
        key: value for key, value in normal.items() if key not in ("name", "description", "files")
    }
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
def test_every_team_checks_clean_and_is_named_as_its_file(path: Path) -> None:
    """No fault of any kind, in it or in what it extends."""
    assert [str(issue) for issue in check_file(path).issues] == []
    assert team(path.stem).topology.name == path.stem


@pytest.mark.parametrize("path", sorted(STUDY.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_document_names_its_schema_for_editors(path: Path) -> None:
    """The first line leads to the schema file, from where the document lies."""
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# yaml-language-server: $schema=")
    assert (path.parent / first.partition("=")[2]).is_file()


def test_every_variant_but_the_first_says_what_it_changes() -> None:
    """A new file must be entered above."""
    assert {path.stem for path in TEAMS} == {*CHANGES, "hierarchical"}


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


def test_each_role_draws_its_model_from_one_pool_of_five() -> None:
    """One draw a product, so that arms are compared on the same models."""
    topology = team("hierarchical").topology
    assert len(topology.pools["frontier"].members) == 5
    assert topology.pools["frontier"].draw == "per_unit"
    assert {role.pool for role in topology.roles.values()} == {"frontier"}


@pytest.mark.parametrize("name", [*WORKERS, "manager", "turn"])
def test_no_prompt_tells_the_arm(name: str) -> None:
    """Rights are told by the engine alone; who reads a prompt cannot know which arm it is in."""
    text = (STUDY / "prompts" / f"{name}.md").read_text(encoding="utf-8")
    prose = re.sub(r"\{[%{].*?[%}]\}", "", text)
    assert re.findall(rf"\b(?:{ARM_WORDS})\w*", prose, re.IGNORECASE) == []


def test_the_manager_has_one_prompt_in_all_arms() -> None:
    """Its words are the same; only the powers that the engine adds differ."""
    prompts = {team(path.stem).topology.roles["manager"].system for path in TEAMS}
    assert len(prompts) == 1


def test_the_verifier_asks_for_the_sections_that_the_writer_is_reported_of() -> None:
    """A section that nobody asked for could not be written."""
    normal = by_name(team("verifier-gated").topology.normal)
    checks = normal["links"]["oversight"]["trigger"]["checks"]
    (asked,) = [check["required_sections"] for check in checks if "required_sections" in check]
    told = headings((STUDY / "prompts" / "writer.md").read_text(encoding="utf-8"))
    assert asked["sections"] == told


def test_no_team_can_use_up_its_limit_of_turns() -> None:
    """The limits guard against accidents and decide no run."""
    for path in TEAMS:
        compiled = team(path.stem)
        assert compiled.bounds.turns < (compiled.topology.limits.turns or 0)


@pytest.mark.parametrize("catalogue", sorted((SPECS / "models").glob("*.yaml")))
def test_every_shipped_catalogue_fits(catalogue: Path) -> None:
    """`--models` swaps the models of a team and leaves no alias without one."""
    checked = check_file(STUDY / "hierarchical.yaml", models=catalogue)
    assert [str(issue) for issue in checked.issues] == []


def test_the_listings_are_the_units() -> None:
    """The column `product` is the teams' one input."""
    units = read_units(STUDY / "data" / "synthetic_laptops.jsonl", team("hierarchical").topology)
    assert len(units) == 61
    assert all(unit.inputs["product"].startswith("SYN") for unit in units)
    assert {"review_count", "rating", "price"} <= set(units[0].extra)
