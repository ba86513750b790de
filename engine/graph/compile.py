"""From a topology to a team: every check of the graph, then the graph itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

import networkx as nx

from orglab.engine.graph.bounds import bounds_of
from orglab.engine.graph.checks.authority import (
    circle_problems,
    evaluator_role_problems,
    target_problems,
    voice_problems,
)
from orglab.engine.graph.checks.conditions import otherwise_problems, when_problems
from orglab.engine.graph.checks.cost_limit import money_problems
from orglab.engine.graph.checks.reachability import reach_problems, reviewers
from orglab.engine.graph.checks.subteam_inputs import fill_problems
from orglab.engine.graph.checks.template_checks import template_problems
from orglab.engine.graph.checks.voting import each_problems, nothing_to_count, vote_problems
from orglab.engine.graph.dag import Shape, cycle_text, shape_of
from orglab.engine.graph.team import Team
from orglab.engine.spec.errors import Problem, SpecPath
from orglab.engine.spec.messages import ErrorIndex, unknown_role
from orglab.engine.spec.model import AuthorityLink, ForwardLink, Link, Topology


def compile_topology(
    topology: Topology, *, blamed: Collection[SpecPath] | None = None
) -> tuple[Team | None, list[Problem]]:
    """Compile a topology.

    Args:
        topology: The topology.
        blamed: Where the document that it was built from has errors, their places; the topology
            then lacks what they errors. What could merely follow from that is no problem, and
            there is no team.

    Returns:
        The team, or None where there is any problem; and all problems.
    """
    shape = shape_of(topology)
    errors = None if blamed is None else ErrorIndex(blamed)
    problems = [*_certain(shape, errors or ErrorIndex(())), *template_problems(topology, errors)]
    if errors is None:
        problems += _of_the_whole(shape)
    teams, found = _teams(topology, blamed or ())
    problems += found
    if problems or errors:
        return None, problems
    return _team(shape, teams), []


def _teams(
    topology: Topology, blamed: Collection[SpecPath]
) -> tuple[dict[str, Team], list[Problem]]:
    """Return the teams of roles, compiled, and the problems of those that are not sound."""
    teams: dict[str, Team] = {}
    problems: list[Problem] = []
    for name, role in topology.roles.items():
        if role.team is None:
            continue
        at: SpecPath = ("roles", name, "team")
        inside = [path[3:] for path in blamed if path[:3] == at]
        team, found = compile_topology(role.team, blamed=inside or None)
        problems += [replace(problem, path=(*at, *problem.path)) for problem in found]
        if team is not None:
            teams[name] = team
    return teams, problems


def _certain(shape: Shape, errors: ErrorIndex) -> Iterator[Problem]:
    """Yield problems that no missing part can have caused."""
    yield from _cycles(shape)
    yield from circle_problems(shape)
    yield from when_problems(shape.topology, errors)
    yield from _twins(shape.topology)
    yield from money_problems(shape.topology, errors)
    yield from each_problems(shape.topology, errors)
    yield from vote_problems(shape, errors)
    yield from fill_problems(shape.topology, errors)


def _of_the_whole(shape: Shape) -> Iterator[Problem]:
    """Yield problems that report of something missing."""
    yield from voice_problems(shape.topology)
    yield from _loose_ends(shape.topology)
    yield from _idle_caps(shape)
    yield from otherwise_problems(shape.topology)
    yield from nothing_to_count(shape)
    yield from reach_problems(shape)
    yield from evaluator_role_problems(shape.topology)
    if not shape.cycles:
        yield from target_problems(shape)


def _cycles(shape: Shape) -> Iterator[Problem]:
    for cycle in shape.cycles:
        yield Problem(
            path=_link_between(shape.topology, cycle[-2], cycle[-1]),
            wrong=f"a cycle without a cap: {cycle_text(cycle)}",
            expected="one link of every cycle has a `cap`, which ends the loop",
            hint=f"add `cap: 2`, say, to the link from `{cycle[-2]}` to `{cycle[-1]}`",
        )


def _link_between(topology: Topology, source: str, target: str) -> SpecPath:
    for index, link in enumerate(topology.links):
        if not isinstance(link, ForwardLink) or link.cap is not None:
            continue
        if (link.source, link.target) == (source, target):
            return ("links", index)
    return ("links",)


def _idle_caps(shape: Shape) -> Iterator[Problem]:
    known = shape.topology.roles
    for index, link in enumerate(shape.topology.links):
        if not isinstance(link, ForwardLink) or link.cap is None or link.id in shape.closing:
            continue
        if link.source in known and link.target in known:
            yield Problem(
                path=("links", index, "cap"),
                wrong=f"`{link.id}` has a cap and lies on no cycle of forward links: no forward "
                f"links lead from `{link.target}` back to `{link.source}`",
                hint="leave `cap` out, or add the link that makes the loop",
            )


def _loose_ends(topology: Topology) -> Iterator[Problem]:
    for index, link in enumerate(topology.links):
        ends = {"from": link.source}
        if isinstance(link, ForwardLink):
            ends["to"] = link.target
        for key, name in ends.items():
            if name not in topology.roles:
                yield unknown_role(("links", index, key), name, topology.roles)


def _twins(topology: Topology) -> Iterator[Problem]:
    """Yield links that are equal in everything but their ids."""
    seen: dict[str, str] = {}
    for index, link in enumerate(topology.links):
        key = repr(_nameless(link))
        if key in seen:
            yield Problem(
                path=("links", index),
                wrong=f"`{link.id}` is the same link as `{seen[key]}` under another id"
                if link.id != seen[key]
                else f"two links have the id `{link.id}` and are the same",
                hint="remove one of the two",
            )
        seen.setdefault(key, link.id)


def _nameless(link: Link) -> Link:
    if isinstance(link, ForwardLink):
        when = link.when
        ordered = dict(sorted(when.items())) if isinstance(when, Mapping) else when
        return replace(link, id="", when=ordered)
    return replace(link, id="")


def _team(shape: Shape, teams: Mapping[str, Team]) -> Team:
    return Team(
        topology=shape.topology,
        graph=_graph(shape.topology),
        order=shape.order,
        closing=shape.closing,
        start=shape.start,
        reviewers=reviewers(shape),
        upstream=shape.upstream,
        downstream=shape.downstream,
        bounds=bounds_of(shape),
        teams=teams,
    )


def _graph(topology: Topology) -> nx.MultiDiGraph[str]:
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(name=topology.name)
    for role in topology.roles.values():
        graph.add_node(role.name, role=role)
    for link in topology.links:
        kind = "authority" if isinstance(link, AuthorityLink) else "forward"
        targets = link.targets if isinstance(link, AuthorityLink) else (link.target,)
        for target in targets:
            graph.add_edge(link.source, target, key=link.id, kind=kind, link=link)
    return graph
