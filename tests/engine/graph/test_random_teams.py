"""Whatever the graph: compiling never raises, and a team keeps its promises."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, get_args

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orglab.engine.graph.compile import compile_topology
from orglab.engine.graph.dag import one_cycle_each, shape_of
from orglab.engine.graph.draw.draw import DrawingFormat, draw
from orglab.engine.graph.node_link import read_graph_json
from orglab.engine.graph.team import Team
from orglab.engine.spec.model import (
    AuthorityLink,
    EvaluatorUse,
    ForwardLink,
    Topology,
    Trigger,
)

Build = Callable[..., Topology]
NAMES = ["a", "b", "c", "d", "e", "f"]
some_role = st.sampled_from(NAMES)
any_role = st.sampled_from([*NAMES, "nobody"])
caps = st.none() | st.integers(0, 3)
conditions: st.SearchStrategy[Any] = st.sampled_from(
    [None, None, "otherwise", {"v": ("ok",)}, {"n": (1,)}, {"v": ("never",)}, {"x": (1,)}]
)
triggers = st.sampled_from(
    [
        Trigger(),
        Trigger(kind="coin", probability=0.5),
        Trigger(kind="never"),
        Trigger(kind="checks", checks=(EvaluatorUse(use="x", arguments={"role": "a"}),)),
    ]
)
forward = st.builds(
    ForwardLink, id=st.just("x"), source=any_role, target=any_role, cap=caps, when=conditions
)
authority = st.builds(
    AuthorityLink,
    id=st.just("x"),
    source=any_role,
    targets=st.lists(any_role, min_size=1, max_size=3, unique=True).map(tuple),
    cap=st.integers(0, 3),
    trigger=triggers,
    target=st.none() | any_role,
    reviews=st.none() | st.integers(0, 2),
)
nonsense = st.lists(forward | authority, max_size=12)
prompts = st.sampled_from([None, "{{ topic }}", "{{ blackboard }}", "{{ zzz", "{{ tool.x() }}"])


def numbered(links: list[Any]) -> list[Any]:
    """The links with ids of their own."""
    made = []
    for number, link in enumerate(links):
        fields = {name: getattr(link, name) for name in type(link).__slots__} | {"id": f"l{number}"}
        made.append(type(link)(**fields))
    return made


@st.composite
def sound_links(draw_: st.DrawFn) -> list[Any]:
    """Forward links along the order of names, capped ones back, reviewers over some."""
    ahead = draw_(st.sets(st.tuples(some_role, some_role), min_size=1, max_size=10))
    links: list[Any] = []
    for one, other in sorted(ahead):
        if one < other:
            links.append(ForwardLink(id="x", source=one, target=other))
        else:
            cap = draw_(st.integers(0, 3))
            links.append(ForwardLink(id="x", source=one, target=other, cap=cap))
    for boss in draw_(st.sets(st.sampled_from(["y", "z"]), max_size=2)):
        targets = tuple(sorted(draw_(st.sets(some_role, min_size=1, max_size=3))))
        links.append(
            AuthorityLink(id="x", source=boss, targets=targets, cap=draw_(st.integers(0, 3)))
        )
    return links


def promises(team: Team) -> None:
    """What every team promises."""
    place = {name: number for number, name in enumerate(team.order)}
    topology = team.topology
    assert sorted(place) == sorted(topology.roles)
    for link in topology.forward:
        if link.id not in team.closing:
            assert place[link.source] < place[link.target]
            assert link.target in team.downstream[link.source]
            assert team.downstream[link.target] <= team.downstream[link.source]
    for name in topology.roles:
        assert name not in team.upstream[name]
        assert all(name in team.downstream[before] for before in team.upstream[name])
    reached, waiting = set(team.start), list(team.start)
    while waiting:
        name = waiting.pop()
        after = {link.target for link in topology.forward if link.source == name} - reached
        reached |= after
        waiting += after
    assert reached | team.reviewers == set(topology.roles)
    assert not reached & team.reviewers
    assert team.graph.number_of_edges() == sum(
        len(link.targets) if isinstance(link, AuthorityLink) else 1 for link in topology.links
    )
    assert team.bounds.turns >= len(reached)
    assert team.bounds.calls >= team.bounds.turns


@given(nonsense, st.none() | st.lists(any_role, max_size=3).map(tuple), prompts)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_nonsense_gives_problems_or_a_team(
    build: Build, links: list[Any], start: tuple[str, ...] | None, prompt: str | None
) -> None:
    """Never an exception; and never a team with problems."""
    roles = {name: {"prompt": prompt} for name in NAMES}
    topology = build(*numbered(links), roles=roles, without=("nobody",), start=start)
    team, problems = compile_topology(topology)
    assert (team is None) == bool(problems)
    compile_topology(topology, blamed=[("roles", "a")])
    if team is not None:
        promises(team)


@given(sound_links())
@settings(deadline=None)
def test_a_team_keeps_its_promises(build: Build, links: list[Any]) -> None:
    """Order, start, closing links, edges, bounds; and it can be drawn and read back."""
    made = numbered(links)
    names = {name for link in made for name in (link.source, *getattr(link, "targets", ()))}
    names |= {link.target for link in made if isinstance(link, ForwardLink)}
    roles: dict[str, Any] = {name: {} for name in sorted(names)}
    output = tuple(name for name in roles if name in NAMES)
    closing = shape_of(build(*made, roles=roles, output=output)).closing
    kept = [link for link in made if _is_sound(link, closing)]
    team, problems = compile_topology(build(*kept, roles=roles, output=output))
    assert problems == []
    assert team is not None
    promises(team)
    if kept:
        back = read_graph_json(draw(team, "json"))
        assert set(back.edges(keys=True)) == set(team.graph.edges(keys=True))
    for format_ in get_args(DrawingFormat):
        assert draw(team, format_)


def _is_sound(link: Any, closing: frozenset[str]) -> bool:
    return isinstance(link, AuthorityLink) or link.cap is None or link.id in closing


@given(st.lists(st.tuples(some_role, some_role), max_size=15))
def test_each_cycle_named_is_one(arcs: list[tuple[str, str]]) -> None:
    """Its steps are arcs, it ends where it begins, and none is named twice over."""
    cycles = list(one_cycle_each(NAMES, arcs))
    for cycle in cycles:
        assert cycle[0] == cycle[-1]
        assert len(set(cycle)) == len(cycle) - 1
        assert all(step in arcs for step in pairwise(cycle))
    together = [name for cycle in cycles for name in cycle[1:]]
    assert len(set(together)) == len(together)


@given(nonsense)
def test_a_shape_is_found_of_anything(build: Build, links: list[Any]) -> None:
    """Closing links are those with a cap on a cycle, and no uncapped cycle is missed."""
    shape = shape_of(
        build(*numbered(links), roles={name: {} for name in NAMES}, without=("nobody",))
    )
    left = [link for link in shape.forward if link.cap is None]
    uncapped = list(one_cycle_each(NAMES, [(link.source, link.target) for link in left]))
    assert bool(shape.cycles) == bool(uncapped)
    if not shape.cycles:
        rest = [(link.source, link.target) for link in shape.dag_links]
        assert not list(one_cycle_each(NAMES, rest))
