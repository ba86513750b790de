"""Checks of votes, and of lists handed out item by item."""

from __future__ import annotations

from collections.abc import Iterator

from orglab.engine.graph.checks.authority import acting, may_oblige
from orglab.engine.graph.dag import Shape
from orglab.engine.graph.output_fields import COUNTS, fields_of, is_list, most_items
from orglab.engine.spec.errors import Problem, SpecPath
from orglab.engine.spec.messages import ErrorIndex, choices, meant
from orglab.engine.spec.model import ForwardLink, Role, Topology

# --- votes --------------------------------------------------------------------------------------


def vote_problems(shape: Shape, errors: ErrorIndex) -> Iterator[Problem]:
    """Yield votes on what senders do not write, and votes that are reported to vote again."""
    for role in shape.topology.roles.values():
        if role.vote is not None:
            yield from _vote(shape.topology, role, role.vote, errors)
    for index, link in enumerate(shape.topology.links):
        if isinstance(link, ForwardLink):
            continue
        votes = [name for name in acting(link) if _votes(shape.topology, name)]
        if votes and may_oblige(link):
            yield Problem(
                path=("links", index, "to" if link.target is None else "target"),
                wrong=f"`{votes[0]}` votes, so being sent back changes nothing that it gives",
                hint="review the voters in its place; or set `cap: 0`; or, where checks look at it, "
                "name a `target` that can act",
            )


def _votes(topology: Topology, name: str) -> bool:
    role = topology.roles.get(name)
    return role is not None and role.vote is not None


def _vote(topology: Topology, role: Role, field: str, errors: ErrorIndex) -> Iterator[Problem]:
    path: SpecPath = ("roles", role.name, "vote")
    if field == COUNTS:
        wrong = f"`{COUNTS}` is what a vote's output calls the counts"
        yield Problem(path=path, wrong=wrong, hint="give the field of the voters another name")
    for link in topology.forward:
        sender = topology.roles.get(link.source)
        if link.target != role.name or sender is None or errors.touches("roles", sender.name):
            continue
        known = fields_of(topology, sender)
        if known is None:
            yield Problem(
                path=path,
                wrong=f"the vote is on `{field}`, but `{sender.name}` writes free text",
                hint=f"give `{sender.name}` an `output` schema with the field `{field}`: "
                "long texts are never equal",
            )
        elif field not in known:
            yield Problem(
                path=path,
                wrong=f"the output of `{sender.name}` has no field `{field}` to vote on",
                expected=f"one of {choices(known)}" if known else "an object with fields",
                hint=meant(field, known) or f"add `{field}` to its `output` schema",
            )


def nothing_to_count(shape: Shape) -> Iterator[Problem]:
    """Yield votes that begin the run."""
    for name, role in shape.topology.roles.items():
        if role.vote is not None and name in shape.start:
            yield Problem(
                path=("roles", name, "vote"),
                wrong=f"`{name}` begins the run, so there is nothing to count",
                hint="let a forward link lead from the voters to it",
            )


# --- item by item -------------------------------------------------------------------------------


def each_problems(topology: Topology, errors: ErrorIndex) -> Iterator[Problem]:
    """Yield ``each`` on what is no list, or on a list that may be longer than there are copies."""
    for index, link in enumerate(topology.links):
        if not isinstance(link, ForwardLink) or link.each is None:
            continue
        source, target = topology.roles.get(link.source), topology.roles.get(link.target)
        path: SpecPath = ("links", index, "each")
        yield from _not_here(path, link, target)
        if source is None or target is None or errors.touches("roles", source.name):
            continue
        if not errors.touches("roles", target.name):
            yield from _each(topology, path, link.each, source, target)


def _not_here(path: SpecPath, link: ForwardLink, target: Role | None) -> Iterator[Problem]:
    if link.cap is not None:
        yield Problem(
            path=path,
            wrong="`each` is not allowed on a closing link",
            hint=f"let it lead to a role before `{link.target}`, whose plain link has `each`",
            at_key=True,
        )
    if target is not None and target.vote is not None:
        yield Problem(
            path=path,
            wrong=f"`{target.name}` votes on whole outputs, not on items",
            hint="hand the items to the voters",
            at_key=True,
        )


def _each(
    topology: Topology, path: SpecPath, field: str, source: Role, target: Role
) -> Iterator[Problem]:
    known = fields_of(topology, source)
    if known is None or field not in known:
        writes = "writes free text" if known is None else f"has no field `{field}` in its output"
        yield Problem(
            path=path,
            wrong=f"`each` hands out the items of `{field}`, but `{source.name}` {writes}",
            hint=meant(field, known or ())
            or f"give `{source.name}` an `output` schema with the list `{field}`",
        )
        return
    if not all(is_list(one) for one in known[field]):
        yield Problem(
            path=path,
            wrong=f"`{field}` of `{source.name}` need not be a list",
            hint=f"write `type: array` and `maxItems: {target.replicas}` for it in the schema",
        )
        return
    bounds = [most_items(one) for one in known[field]]
    if any(bound is None or bound > target.replicas for bound in bounds):
        known_bounds = [bound for bound in bounds if bound is not None]
        many = "any number of" if None in bounds else f"{max(known_bounds)}"
        yield Problem(
            path=path,
            wrong=f"`{field}` of `{source.name}` may hold {many} items, and `{target.name}` has "
            f"{_copies(target.replicas)}",
            expected="a list that is never longer than there are copies",
            hint=f"write `maxItems: {target.replicas}` in its schema, or raise `replicas` of "
            f"`{target.name}`",
        )


def _copies(number: int) -> str:
    return "1 copy" if number == 1 else f"{number} copies"
