"""What each template of a topology may reach."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

from orglab.engine.graph.templates.templates import references
from orglab.engine.spec.model import AuthorityLink, Role, Topology

Names: TypeAlias = frozenset[str]

ENTRY = frozenset({"copy", "item", "kind", "link", "role", "text", "to", "value", "visit"})
DIRECTIVE = frozenset({"action", "draft", "link", "reason", "suggestion", "superior"})

ALWAYS = frozenset({"vars", "visit", "role", "copy", "sight", "tool"})
OWN_TURN = ALWAYS | {"directive", "stake"}
REVIEW = ALWAYS | {
    "actions",
    "cap",
    "draft",
    "findings",
    "reviewed",
    "targets",
    "uses_left",
    "verdicts",
}
GRANTED = frozenset({"blackboard", "inbox", "latest", "outputs", "own"})

RESERVED: Names = OWN_TURN | REVIEW | GRANTED
"""Names that the engine gives to templates; an input called so could not be reached."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Allowed:
    """What one template may reach.

    Attributes:
        names: Top-level names.
        grants: Names that exist but are not granted, with what would grant them.
        fields: For names with known attributes, those attributes; others are not looked at.
        place: How messages call the template's owner: ``writer``, ``link oversight``.
        kind: Whose template it is.
        sees: Key of the document that grants sight, for hints.
    """

    names: Names
    grants: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, Names] = field(default_factory=dict)
    place: str = ""
    kind: Literal["role", "review", "settings", "override"] = "role"


def allowed_in_role(topology: Topology, role: Role) -> Allowed:
    """Return what a role's ``system`` and ``prompt`` may reach: what its ``sees`` grants."""
    seen = {name.removeprefix("role:") for name in role.sees if name.startswith("role:")}
    granted = GRANTED.intersection(role.sees) | ({"outputs"} if seen else frozenset())
    inputs = frozenset(topology.inputs)
    names = OWN_TURN | granted | (inputs if "task" in role.sees else frozenset())
    grants = {name: f"add `{name}` to its `sees`" for name in GRANTED - granted}
    if "outputs" in grants:
        grants["outputs"] = "add `role:NAME` of the role it should read to its `sees`"
    if "task" not in role.sees:
        grants |= dict.fromkeys(inputs, "add `task` to its `sees`")
    grants |= dict.fromkeys(REVIEW - OWN_TURN, "only prompts of reviews have it")
    fields = {
        "vars": frozenset(role.vars),
        "outputs": frozenset(seen),
        "tool": frozenset(role.tools),
        "directive": DIRECTIVE,
        "latest": ENTRY,
    }
    return Allowed(names=names, grants=grants, fields=fields, place=role.name)


def allowed_in_review(topology: Topology, link: AuthorityLink) -> Allowed:
    """Return what the prompt of a phase may reach: the task, the draft and what the link grants."""
    superior = topology.roles.get(link.source)
    granted = frozenset({"blackboard"} if link.sees == "blackboard" else ())
    grants = dict.fromkeys(GRANTED | OWN_TURN, "a review has `draft` and what its link `sees`")
    grants["blackboard"] = "give the link `sees: blackboard`"
    fields = {
        "vars": frozenset(superior.vars if superior else ()),
        "tool": frozenset(superior.tools if superior else ()),
        "draft": ENTRY,
    }
    return Allowed(
        names=REVIEW | granted | frozenset(topology.inputs),
        grants=grants,
        fields=fields,
        place=f"a review of link {link.id}",
        kind="review",
    )


def allowed_in_settings(topology: Topology, place: str) -> Allowed:
    """Return what settings of tools and arguments of evaluators may reach: the inputs."""
    grants = dict.fromkeys(RESERVED, "settings reach the inputs alone")
    return Allowed(names=frozenset(topology.inputs), grants=grants, place=place, kind="settings")


def allowed_in_override(topology: Topology, name: str) -> Allowed:
    """Return what an overridden template of the engine may reach.

    It serves all roles, so each name that any of them may have is allowed, and what the shipped
    template of this name uses.
    """
    every = _union(role.vars for role in topology.roles.values())
    tools = _union(role.tools for role in topology.roles.values())
    names = RESERVED | frozenset(topology.inputs) | _shipped(name)
    fields = {"vars": every, "tool": tools, "outputs": frozenset(topology.roles)}
    return Allowed(names=names, fields=fields, place=f"template {name}", kind="override")


def _union(many: Iterable[Iterable[str]]) -> Names:
    return frozenset(name for names in many for name in names)


@cache
def _shipped(name: str) -> Names:
    source = files("orglab.engine.prompts") / f"{name}.j2"
    return references(source.read_text("utf-8")).variables if source.is_file() else frozenset()
