"""Checks of authority links: no circles, targets upstream, checks that look at someone."""

from __future__ import annotations

from collections.abc import Iterator

from orglab.engine.graph.dag import Shape, cycle_text, one_cycle_each
from orglab.engine.spec.errors import Problem, SpecPath
from orglab.engine.spec.messages import choices, unknown_role
from orglab.engine.spec.model import OBLIGING, AuthorityLink, EvaluatorUse, Topology


def asks_model(link: AuthorityLink) -> bool:
    """Return whether the superior's model may be asked in a review by this link."""
    trigger = link.trigger
    if trigger.kind == "checks":
        return trigger.voice == "superior"
    if trigger.kind == "coin":
        return link.directive is None and trigger.probability > 0 and link.cap > 0
    return trigger.kind == "judgement"


def may_oblige(link: AuthorityLink) -> bool:
    """Return whether this link may ever send a role back."""
    trigger = link.trigger
    if not link.cap or trigger.kind == "never":
        return False
    if trigger.kind == "coin":
        return trigger.probability > 0
    if trigger.kind == "checks":
        return True
    return any(OBLIGING.intersection(phase.actions) for phase in link.phases)


def firing(link: AuthorityLink) -> tuple[str, ...]:
    """Return subordinates on whose output a check or coin of ``link`` may fire."""
    roles = [use.arguments.get("role") for use in link.trigger.checks]
    if link.trigger.kind == "checks" and roles and None not in roles:
        return tuple(name for name in link.targets if name in roles)
    return link.targets


def acting(link: AuthorityLink) -> tuple[str, ...]:
    """Return roles that ``link`` may send back."""
    if link.trigger.kind == "judgement":
        return link.targets
    return (link.target,) if link.target is not None else firing(link)


def circle_problems(shape: Shape) -> Iterator[Problem]:
    """Yield roles that are, by way of others, their own superior."""
    arcs = [(link.source, name) for link in shape.authority for name in link.targets]
    for cycle in one_cycle_each(shape.topology.roles, arcs):
        yield Problem(
            path=_place(shape.topology, cycle[0], cycle[1]),
            wrong=f"authority links form a cycle: {cycle_text(cycle)}"
            if len(cycle) > 2
            else f"`{cycle[0]}` is its own superior",
            hint="a verdict is not itself reviewed: take one of these links out",
        )


def _place(topology: Topology, superior: str, subordinate: str) -> SpecPath:
    for index, link in enumerate(topology.links):
        if not isinstance(link, AuthorityLink):
            continue
        if link.source == superior and subordinate in link.targets:
            return ("links", index)
    return ("links",)


def target_problems(shape: Shape) -> Iterator[Problem]:
    """Yield ``target`` that does not come before every role that can fire it; needs no cycles."""
    for index, link in enumerate(shape.topology.links):
        if not isinstance(link, AuthorityLink) or link.target is None:
            continue
        path: SpecPath = ("links", index, "target")
        if link.trigger.kind == "judgement":
            yield Problem(
                path=path,
                wrong="`target` says who must act when a check or a coin fires, and this link "
                "has neither",
                hint="leave it out: a verdict names its target itself",
            )
        elif link.target not in shape.topology.roles:
            yield unknown_role(path, link.target, shape.topology.roles)
        else:
            yield from _after(path, shape, link, link.target)


def _after(path: SpecPath, shape: Shape, link: AuthorityLink, target: str) -> Iterator[Problem]:
    known = [name for name in firing(link) if name in shape.topology.roles]
    late = [name for name in known if name != target and target not in shape.upstream[name]]
    if late:
        yield Problem(
            path=path,
            wrong=f"`{target}` does not come before {choices(late)}, whose output can fire this "
            "link",
            expected="a role upstream of, or the same as, every role that can fire it",
            hint="choose another target, or let the checks look at one `role` alone",
        )


def evaluator_role_problems(topology: Topology) -> Iterator[Problem]:
    """Yield evaluators and checks whose ``role`` is nobody, or nobody whom the link reviews."""
    for index, use in enumerate(topology.evaluators):
        yield from _role_named(topology, ("evaluators", index, use.use, "role"), use)
    for index, link in enumerate(topology.links):
        if not isinstance(link, AuthorityLink):
            continue
        for number, use in enumerate(link.trigger.checks):
            path: SpecPath = ("links", index, "trigger", "checks", number, use.use, "role")
            yield from _role_named(topology, path, use)
            yield from _reviewed(topology, path, use, link)


def _role_named(topology: Topology, path: SpecPath, use: EvaluatorUse) -> Iterator[Problem]:
    name = use.arguments.get("role")
    if isinstance(name, str) and name not in topology.role_paths:
        yield unknown_role(path, name, topology.role_paths)


def _reviewed(
    topology: Topology, path: SpecPath, use: EvaluatorUse, link: AuthorityLink
) -> Iterator[Problem]:
    name = use.arguments.get("role")
    if isinstance(name, str) and name in topology.roles and name not in link.targets:
        yield Problem(
            path=path,
            wrong=f"the check looks at outputs of `{name}`, which this link does not review",
            expected=f"one of {choices(link.targets)}",
            hint=f"add `{name}` to the link's `to`",
        )


def voice_problems(topology: Topology) -> Iterator[Problem]:
    """Yield superiors that must speak and have no model."""
    for index, link in enumerate(topology.links):
        if not isinstance(link, AuthorityLink) or not asks_model(link):
            continue
        superior = topology.roles.get(link.source)
        if superior is not None and superior.model is None and superior.pool is None:
            yield Problem(
                path=("links", index, "from"),
                wrong=f"`{superior.name}` must put its verdicts into words and has no model",
                hint=f"give `{superior.name}` a model",
            )
