"""Drawings of teams within, votes and items, and of loops within a column."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from orglab.engine.graph.check import check_file
from orglab.engine.graph.draw.diagram import diagram_of
from orglab.engine.graph.draw.draw import draw
from orglab.engine.graph.draw.edge_routing import arcs_of, beside
from orglab.engine.graph.draw.layered_layout import layout_of
from orglab.engine.graph.node_link import read_graph_json
from orglab.engine.graph.team import Team

GALLERY = Path(__file__).parents[4] / "specs/topologies"


def gallery(name: str) -> Team:
    """A team of the gallery."""
    team = check_file(GALLERY / f"{name}.yaml").team
    assert team is not None
    return team


def test_json_holds_the_team_within() -> None:
    """As a graph in its node; a vote's field and a list's name stand there too."""
    whole = json.loads(draw(gallery("team-of-teams"), "json"))
    nodes = {node["name"]: node for node in whole["nodes"]}
    assert [node["name"] for node in nodes["brief"]["team"]["nodes"]] == ["reader", "framer"]
    assert nodes["majority"]["vote"] == "answer"
    assert "team" not in nodes["majority"]
    graph = read_graph_json(draw(gallery("planner-worker"), "json"))
    assert [edge["each"] for _, _, edge in graph.edges(data=True) if "each" in edge] == ["parts"]


def test_mermaid_draws_the_team_in_a_frame() -> None:
    """Each node has an id of its own."""
    text = draw(gallery("team-of-teams"), "mermaid")
    assert 'subgraph n1t["inside solvers"]' in text
    assert text.count("  end\n") == text.count("subgraph ") == 2
    ids = re.findall(r"^\s+(n[0-9_]+)[\[({]", text, re.MULTILINE)
    assert len(ids) == len(set(ids)) == 7


def test_dot_draws_the_team_as_a_cluster() -> None:
    """Names within have the role's before them, and are shown without."""
    text = draw(gallery("team-of-teams"), "dot")
    assert 'subgraph "cluster solvers" {' in text
    assert '"solvers/solver" [label="solver' in text
    assert '"solvers/solver" -> "solvers/critic"' in text


@pytest.mark.parametrize("name", ["team-of-teams", "mesh", "planner-worker"])
def test_svg_is_sound_and_whole(name: str) -> None:
    """XML whose ids are its own; all that is drawn lies in the picture."""
    team = gallery(name)
    root = ET.fromstring(draw(team, "svg"))
    ids = [each.get("id") for each in root.iter() if each.get("id")]
    assert len(ids) == len(set(ids))
    texts = {"".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text")}
    for role in team.teams:
        assert f"inside {role}" in texts
        assert set(team.teams[role].topology.roles) <= texts


def test_loops_within_a_column_are_bows_that_do_not_cross() -> None:
    """The longer ones around the shorter ones, each end at a height of its own."""
    diagram = diagram_of(gallery("mesh"))
    layout = layout_of(diagram)
    arcs = arcs_of(diagram, layout, beside(diagram, layout))
    assert len(arcs) == 6
    spans = [(*sorted((arc.start[1], arc.end[1])), arc.reach) for arc in arcs.values()]
    ends = [y for top, bottom, _ in spans for y in (top, bottom)]
    assert len(ends) == len(set(ends))
    for top, bottom, reach in spans:
        assert reach < layout.columns[0][0]
        for other_top, other_bottom, other in spans:
            apart = bottom < other_top or other_bottom < top
            inside = top < other_top and other_bottom < bottom and other > reach
            around = other_top < top and bottom < other_bottom and reach > other
            same = (top, bottom) == (other_top, other_bottom)
            assert apart or inside or around or same
