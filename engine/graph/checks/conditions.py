"""Checks of ``when``: does the source's output have the field, can it have the value?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from orglab.engine.graph.output_fields import Field, allows, fields_of, stated
from orglab.engine.spec.errors import Problem
from orglab.engine.spec.messages import ErrorIndex, choices, meant
from orglab.engine.spec.model import ForwardLink, Topology
from orglab.providers.base import JSON


def when_problems(topology: Topology, errors: ErrorIndex) -> Iterator[Problem]:
    """Yield conditions that can never hold, but of roles that have another fault."""
    for index, link in enumerate(topology.links):
        if not isinstance(link, ForwardLink) or errors.touches("roles", link.source):
            continue
        if isinstance(link.when, Mapping):
            yield from _when(topology, index, link, link.when)


def _when(
    topology: Topology, index: int, link: ForwardLink, when: Mapping[str, tuple[JSON, ...]]
) -> Iterator[Problem]:
    role = topology.roles.get(link.source)
    if role is None:
        return
    known = fields_of(topology, role)
    if known is None:
        yield Problem(
            path=("links", index, "when"),
            wrong=f"`when` looks at {choices(when)}, but `{role.name}` writes free text",
            hint=f"give `{role.name}` an `output` schema with this field",
        )
        return
    for name, values in when.items():
        if known.get(name) == []:
            continue  # a vote on what no sender writes, which is reported
        if name in known:
            yield from _values(index, link, name, values, known[name])
        else:
            yield Problem(
                path=("links", index, "when", name),
                wrong=f"the output of `{role.name}` has no field `{name}`",
                expected=f"one of {choices(known)}" if known else "an object with fields",
                hint=meant(name, known) or f"add `{name}` to the `output` schema of `{role.name}`",
                at_key=True,
            )


def _values(
    index: int,
    link: ForwardLink,
    name: str,
    values: tuple[JSON, ...],
    found: list[Field],
) -> Iterator[Problem]:
    for number, value in enumerate(values):
        if any(allows(field, value) for field in found):
            continue
        path = ("links", index, "when", name)
        said = stated(found)
        yield Problem(
            path=(*path, number) if len(values) > 1 else path,
            wrong=f"`{name}` of `{link.source}` can never be {_shown_value(value)}",
            expected=f"the schema allows {choices(map(_plain, said))}" if said else "",
            hint=meant(str(value), [text for text in said if isinstance(text, str)])
            or "use a value that the `output` schema allows, or allow it there",
        )


def otherwise_problems(topology: Topology) -> Iterator[Problem]:
    """Yield ``otherwise`` on a role's only link, or beside a link that is always taken."""
    leaving: dict[str, list[ForwardLink]] = {}
    for link in topology.forward:
        leaving.setdefault(link.source, []).append(link)
    for index, one in enumerate(topology.links):
        if isinstance(one, ForwardLink) and one.when == "otherwise":
            yield from _otherwise(index, one, leaving[one.source])


def _otherwise(index: int, link: ForwardLink, leaving: list[ForwardLink]) -> Iterator[Problem]:
    others = [other for other in leaving if other.when != "otherwise"]
    always = [other.id for other in others if (other.when, other.cap, other.each) == (None,) * 3]
    if not others:
        yield Problem(
            path=("links", index, "when"),
            wrong=f"`otherwise` is taken when no other link of `{link.source}` is, and it has none",
            hint="leave `when` out, or add a link with a condition",
        )
    elif always:
        yield Problem(
            path=("links", index, "when"),
            wrong=f"`otherwise` is never taken, since {choices(always)} always is",
            hint="give the other link a condition, or leave this `when` out",
        )


def _shown_value(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _plain(value: JSON) -> str:
    return value if isinstance(value, str) else _shown_value(value)
