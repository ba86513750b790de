"""A compiled team: the graph, its order, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import networkx as nx

from orglab.engine.spec.model import Topology


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """Upper bounds of one run, before anything is called.

    Attributes:
        turns: Turns, reviews by a model included.
        calls: Model calls: turns with their tool rounds and repairs.
    """

    turns: int
    calls: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Team:
    """A topology, compiled.

    Attributes:
        topology: What it was compiled from.
        graph: Nodes: role names, attribute ``role`` (the Role). Edges: one a link and subordinate,
            key = the link's id, attributes ``kind`` (``forward`` | ``authority``) and ``link``.
        order: Roles in a topological order of the forward links without closing ones, ties by
            declared order.
        closing: Ids of the closing links.
        start: Roles that begin the run, in declared order.
        reviewers: Roles that act in reviews alone.
        upstream: For each role, every role before it in the DAG (itself not among them).
        downstream: For each role, every role after it.
        bounds: The largest number of turns and calls.
        teams: The compiled teams of the roles that are teams.
    """

    topology: Topology
    graph: nx.MultiDiGraph[str]
    order: tuple[str, ...]
    closing: frozenset[str]
    start: tuple[str, ...]
    reviewers: frozenset[str]
    upstream: Mapping[str, frozenset[str]]
    downstream: Mapping[str, frozenset[str]]
    bounds: Bounds
    teams: Mapping[str, Team] = field(default_factory=dict)
