"""Draws of models from pools: the same in all arms, and in whatever order runs are made."""

from __future__ import annotations

from collections.abc import Mapping

from orglab.engine.run.calls.call_key import draw
from orglab.engine.run.replicas import Replica, Replicas
from orglab.engine.spec.model import Pool, Topology


def draw_models(
    topology: Topology, replicas: Replicas, *, seed: int, unit: str, unit_index: int, replicate: int
) -> dict[str, str]:
    """Return the alias of each copy's model: declared, or drawn from its pool.

    Args:
        topology: The team.
        replicas: Its replicas.
        seed: The root seed.
        unit: The unit's id.
        unit_index: The unit's place in its study, from 0; ``balance`` rotates by it.
        replicate: The replicate; it matters to ``draw: per_run`` alone.
    """
    drawn: dict[str, str] = {}
    taken: dict[str, int] = {}
    for copy in replicas.by_name.values():
        if copy.role.model is not None:
            drawn[copy.name] = copy.role.model
        elif copy.role.pool is not None:
            pool = topology.pools[copy.role.pool]
            nth = taken.get(pool.name, 0)
            taken[pool.name] = nth + 1
            turn = replicate if pool.draw == "per_run" else 0
            drawn[copy.name] = _draw(pool, copy, nth, seed, unit, unit_index, turn)
    return drawn


def _draw(
    pool: Pool, copy: Replica, nth: int, seed: int, unit: str, unit_index: int, turn: int
) -> str:
    size = len(pool.members)
    if pool.balance:
        order = _shuffled(pool.members, seed, "", turn, f"pool {pool.name}")
        return order[(unit_index + nth + turn) % size]
    if pool.replace:
        at = draw(seed, unit, turn, f"pool {pool.name}", copy.name, 0)
        return pool.members[int(at * size)]
    return _shuffled(pool.members, seed, unit, turn, f"pool {pool.name}")[nth % size]


def _shuffled(members: tuple[str, ...], seed: int, unit: str, turn: int, what: str) -> list[str]:
    keys: Mapping[str, float] = {
        member: draw(seed, unit, turn, what, member, 0) for member in members
    }
    return sorted(members, key=lambda member: (keys[member], member))
