"""Topologies written in a line: ``build("a > b", "b > a cap 2", "boss => a, b cap 1")``."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orglab.engine.spec.model import (
    AuthorityLink,
    ForwardLink,
    InputField,
    Link,
    Model,
    Role,
    Topology,
)

LINK = re.compile(
    r"(?:(?P<id>\w+): )?(?P<source>\w+) (?P<arrow>=?>) (?P<targets>\w+(?:, \w+)*)"
    r"(?: when (?P<field>\w+)=(?P<values>\S+))?(?P<otherwise> otherwise)?(?: cap (?P<cap>\d+))?"
)
VERDICTS = {
    "type": "object",
    "properties": {"v": {"enum": ["ok", "redo", "urgent"]}, "n": {"type": "integer"}},
}


def link(text: str) -> Link:
    """A link from its line."""
    found = LINK.fullmatch(text)
    assert found, text
    targets = tuple(found["targets"].split(", "))
    cap = int(found["cap"]) if found["cap"] else None
    id_ = found["id"] or f"{found['source']}>{','.join(targets)}"
    if found["arrow"] == "=>":
        assert cap is not None
        return AuthorityLink(id=id_, source=found["source"], targets=targets, cap=cap)
    when: Any = {found["field"]: tuple(found["values"].split("|"))} if found["field"] else None
    when = "otherwise" if found["otherwise"] else when
    return ForwardLink(id=id_, source=found["source"], target=targets[0], when=when, cap=cap)


def names(links: list[Link]) -> list[str]:
    """Roles in order of their first mention."""
    found: list[str] = []
    for one in links:
        targets = one.targets if isinstance(one, AuthorityLink) else (one.target,)
        found += [one.source, *targets]
    return list(dict.fromkeys(found))


def build_topology(
    *links: str | Link,
    roles: dict[str, dict[str, Any]] | None = None,
    output: str | tuple[str, ...] | None = None,
    without: tuple[str, ...] = (),
    **fields: Any,
) -> Topology:
    """A topology; roles in order of ``roles``, then of their first mention in a link.

    The answer is, unless given, what the last forward link leads to.
    """
    made = [link(one) if isinstance(one, str) else one for one in links]
    given = dict(roles or {})
    order = [name for name in dict.fromkeys([*given, *names(made)]) if name not in without]
    standard: dict[str, Any] = {"model": "m", "output": VERDICTS, "vars": {"persona": "plain"}}
    made_roles = {name: Role(name=name, **(standard | given.get(name, {}))) for name in order}
    ends = [one.target for one in made if isinstance(one, ForwardLink)] or order[:1]
    answers = (output,) if isinstance(output, str) else output or tuple(ends[-1:])
    settings: dict[str, Any] = {
        "name": "team",
        "hash": "",
        "folder": Path(),
        "inputs": {"topic": InputField(name="topic", schema={"type": "string"})},
        "models": {"m": Model(alias="m", provider="simulated")},
        "pools": {},
        "tools": {},
        "start": None,
    }
    return Topology(roles=made_roles, links=tuple(made), output=answers, **(settings | fields))


@pytest.fixture(scope="session")
def build() -> Callable[..., Topology]:
    """The maker of topologies."""
    return build_topology
