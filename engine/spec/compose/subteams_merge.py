"""A team put into the topology around it: its models among those, none of them twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from orglab.engine.spec.model import Model, Pool, Role, Topology

__all__ = ["with_team"]


def with_team(outer: Topology, role: str, inner: Topology) -> Topology:
    """Return ``outer`` with ``inner`` as the team of ``role``.

    A model of the team is the outer one with the same entry where there is one, else it stands
    among the outer models as ``ROLE/ALIAS``: so each model is known once in a study.
    """
    models = dict(outer.models)
    names: dict[str, str] = {}
    for alias, model in inner.models.items():
        names[alias] = _same(model, models) or f"{role}/{alias}"
        models.setdefault(names[alias], replace(model, alias=names[alias]))
    team = _renamed(inner, names)
    roles = {**outer.roles, role: replace(outer.roles[role], team=team)}
    return replace(outer, roles=roles, models=models)


def _same(model: Model, known: Mapping[str, Model]) -> str | None:
    """Return the alias of a known model with the same entry; its own comes first."""
    first = known.get(model.alias)
    for other in (first, *known.values()):
        if other is not None and replace(model, alias=other.alias) == other:
            return other.alias
    return None


def _renamed(topology: Topology, names: Mapping[str, str]) -> Topology:
    """Return a team whose models go by other aliases; those of sub-teams it too."""
    models = {
        names[alias]: replace(model, alias=names[alias]) for alias, model in topology.models.items()
    }
    pools = {name: _pool(pool, names) for name, pool in topology.pools.items()}
    roles = {name: _role(role, names) for name, role in topology.roles.items()}
    return replace(topology, models=models, pools=pools, roles=roles)


def _pool(pool: Pool, names: Mapping[str, str]) -> Pool:
    return replace(pool, members=tuple(names[alias] for alias in pool.members))


def _role(role: Role, names: Mapping[str, str]) -> Role:
    model = names[role.model] if role.model is not None else None
    team = _renamed(role.team, names) if role.team is not None else None
    return replace(role, model=model, team=team)
