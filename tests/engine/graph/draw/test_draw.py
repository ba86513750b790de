"""Drawings hold every link, are well formed whatever the texts, and read well."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, get_args
from xml.etree import ElementTree as ET

import pytest

from orglab.engine.graph.compile import compile_topology
from orglab.engine.graph.draw.diagram import diagram_of
from orglab.engine.graph.draw.draw import DrawingFormat, draw
from orglab.engine.graph.draw.edge_routing import routes_of
from orglab.engine.graph.draw.layered_layout import Box, layout_of
from orglab.engine.graph.node_link import read_graph_json
from orglab.engine.graph.team import Team
from orglab.engine.spec.model import ForwardLink, Topology

Build = Callable[..., Topology]
HOSTILE = 'a"b\\c<d>&{x}|]--> %% \n`#;\x01é'
SVG = "{http://www.w3.org/2000/svg}"


def team(topology: Topology) -> Team:
    """The team of a sound topology."""
    made, problems = compile_topology(topology)
    assert problems == []
    assert made is not None
    return made


@pytest.fixture
def parallel(build: Build) -> Team:
    """Case 77: forward twice, back, and authority between the same two."""
    return team(
        build(
            "lead > writer",
            "boss: lead => writer cap 1",
            "writer > lead cap 2",
            "urgent: lead > writer when v=urgent",
        )
    )


@pytest.fixture
def chain(build: Build) -> Team:
    """A chain of five and a manager over it."""
    return team(
        build(
            "researcher > analyst",
            "analyst > writer",
            "writer > critic",
            "critic > writer when v=redo cap 3",
            "critic > editor otherwise",
            "oversight: manager => researcher, analyst, writer, critic cap 2",
            roles={"researcher": {"replicas": 3}},
        )
    )


@pytest.fixture
def hostile(build: Build) -> Team:
    """A condition with a text that means something everywhere."""
    output = {"properties": {"v": {"type": "string"}}}
    link = ForwardLink(id="x", source="a", target="b", when={"v": (HOSTILE,)})
    return team(build(link, roles={"a": {"output": output}}, name=HOSTILE))


def svg(made: Team) -> ET.Element:
    """The picture, parsed."""
    return ET.fromstring(draw(made, "svg"))


def lines(root: ET.Element) -> list[ET.Element]:
    """The paths of links, the legend's left out."""
    return [path for path in root.iter(f"{SVG}path") if path.find(f"{SVG}title") is not None]


# --- every format -------------------------------------------------------------------------------


def test_every_format_draws_four_of_four_edges(parallel: Team) -> None:
    """Case 77, also after reading the JSON back."""
    assert len(re.findall(r"-->|==>|-\.->", draw(parallel, "mermaid"))) == 4
    assert draw(parallel, "dot").count(" -> ") == 4
    assert len(lines(svg(parallel))) == 4
    back = read_graph_json(draw(parallel, "json"))
    kinds: list[str] = [data["kind"] for *_, data in back.edges(data=True)]
    assert (kinds.count("forward"), kinds.count("authority")) == (3, 1)
    assert set(back["lead"]["writer"]) == {"lead>writer", "boss", "urgent"}


@pytest.mark.parametrize("format_", get_args(DrawingFormat))
def test_drawings_are_the_same_every_time(chain: Team, format_: DrawingFormat) -> None:
    """Nothing in them hangs on chance or order of sets."""
    assert draw(chain, format_) == draw(chain, format_)


def test_an_unknown_format_is_refused(chain: Team) -> None:
    """With those that there are."""
    with pytest.raises(ValueError, match="expected one of mermaid, dot, svg, json"):
        draw(chain, "png")  # type: ignore[arg-type]


def test_marks_of_roles(chain: Team) -> None:
    """Start, answer, copies and reviewers are told apart in words."""
    remarks = {node.title: node.remark for node in diagram_of(chain).nodes}
    assert remarks["researcher \N{MULTIPLICATION SIGN}3"] == "start"
    assert remarks["editor"] == "answer"
    assert remarks["manager"] == "reviews only"
    assert remarks["writer"] == ""


def test_labels_of_links(chain: Team) -> None:
    """Conditions, caps; an authority link shows its cap on each of its edges."""
    edges = [(edge.kind, edge.source, edge.label) for edge in diagram_of(chain).edges]
    assert ("closing", "critic", "v: redo · cap 3") in edges
    assert ("forward", "critic", "otherwise") in edges
    assert edges.count(("authority", "manager", "cap 2")) == 4


# --- mermaid and dot ----------------------------------------------------------------------------


def test_mermaid(chain: Team) -> None:
    """Solid, thick for closing, dotted for authority; names never stand bare."""
    text = draw(chain, "mermaid")
    assert text.startswith("flowchart LR\n")
    assert 'n3 ==>|"v: redo · cap 3"| n2' in text
    assert 'n5 -.->|"cap 2"| n0' in text
    assert 'n5{{"manager<br/><small>reviews only</small>"}}:::reviewer' in text


def test_mermaid_escapes(hostile: Team) -> None:
    """A label holds no sign that Mermaid or HTML could read."""
    (line,) = [line for line in draw(hostile, "mermaid").splitlines() if "-->" in line]
    label = line.split('"')[1]
    assert line == f'  n0 -->|"{label}"| n1'
    assert re.fullmatch(r"(\w|[ :.,…-]|#\d+;)+", label)


def test_dot_escapes(hostile: Team) -> None:
    """Quotes and backslashes; a new line is not one."""
    text = draw(hostile, "dot")
    assert 'a\\"b\\\\c<d>' in text
    assert len(text.splitlines()) == 8


# --- svg ----------------------------------------------------------------------------------------


def test_svg_escapes(hostile: Team) -> None:
    """The text stands in the picture as it was, less what XML cannot hold."""
    texts = [text.text for text in svg(hostile).iter(f"{SVG}text")]
    assert "v: " + " ".join(HOSTILE.replace("\x01", "").split()) in texts


def test_svg_reaches_nothing_outside(chain: Team) -> None:
    """No script, no style sheet, no picture, no font from elsewhere."""
    text = draw(chain, "svg")
    assert not re.search(r"<script|href=|url\((?!#)|@import|onload", text)


def test_svg_has_a_ground_of_its_own(chain: Team) -> None:
    """So that it can be read on a dark page."""
    ground = next(svg(chain).iter(f"{SVG}rect"))
    assert ground.get("fill") == "#ffffff"


def test_authority_is_dashed_and_forward_is_solid(chain: Team) -> None:
    """In the picture, with the link's id as its tooltip."""
    for path in lines(svg(chain)):
        title = path.findtext(f"{SVG}title") or ""
        assert (path.get("stroke-dasharray") is not None) == title.startswith("oversight")


def test_parallel_edges_lie_apart(parallel: Team) -> None:
    """No two have the same way."""
    ways = [path.get("d") for path in lines(svg(parallel))]
    assert len(set(ways)) == 4


def _inside(box: Box, point: tuple[float, float]) -> bool:
    x, y = point
    return box.x + 1 < x < box.right - 1 and box.y + 1 < y < box.bottom - 1


def test_no_role_covers_another_and_no_link_runs_through_one(build: Build, chain: Team) -> None:
    """Whatever the shape."""
    wide = build(
        *["a > b1", "a > b2", "a > b3", "b1 > c1", "b2 > c1", "b3 > c2", "b1 > d", "c1 > d"],
        *["c2 > d", "a > d", "boss => b1, b2, b3, c2 cap 3", "again: d > b2 when v=redo cap 2"],
        *["d => b3 cap 1", "c1 > c1 cap 1", "chief => b2 cap 1"],
    )
    for made in (chain, team(wide)):
        diagram = diagram_of(made)
        ways, boxes = routes_of(diagram, layout_of(diagram))
        places = list(boxes.values())
        assert len(ways) == len(diagram.edges)
        for number, one in enumerate(places):
            for other in places[number + 1 :]:
                apart = one.right <= other.x or other.right <= one.x
                assert apart or one.bottom <= other.y or other.bottom <= one.y
        hits = [point for way in ways.values() for point in way.points for box in places if _inside(box, point)]  # fmt: skip
        assert hits == []


def test_a_team_of_one_is_drawn(build: Build) -> None:
    """Without links there is no legend."""
    assert lines(svg(team(build(roles={"a": {}})))) == []


# --- json ---------------------------------------------------------------------------------------


def test_json_form_is_fixed(parallel: Team) -> None:
    """Format, version, nodes and edges in declared order."""
    whole = json.loads(draw(parallel, "json"))
    assert (whole["format"], whole["version"]) == ("orglab-graph", 1)
    assert [node["name"] for node in whole["nodes"]] == ["lead", "writer"]
    assert whole["edges"][2] == {
        "id": "writer>lead",
        "source": "writer",
        "target": "lead",
        "kind": "forward",
        "closing": True,
        "cap": 2,
        "when": None,
        "label": "cap 2",
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "x"}, "no graph of ours"),
        ({"version": 2}, "graph version 2; this reads version 1"),
        ({"edges": None}, "expected a list of objects under `edges`"),
        ({"nodes": [1]}, "expected a list of objects under `nodes`"),
        ({"nodes": [{"name": "lead"}]}, "edge 'lead>writer' leads from 'lead' to 'writer'"),
        ({"edges": [{"id": "x", "source": "lead", "target": "lead"}] * 2}, "two edges 'x'"),
    ],
)
def test_another_form_is_refused(parallel: Team, change: dict[str, Any], message: str) -> None:
    """Never a graph that silently lacks its edges."""
    whole = json.loads(draw(parallel, "json")) | change
    with pytest.raises(ValueError, match=message):
        read_graph_json(json.dumps(whole))


def test_roles_without_any_edge_are_remarked_on(build: Build) -> None:
    """It is sound, and rarely meant."""
    text = draw(team(build(roles={"a": {}, "b": {}}, output=("a", "b"))), "json")
    with pytest.warns(UserWarning, match="2 roles and no edge"):
        assert len(read_graph_json(text)) == 2
