"""Checks of ``when``: does the source's output have the field, can it have the value?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, UndefinedTypeCheck, UnknownType
from referencing.exceptions import Unresolvable

from orglab.engine.graph.naming import Blame, choices, meant
from orglab.engine.spec.fault import Problem
from orglab.engine.spec.model import ForwardLink, Topology

__all__ = ["otherwise_problems", "when_problems"]

JSON: TypeAlias = Any
Schema: TypeAlias = Mapping[str, JSON]
BRANCHES = ("allOf", "anyOf", "oneOf")
DEEPEST = 20
"""How many references and branches are followed into a schema that may refer to itself."""


def when_problems(topology: Topology, blame: Blame) -> Iterator[Problem]:
    """Conditions that can never hold, but of roles that have another fault."""
    for index, link in enumerate(topology.links):
        if not isinstance(link, ForwardLink) or blame.touches("roles", link.source):
            continue
        if isinstance(link.when, Mapping):
            yield from _when(topology, index, link, link.when)


def _when(
    topology: Topology, index: int, link: ForwardLink, when: Mapping[str, tuple[JSON, ...]]
) -> Iterator[Problem]:
    role = topology.roles.get(link.source)
    if role is None:
        return
    if role.output is None:
        yield Problem(
            path=("links", index, "when"),
            wrong=f"`when` looks at {choices(when)}, but `{role.name}` writes free text",
            cure=f"give `{role.name}` an `output` schema with this field",
        )
        return
    known = _fields(role.output, role.output)
    for name, values in when.items():
        if name in known:
            yield from _values(index, link, name, values, role.output, known[name])
        else:
            yield Problem(
                path=("links", index, "when", name),
                wrong=f"the output of `{role.name}` has no field `{name}`",
                expected=f"one of {choices(known)}" if known else "an object with fields",
                cure=meant(name, known) or f"add `{name}` to the `output` schema of `{role.name}`",
                at_key=True,
            )


def _values(
    index: int,
    link: ForwardLink,
    name: str,
    values: tuple[JSON, ...],
    root: Schema,
    found: list[Schema],
) -> Iterator[Problem]:
    for number, value in enumerate(values):
        if any(_allows(root, schema, value) for schema in found):
            continue
        path = ("links", index, "when", name)
        said = _stated(found)
        yield Problem(
            path=(*path, number) if len(values) > 1 else path,
            wrong=f"`{name}` of `{link.source}` can never be {_text(value)}",
            expected=f"the schema allows {choices(map(_plain, said))}" if said else "",
            cure=meant(str(value), [text for text in said if isinstance(text, str)])
            or "use a value that the `output` schema allows, or allow it there",
        )


def otherwise_problems(topology: Topology) -> Iterator[Problem]:
    """``otherwise`` on a role's only link, or beside a link that is always taken."""
    leaving: dict[str, list[ForwardLink]] = {}
    for link in topology.forward:
        leaving.setdefault(link.source, []).append(link)
    for index, one in enumerate(topology.links):
        if isinstance(one, ForwardLink) and one.when == "otherwise":
            yield from _otherwise(index, one, leaving[one.source])


def _otherwise(index: int, link: ForwardLink, leaving: list[ForwardLink]) -> Iterator[Problem]:
    others = [other for other in leaving if other.when != "otherwise"]
    always = [other.id for other in others if other.when is None and other.cap is None]
    if not others:
        yield Problem(
            path=("links", index, "when"),
            wrong=f"`otherwise` is taken when no other link of `{link.source}` is, and it has none",
            cure="leave `when` out, or add a link with a condition",
        )
    elif always:
        yield Problem(
            path=("links", index, "when"),
            wrong=f"`otherwise` is never taken, since {choices(always)} always is",
            cure="give the other link a condition, or leave this `when` out",
        )


def _fields(root: Schema, schema: JSON, depth: int = 0) -> dict[str, list[Schema]]:
    """Fields of an object schema with the schemas that each may have."""
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        return {}
    found: dict[str, list[Schema]] = {}
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        for name, part in properties.items():
            found.setdefault(name, []).append(part)
    parts = [part for branch in BRANCHES for part in _list(schema.get(branch))]
    if isinstance(schema.get("$ref"), str):
        parts.append(_referred(root, schema["$ref"]))
    for part in parts:
        for name, schemas in _fields(root, part, depth + 1).items():
            found.setdefault(name, []).extend(schemas)
    return found


def _list(value: JSON) -> list[JSON]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _referred(root: Schema, reference: str) -> JSON:
    """The part of ``root`` that ``#/…`` names, or None."""
    found: JSON = root
    for step in reference.removeprefix("#").split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _allows(root: Schema, schema: JSON, value: JSON) -> bool:
    """Whether ``value`` fits; True where the schema does not tell."""
    if isinstance(schema, bool):
        return schema
    whole = {**schema, **{key: root[key] for key in ("$defs", "definitions") if key in root}}
    try:
        return bool(Draft202012Validator(whole).is_valid(value))
    except (SchemaError, UndefinedTypeCheck, UnknownType, Unresolvable, re.error, TypeError):
        return True


def _stated(schemas: list[Schema]) -> list[JSON]:
    """Values that the schemas list one by one."""
    stated: list[JSON] = []
    for schema in schemas:
        if isinstance(schema, Mapping):
            stated += _list(schema.get("enum"))
            stated += [schema["const"]] if "const" in schema else []
    return stated


def _text(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _plain(value: JSON) -> str:
    return value if isinstance(value, str) else _text(value)
