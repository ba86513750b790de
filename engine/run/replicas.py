"""Role replicas: ``writer``, or ``writer#1`` and ``writer#2`` where a role has replicas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from orglab.engine.spec.model import Role


@dataclass(frozen=True, kw_only=True, slots=True)
class Replica:
    """One acting copy of a role.

    Attributes:
        name: ``writer`` or ``writer#2``.
        role: The role.
        index: From 1.
        rank: Position in the declared order of all replicas.
    """

    name: str
    role: Role
    index: int
    rank: int


def output_id(copy: str, visit: int) -> str:
    """Return the id of what ``copy`` wrote in its turn number ``visit``."""
    return f"{copy}@{visit}"


class Replicas:
    """All replicas of a team, by name and by role, in declared order."""

    def __init__(self, roles: Mapping[str, Role]) -> None:
        self.by_name: dict[str, Replica] = {}
        self.by_role: dict[str, tuple[Replica, ...]] = {}
        for role in roles.values():
            made = tuple(self._make(role, index) for index in range(1, role.replicas + 1))
            self.by_role[role.name] = made

    def _make(self, role: Role, index: int) -> Replica:
        name = role.name if role.replicas == 1 else f"{role.name}#{index}"
        copy = Replica(name=name, role=role, index=index, rank=len(self.by_name))
        self.by_name[name] = copy
        return copy

    def of(self, roles: Iterable[str]) -> list[Replica]:
        """Return the replicas of ``roles``, in declared order."""
        found = [copy for role in roles for copy in self.by_role[role]]
        return sorted(found, key=_rank)


def _rank(copy: Replica) -> int:
    return copy.rank
