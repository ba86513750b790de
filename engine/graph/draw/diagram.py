"""What every drawing of a team shows: nodes with their marks, edges with their labels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from orglab.engine.graph.team import Team
from orglab.engine.spec.model import AuthorityLink, ForwardLink, Link, Trigger
from orglab.providers.base import JSON

EdgeKind: TypeAlias = Literal["forward", "closing", "authority"]
LONGEST_LABEL = 60
TIMES = "\N{MULTIPLICATION SIGN}"


@dataclass(frozen=True, kw_only=True, slots=True)
class DiagramNode:
    """A role.

    Attributes:
        name: Its name.
        replicas: How many copies act.
        start: It begins the run.
        output: Its output is the answer.
        reviewer: It acts in reviews alone.
        superior: It has authority over someone.
        vote: The field it votes on; "" where it does not.
        team: The team that it is, or None.
    """

    name: str
    replicas: int
    start: bool
    output: bool
    reviewer: bool
    superior: bool
    vote: str = ""
    team: Diagram | None = None

    @property
    def title(self) -> str:
        """Its name, with the number of copies where there are several."""
        return f"{self.name} {TIMES}{self.replicas}" if self.replicas > 1 else self.name

    @property
    def remark(self) -> str:
        """What part it has, in words; "" for a role in the middle."""
        marks = {"start": self.start, "answer": self.output, "reviews": self.superior}
        words = [word for word, holds in marks.items() if holds]
        words = ["reviews only" if w == "reviews" and self.reviewer else w for w in words]
        return " · ".join([*self._nature(), *words])

    def _nature(self) -> list[str]:
        """Return what it is where it asks no model itself."""
        if self.team is not None:
            roles = len(self.team.nodes)
            return [f"team of {roles}" if roles > 1 else "team of one"]
        return ["votes"] if self.vote else []


@dataclass(frozen=True, kw_only=True, slots=True)
class DiagramEdge:
    """A link; of an authority link one edge for each subordinate.

    Attributes:
        id: The link's id.
        source: Name of the role it leaves.
        target: Name of the role it enters.
        kind: ``closing`` is a capped forward link on a cycle.
        label: Condition, cap, trigger; "" where there is none.
        link: The link.
    """

    id: str
    source: str
    target: str
    kind: EdgeKind
    label: str
    link: Link


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagram:
    """A team to draw, its parts in declared order."""

    name: str
    nodes: tuple[DiagramNode, ...]
    edges: tuple[DiagramEdge, ...]


def diagram_of(team: Team) -> Diagram:
    """Return what to draw of ``team``."""
    superiors = {link.source for link in team.topology.authority}
    nodes = tuple(
        DiagramNode(
            name=role.name,
            replicas=role.replicas,
            start=role.name in team.start,
            output=role.name in team.topology.output,
            reviewer=role.name in team.reviewers,
            superior=role.name in superiors,
            vote=role.vote or "",
            team=diagram_of(team.teams[role.name]) if role.name in team.teams else None,
        )
        for role in team.topology.roles.values()
    )
    edges = tuple(edge for link in team.topology.links for edge in _edges(link, team.closing))
    return Diagram(name=team.topology.name, nodes=nodes, edges=edges)


def _edges(link: Link, closing: frozenset[str]) -> list[DiagramEdge]:
    if isinstance(link, AuthorityLink):
        return [_edge(link, target, "authority", _authority_label(link)) for target in link.targets]
    kind: EdgeKind = "closing" if link.id in closing else "forward"
    return [_edge(link, link.target, kind, _forward_label(link))]


def _edge(link: Link, target: str, kind: EdgeKind, label: str) -> DiagramEdge:
    return DiagramEdge(
        id=link.id, source=link.source, target=target, kind=kind, label=_cut(label), link=link
    )


def _forward_label(link: ForwardLink) -> str:
    parts = [f"each of {link.each}"] if link.each is not None else []
    parts += [_condition(link.when)] if link.when is not None else []
    if link.cap is not None:
        parts.append(f"cap {link.cap}")
    return " · ".join(parts)


def _condition(when: Literal["otherwise"] | Mapping[str, tuple[JSON, ...]]) -> str:
    if isinstance(when, str):
        return when
    return ", ".join(f"{name}: {' | '.join(map(_value, values))}" for name, values in when.items())


def _value(value: JSON) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return " ".join(text.split())


def _authority_label(link: AuthorityLink) -> str:
    return " · ".join(part for part in (f"cap {link.cap}", _trigger(link.trigger)) if part)


def _trigger(trigger: Trigger) -> str:
    if trigger.kind == "checks":
        return " + ".join(dict.fromkeys(use.use for use in trigger.checks))
    if trigger.kind == "coin":
        return f"coin {trigger.probability:g}"
    return "never" if trigger.kind == "never" else ""


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"
