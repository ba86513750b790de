"""Checks of who takes part: start, reached roles, dead ends, output."""

from __future__ import annotations

from collections.abc import Iterator

from orglab.engine.graph.dag import Shape
from orglab.engine.spec.errors import Problem, SpecPath
from orglab.engine.spec.messages import choices, unknown_role
from orglab.engine.spec.model import AuthorityLink, ForwardLink


def reviewers(shape: Shape) -> frozenset[str]:
    """Return superiors that never come to a turn of their own."""
    return shape.superiors - shape.reached


def reach_problems(shape: Shape) -> Iterator[Problem]:
    """Yield roles without a part in the run, and output from roles without a turn."""
    yield from _start(shape)
    yield from _unreached(shape)
    yield from _idle_links(shape)
    yield from _dead_ends(shape)
    yield from _output(shape)


def _start(shape: Shape) -> Iterator[Problem]:
    names = shape.topology.start or ()
    for index, name in enumerate(names):
        if name not in shape.topology.roles:
            path: SpecPath = ("start", index)
            yield unknown_role(path, name, shape.topology.roles)


def _unreached(shape: Shape) -> Iterator[Problem]:
    for name in shape.topology.roles:
        if name in shape.reached or name in shape.superiors:
            continue
        yield Problem(
            path=("roles", name),
            wrong=f"`{name}` never takes a turn: the start does not lead to it, "
            "and it is no one's superior",
            expected=f"the run starts with {choices(shape.start)}",
            hint="add a forward link to it, name it in `start`, or remove it",
            at_key=True,
        )


def _idle_links(shape: Shape) -> Iterator[Problem]:
    for index, link in enumerate(shape.topology.links):
        if isinstance(link, ForwardLink):
            if link.source in reviewers(shape):
                yield _never_delivers(("links", index, "from"), link)
        else:
            yield from _never_reviewed(shape, index, link)


def _never_delivers(path: SpecPath, link: ForwardLink) -> Problem:
    return Problem(
        path=path,
        wrong=f"`{link.source}` only reviews and takes no turn of its own, so this link never "
        "delivers anything",
        hint=f"let a forward link lead to `{link.source}`, name it in `start`, or remove the link",
    )


def _never_reviewed(shape: Shape, index: int, link: AuthorityLink) -> Iterator[Problem]:
    for number, name in enumerate(link.targets):
        path: SpecPath = ("links", index, "to", number)
        path = path if len(link.targets) > 1 else path[:-1]
        if name not in shape.topology.roles:
            yield unknown_role(path, name, shape.topology.roles)
        elif name in reviewers(shape):
            yield Problem(
                path=path,
                wrong=f"`{name}` only reviews and takes no turn of its own, so `{link.source}` "
                "has no output of it to judge",
                hint=f"let a forward link lead to `{name}`, name it in `start`, or take it out",
            )


def _dead_ends(shape: Shape) -> Iterator[Problem]:
    used = _used(shape)
    for name in shape.topology.roles:
        if name in shape.reached and name not in used:
            yield Problem(
                path=("roles", name),
                wrong=f"nothing uses what `{name}` writes: no link leaves it, it is not in "
                "`output`, and no role, review, check or evaluator reads it",
                hint="add a forward link from it, name it in `output`, or give a role "
                f"`sees: [role:{name}]`",
                at_key=True,
            )


def _used(shape: Shape) -> frozenset[str]:
    """Return roles whose output has a use."""
    topology = shape.topology
    used = {link.source for link in shape.forward} | set(topology.output) | shape.superiors
    for role in topology.roles.values():
        for sight in role.sees:
            if sight in ("blackboard", "latest"):
                used.update(name for name in topology.roles if name != role.name)
            elif sight != f"role:{role.name}":
                used.add(sight.removeprefix("role:"))
    for link in shape.authority:
        if link.sees == "blackboard":
            return frozenset(topology.roles)
        if len(link.targets) > 1 or link.target not in (None, *link.targets):
            used.update(link.targets)
    uses = [*topology.evaluators, *(use for link in shape.authority for use in link.trigger.checks)]
    used.update(str(use.arguments.get("role")) for use in uses)
    return frozenset(used)


def _output(shape: Shape) -> Iterator[Problem]:
    output = shape.topology.output
    for index, name in enumerate(output):
        path: SpecPath = ("output", index) if len(output) > 1 else ("output",)
        if name not in shape.topology.roles:
            yield unknown_role(path, name, shape.topology.roles)
        elif name in reviewers(shape):
            yield Problem(
                path=path,
                wrong=f"`{name}` only reviews and takes no turn of its own, so it has no output "
                "that could be the answer",
                hint=f"name the role that writes the answer, or let a forward link lead to `{name}`",
            )
