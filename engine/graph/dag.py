"""The shape of a team's forward links: cycles, the DAG, its order, who is reached."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, compress

import networkx as nx

from orglab.engine.spec.model import AuthorityLink, ForwardLink, Topology

_AS_FLAGS = bytes.maketrans(b"01", b"\x00\x01")


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What follows from the forward links alone, whether or not they are sound.

    Links with an end that is no role are left out.

    Attributes:
        topology: The topology.
        forward: Forward links with both ends.
        authority: Authority links with a superior; their targets may be unknown.
        closing: Ids of the capped forward links on a cycle of forward links.
        cycles: One uncapped cycle for each group of roles on such, its first role last again.
    """

    topology: Topology
    forward: tuple[ForwardLink, ...]
    authority: tuple[AuthorityLink, ...]
    closing: frozenset[str]
    cycles: tuple[tuple[str, ...], ...]

    @cached_property
    def dag_links(self) -> tuple[ForwardLink, ...]:
        """The forward links without the closing ones."""
        return tuple(link for link in self.forward if link.id not in self.closing)

    @cached_property
    def superiors(self) -> frozenset[str]:
        """Roles that are the superior of a link."""
        return frozenset(link.source for link in self.authority)

    @cached_property
    def start(self) -> tuple[str, ...]:
        """Roles that begin the run, in declared order.

        The default is every role that no link of the DAG enters, except superiors without
        forward links. A group of roles on an uncapped cycle that nothing enters from outside
        counts as entered from the start, so that one error is reported once.
        """
        roles = self.topology.roles
        if self.topology.start is not None:
            chosen = frozenset(self.topology.start)
            return tuple(name for name in roles if name in chosen)
        group = _groups(roles, self.dag_links)
        entered = {
            group[link.target]
            for link in self.dag_links
            if group[link.source] != group[link.target]
        }
        linked = {end for link in self.forward for end in (link.source, link.target)}
        idle = self.superiors - linked
        return tuple(name for name in roles if group[name] not in entered and name not in idle)

    @cached_property
    def reached(self) -> frozenset[str]:
        """Roles that can come to a turn of their own: from the start through forward links."""
        graph = _graph(self.topology.roles, self.forward)
        return frozenset(chain.from_iterable(nx.bfs_layers(graph, self.start)))

    @cached_property
    def order(self) -> tuple[str, ...]:
        """A topological order of the DAG, ties by declared order; needs ``cycles`` empty."""
        rank = {name: place for place, name in enumerate(self.topology.roles)}
        graph = _graph(rank, self.dag_links)
        return tuple(nx.lexicographical_topological_sort(graph, key=rank.__getitem__))

    @cached_property
    def downstream(self) -> dict[str, frozenset[str]]:
        """For each role every role after it in the DAG; needs ``cycles`` empty."""
        return _closure(self.order, [(link.source, link.target) for link in self.dag_links])

    @cached_property
    def upstream(self) -> dict[str, frozenset[str]]:
        """For each role every role before it in the DAG; needs ``cycles`` empty."""
        backwards = [(link.target, link.source) for link in self.dag_links]
        return _closure(self.order[::-1], backwards)


def shape_of(topology: Topology) -> Shape:
    """Find closing links and uncapped cycles."""
    roles = topology.roles
    forward = tuple(
        link for link in topology.forward if link.source in roles and link.target in roles
    )
    group = _groups(roles, forward)
    closing = frozenset(
        link.id
        for link in forward
        if link.cap is not None and group[link.source] == group[link.target]
    )
    uncapped = [(link.source, link.target) for link in forward if link.cap is None]
    return Shape(
        topology=topology,
        forward=forward,
        authority=tuple(link for link in topology.authority if link.source in roles),
        closing=closing,
        cycles=tuple(one_cycle_each(roles, uncapped)),
    )


def one_cycle_each(
    roles: Iterable[str], arcs: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, ...]]:
    """Yield a shortest cycle through the first role of each group of roles that lie on cycles.

    The work is linear in the number of arcs, however many cycles there are.

    Yields:
        The roles of the cycle in order, its first role again at the end.
    """
    names = list(roles)
    rank = {name: place for place, name in enumerate(names)}
    graph: nx.DiGraph[str] = nx.DiGraph(arcs)
    groups = [
        group for group in nx.strongly_connected_components(graph) if _is_cyclic(graph, group)
    ]
    for group in sorted(groups, key=lambda group: min(map(rank.__getitem__, group))):
        first = min(group, key=rank.__getitem__)
        yield _way_back(graph, first, group)


def cycle_text(cycle: tuple[str, ...]) -> str:
    """Return ``a > b > a``, its middle left out where it is long."""
    if len(cycle) > 14:
        middle = f"… {len(cycle) - 11} more …"
        cycle = (*cycle[:6], middle, *cycle[-5:])
    return " > ".join(cycle)


def _is_cyclic(graph: nx.DiGraph[str], group: set[str]) -> bool:
    return len(group) > 1 or any(graph.has_edge(name, name) for name in group)


def _way_back(graph: nx.DiGraph[str], first: str, group: set[str]) -> tuple[str, ...]:
    before: dict[str, str] = {}
    waiting = deque([first])
    while first not in before:
        name = waiting.popleft()
        for target in graph.successors(name):
            if target in group and target not in before:
                before[target] = name
                waiting.append(target)
    way = [first, before[first]]
    while way[-1] != first:
        way.append(before[way[-1]])
    return tuple(reversed(way))


def _groups(roles: Iterable[str], links: Iterable[ForwardLink]) -> dict[str, int]:
    """For each role the number of its strongly connected group."""
    found = nx.strongly_connected_components(_graph(roles, links))
    return {name: number for number, group in enumerate(found) for name in group}


def _graph(roles: Iterable[str], links: Iterable[ForwardLink]) -> nx.DiGraph[str]:
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(roles)
    graph.add_edges_from((link.source, link.target) for link in links)
    return graph


def _closure(order: tuple[str, ...], arcs: list[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """For each name all that the arcs lead to, by bit sets along ``order``."""
    place = {name: index for index, name in enumerate(order)}
    ahead: dict[str, set[str]] = {name: set() for name in order}
    for source, target in arcs:
        ahead[source].add(target)
    bits: dict[str, int] = {}
    for name in reversed(order):
        found = 0
        for target in ahead[name]:
            found |= bits[target] | 1 << place[target]
        bits[name] = found
    return {name: frozenset(compress(order, _flags(found))) for name, found in bits.items()}


def _flags(bits: int) -> bytes:
    return format(bits, "b")[::-1].encode().translate(_AS_FLAGS)
