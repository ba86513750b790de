"""Checks of every template of a topology: is it one, and does it reach what it names?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from orglab.engine.graph.checks.variables import (
    RESERVED,
    Allowed,
    allowed_in_override,
    allowed_in_review,
    allowed_in_role,
    allowed_in_settings,
)
from orglab.engine.graph.templates.templates import references
from orglab.engine.spec.errors import Problem, SpecPath
from orglab.engine.spec.messages import ErrorIndex, choices, meant
from orglab.engine.spec.model import AuthorityLink, EvaluatorUse, Topology
from orglab.engine.spec.validate.schema import definition
from orglab.providers.base import JSON

Names: TypeAlias = frozenset[str]

MAPPING_METHODS = frozenset({"get", "items", "keys", "values"})
_GRANTED_BY: Final[Mapping[str, set[str]]] = {"roles": {"outputs"}, "tools": {"tool"}}
"""What a role loses when one that it sees, or a tool that it has, is left out for its fault."""


def template_problems(topology: Topology, errors: ErrorIndex | None = None) -> Iterator[Problem]:
    """Yield every problem of every template.

    Args:
        topology: The topology.
        errors: Where invalid parts are missing from it: then a name that these may have declared is no
            problem.
    """
    yield from _input_names(topology)
    unsure = _unsure(errors)
    for path, text, reach in _templates(topology):
        allowed: Allowed | None = reach
        if errors and errors.touches(*_owner(topology, path)):
            allowed = None
        yield from _check(path, text, allowed, unsure)


def _unsure(errors: ErrorIndex | None) -> Names | None:
    """Return names that invalid parts may have declared or granted, and so are no problem; None: any name."""
    if errors is None:
        return frozenset()
    known = definition("topology")["properties"]
    found = set[str]()
    for path in errors.paths:
        part = path[0] if path else "extends"
        if part == "extends" or part not in known or path == ("inputs",):
            return None
        found |= {str(path[1])} if part == "inputs" else _GRANTED_BY.get(str(part), set())
    return frozenset(found)


def _owner(topology: Topology, path: SpecPath) -> SpecPath:
    """Return what may also decide what the template at ``path`` reaches.

    A link that is there has no error itself, and its number is that among the links that are left: its
    templates reach what its sender does.
    """
    if path[0] == "links" and isinstance(path[1], int):
        return ("roles", topology.links[path[1]].source)
    if path[0] == "templates":  # it serves all roles
        return ("roles",)
    return path[:2] if path[0] in ("roles", "tools") else path[:1]


def _input_names(topology: Topology) -> Iterator[Problem]:
    for name in topology.inputs:
        if name in RESERVED:
            yield Problem(
                path=("inputs", name),
                wrong=f"input `{name}` has the name of something else that templates can use",
                hint="give the input another name",
                at_key=True,
            )


def _templates(topology: Topology) -> Iterator[tuple[SpecPath, str, Allowed]]:
    for role in topology.roles.values():
        allowed = allowed_in_role(topology, role)
        yield ("roles", role.name, "system"), role.system, allowed
        if role.prompt is not None:
            yield ("roles", role.name, "prompt"), role.prompt, allowed
        yield from _inside(("roles", role.name, "with"), role.fill, allowed)
    declared = {tool.source or name: tool for name, tool in topology.tools.items()}
    for name, tool in declared.items():
        allowed = allowed_in_settings(topology, f"tool {name}")
        yield from _inside(("tools", name, "with"), tool.settings, allowed)
    for name, text in topology.templates.items():
        yield ("templates", name), text, allowed_in_override(topology, name)
    yield from _evaluators(topology, ("evaluators",), topology.evaluators)
    for index, link in enumerate(topology.links):
        if isinstance(link, AuthorityLink):
            yield from _of_link(topology, index, link)


def _of_link(
    topology: Topology, index: int, link: AuthorityLink
) -> Iterator[tuple[SpecPath, str, Allowed]]:
    path: SpecPath = ("links", index, "trigger", "checks")
    yield from _evaluators(topology, path, link.trigger.checks)
    allowed = allowed_in_review(topology, link)
    for number, phase in enumerate(link.phases):
        if phase.prompt is not None:
            yield ("links", index, "review", number, "prompt"), phase.prompt, allowed


def _evaluators(
    topology: Topology, path: SpecPath, uses: tuple[EvaluatorUse, ...]
) -> Iterator[tuple[SpecPath, str, Allowed]]:
    for index, use in enumerate(uses):
        allowed = allowed_in_settings(topology, f"evaluator {use.use}")
        yield from _inside((*path, index, use.use), use.arguments, allowed)


def _inside(
    path: SpecPath, value: JSON, allowed: Allowed
) -> Iterator[tuple[SpecPath, str, Allowed]]:
    """Yield each text within settings, as a template."""
    if isinstance(value, str):
        yield path, value, allowed
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _inside((*path, key), part, allowed)
    elif isinstance(value, (list, tuple)):
        for index, part in enumerate(value):
            yield from _inside((*path, index), part, allowed)


def _check(
    path: SpecPath, text: str, allowed: Allowed | None, unsure: Names | None
) -> Iterator[Problem]:
    """Yield what is wrong with one template; without ``allowed`` what it reaches is not known.

    Of names in ``unsure``, or of any where it is None, only what is there and not granted is reported.
    """
    found = references(text)
    if found.error:
        yield Problem(
            path=path,
            wrong=f"line {found.error.line} of the template: {found.error.message}",
            hint=found.error.hint,
        )
        return
    if allowed is None:
        return
    for name in sorted(found.variables - allowed.names):
        yield from _unknown(path, name, allowed, unsure)
    if "tool" in found.whole & allowed.names:
        yield Problem(
            path=path,
            wrong="the template uses `tool` itself",
            hint="call a tool by its name: `tool.NAME(…)`",
        )
    if unsure is not None:
        sure = frozenset(pair for pair in found.attributes if pair[0] not in unsure)
        yield from _attributes(path, sure, allowed)


def _unknown(
    path: SpecPath, name: str, allowed: Allowed, unsure: Names | None
) -> Iterator[Problem]:
    if unsure is not None and name in unsure:
        return
    if name in allowed.grants:
        yield Problem(
            path=path,
            wrong=f"the template uses `{name}`, which {allowed.place} does not see",
            hint=allowed.grants[name],
        )
    elif unsure is not None:
        yield Problem(
            path=path,
            wrong=f"the template uses `{name}`; it is not an input and nothing else that "
            f"{allowed.place} has",
            expected=f"one of {choices(sorted(allowed.names), limit=20)}" if allowed.names else "",
            hint=meant(name, allowed.names) or f"declare `{name}` under `inputs`",
        )


def _attributes(
    path: SpecPath, attributes: frozenset[tuple[str, str]], allowed: Allowed
) -> Iterator[Problem]:
    for owner, name in sorted(attributes):
        known = allowed.fields.get(owner)
        if known is None or owner not in allowed.names or name in known:
            continue
        if owner == "vars" and name in MAPPING_METHODS:
            continue
        yield Problem(
            path=path,
            wrong=f"the template uses `{owner}.{name}`, which {allowed.place} does not have",
            expected=f"{owner} has {choices(sorted(known))}",
            hint=meant(name, known) or _hint(owner, name),
        )


def _hint(owner: str, name: str) -> str:
    hints = {
        "vars": f"add `{name}` to the role's `vars`",
        "outputs": f"add `role:{name}` to the role's `sees`",
        "tool": f"add `{name}` to the role's `tools`",
    }
    return hints.get(owner, "")
