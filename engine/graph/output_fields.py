"""What a role writes: the fields of its output, and what each may hold."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, UndefinedTypeCheck, UnknownType
from referencing.exceptions import Unresolvable

from orglab.engine.spec.model import Role, Topology
from orglab.providers.base import JSON

Schema: TypeAlias = Mapping[str, JSON]
BRANCHES = ("allOf", "anyOf", "oneOf")
DEEPEST = 20
"""How many references and branches are followed into a schema that may refer to itself."""

COUNTS = "counts"
"""The field of a vote's output that says how often each value stood in the inputs."""

_COUNTS: Schema = {"type": "array"}


class Field(NamedTuple):
    """One schema that a field may have, and the schema whose parts it refers to."""

    root: Schema
    schema: JSON


def fields_of(topology: Topology, role: Role) -> dict[str, list[Field]] | None:
    """Return the fields of a role's output, each with the schemas that it may have.

    Returns:
        None where the role writes free text, or lists of outputs.
    """
    return _fields_of(topology, role, frozenset())


def _fields_of(
    topology: Topology, role: Role, above: frozenset[str]
) -> dict[str, list[Field]] | None:
    if role.vote is not None:
        return {**_voted(topology, role, role.vote, above), COUNTS: [Field(_COUNTS, _COUNTS)]}
    if role.team is not None:
        return _of_team(role.team)
    return None if role.output is None else _parts(role.output, role.output)


def _voted(
    topology: Topology, role: Role, name: str, above: frozenset[str]
) -> dict[str, list[Field]]:
    """Return what the senders' field may hold; a sender on a way round to itself adds nothing."""
    senders = {link.source for link in topology.forward if link.target == role.name}
    known = above | {role.name}
    found: list[Field] = []
    for sender in topology.roles.values():
        if sender.name in senders - known:
            found += (_fields_of(topology, sender, known) or {}).get(name, [])
    return {name: found}


def _of_team(team: Topology) -> dict[str, list[Field]] | None:
    """Return the fields of a team's answer: those of any of its output roles."""
    found: dict[str, list[Field]] | None = None
    for name in team.output:
        role = team.roles.get(name)
        own = fields_of(team, role) if role is not None and role.replicas == 1 else None
        for field, schemas in (own or {}).items():
            found = found or {}
            found.setdefault(field, []).extend(schemas)
    return found


# --- schemas ------------------------------------------------------------------------------------


def _parts(root: Schema, schema: JSON, depth: int = 0) -> dict[str, list[Field]]:
    """Return fields of an object schema with the schemas that each may have."""
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        return {}
    found: dict[str, list[Field]] = {}
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        for name, part in properties.items():
            found.setdefault(name, []).append(Field(root, part))
    parts = [part for branch in BRANCHES for part in _list(schema.get(branch))]
    for part in [*parts, *_referred(root, schema)]:
        for name, schemas in _parts(root, part, depth + 1).items():
            found.setdefault(name, []).extend(schemas)
    return found


def _list(value: JSON) -> list[JSON]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _referred(root: Schema, schema: Schema) -> list[JSON]:
    """Return the part of ``root`` that the schema's ``$ref`` names; [] where it has none."""
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return []
    found: JSON = root
    for step in reference.removeprefix("#").split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, Mapping) else None
    return [found]


def allows(field: Field, value: JSON) -> bool:
    """Return whether ``value`` fits; True where the schema does not report."""
    root, schema = field
    if isinstance(schema, bool):
        return schema
    whole = {**schema, **{key: root[key] for key in ("$defs", "definitions") if key in root}}
    try:
        return bool(Draft202012Validator(whole).is_valid(value))
    except (SchemaError, UndefinedTypeCheck, UnknownType, Unresolvable, re.error, TypeError):
        return True


def stated(fields: Sequence[Field]) -> list[JSON]:
    """Return values that the schemas list one by one."""
    found: list[JSON] = []
    for _, schema in fields:
        if isinstance(schema, Mapping):
            found += _list(schema.get("enum"))
            found += [schema["const"]] if "const" in schema else []
    return found


def is_list(field: Field, depth: int = 0) -> bool:
    """Return whether whatever fits is a list."""
    root, schema = field
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        return False
    if schema.get("type") == "array":
        return True
    below = _list(schema.get("allOf")) + _referred(root, schema)
    if any(is_list(Field(root, part), depth + 1) for part in below):
        return True
    branches = _list(schema.get("anyOf")) or _list(schema.get("oneOf"))
    return bool(branches) and all(is_list(Field(root, part), depth + 1) for part in branches)


def most_items(field: Field, depth: int = 0) -> int | None:
    """Return the most items that a list which fits can have; None where the schema sets no bound."""
    root, schema = field
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        return None
    bounds = [int(schema["maxItems"])] if "maxItems" in schema else []
    for part in _list(schema.get("allOf")) + _referred(root, schema):
        below = most_items(Field(root, part), depth + 1)
        bounds += [] if below is None else [below]
    branches = _list(schema.get("anyOf")) or _list(schema.get("oneOf"))
    each = [most_items(Field(root, part), depth + 1) for part in branches]
    if each and None not in each:
        bounds.append(max(one for one in each if one is not None))
    return min(bounds, default=None)
