"""Schemas made of others: closed objects, references resolved, ``allOf`` folded in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from orglab.providers.base import JSON


def closed_object(
    properties: Mapping[str, JSON], required: Iterable[str] | None = None
) -> dict[str, JSON]:
    """Return the schema of an object with these properties alone; required are all by default."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties if required is None else required),
        "additionalProperties": False,
    }


def merge_schemas(one: Mapping[str, JSON], other: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return a schema that asks what ``one`` and ``other`` ask, as far as their keywords can be joined."""
    merged = dict(one)
    for key, value in other.items():
        join = _JOINS.get(key)
        merged[key] = join(one[key], value) if key in one and join else value
    return merged


def _properties(one: JSON, other: JSON) -> JSON:
    joined = dict(one)
    for name, schema in other.items():
        joined[name] = _schemas(one[name], schema) if name in one else schema
    return joined


def _schemas(one: JSON, other: JSON) -> JSON:
    if isinstance(one, bool) or isinstance(other, bool):
        if one is False or other is False:
            return False
        return other if isinstance(one, bool) else one
    return merge_schemas(one, other)


def _union(one: JSON, other: JSON) -> JSON:
    return list(dict.fromkeys([*one, *other]))


def _common(one: JSON, other: JSON) -> JSON:
    return [value for value in one if value in other]


def _types(one: JSON, other: JSON) -> JSON:
    first = [one] if isinstance(one, str) else one
    second = [other] if isinstance(other, str) else other
    if "number" in second and "integer" in first:
        return ["integer"]
    if "number" in first and "integer" in second:
        return ["integer"]
    return _common(first, second)


_JOINS: dict[str, Callable[[JSON, JSON], JSON]] = {
    "properties": _properties,
    "$defs": _properties,
    "items": _schemas,
    "additionalProperties": _schemas,
    "required": _union,
    "enum": _common,
    "type": _types,
    "allOf": lambda one, other: [*one, *other],
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}


def resolve_reference(reference: str, root: JSON) -> JSON:
    """Return what a reference such as ``#/$defs/name`` means inside ``root``.

    Raises:
        LookupError: It leads nowhere inside ``root``.
    """
    if reference == "#":
        return root
    if not reference.startswith("#/"):
        raise LookupError(f"only references such as #/$defs/NAME can be followed, not {reference}")
    part = root
    for step in reference[2:].split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        part = part[int(key)] if isinstance(part, list) else part[key]
    return part
