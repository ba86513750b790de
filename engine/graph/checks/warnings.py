"""Warnings: what is valid and probably unintended."""

from __future__ import annotations

from collections.abc import Iterator

from orglab.engine.graph.team import Team
from orglab.engine.spec.errors import Problem
from orglab.engine.spec.model import ForwardLink


def remarks(team: Team) -> Iterator[Problem]:
    """Yield warnings: the team runs, but perhaps not as its author thinks."""
    topology = team.topology
    alone = [role for role in topology.roles.values() if not _sees_others(role.sees)]
    if len(topology.roles) > 1 and not topology.links and len(alone) == len(topology.roles):
        yield Problem(
            path=("roles",),
            wrong=f"{len(topology.roles)} roles and no links: each works alone, and none reads another",
            hint="add `links`, if they are to be a team",
            at_key=True,
        )
    yield from _unread_links(team)


def _unread_links(team: Team) -> Iterator[Problem]:
    """Yield forward links to roles that ``start`` begins at once: what they bring is late."""
    topology = team.topology
    for number, link in enumerate(topology.links):
        plain = isinstance(link, ForwardLink) and link.id not in team.closing
        if plain and topology.start and link.target in topology.start:
            yield Problem(
                path=("links", number),
                wrong=f"`{link.target}` begins the run, so what `{link.source}` sends it is too late",
                hint=f"take `{link.target}` out of `start`, or remove the link",
            )


def _sees_others(sees: tuple[str, ...]) -> bool:
    return any(sight == "blackboard" or sight.startswith("role:") for sight in sees)
