"""A reply's schema as the Messages API can hold a model to it.

The API's output format takes a part of JSON Schema. What it does not take is moved into the
descriptions, where the model can read it, and is named, so that nobody takes the reply for held to
it. A schema whose objects are open cannot be held at all: there the answer is asked for as a call
of a tool, whose input schema may be any.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from orglab.providers.base import JSON
from orglab.providers.structured_output.schema_merge import closed_object
from orglab.providers.structured_output.strict_json import spaced

_FORMATS: Final = frozenset(
    ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"]
)
_PLAIN: Final = frozenset(("$ref", "const", "default", "description", "required", "title", "type"))
_BEYOND: Final = re.compile(r"\(\?|\\[bB0-9]")  # lookaround, word boundaries, back references
_ANSWER: Final = "answer"


class EnforcedSchema(NamedTuple):
    """A schema in the API's part of JSON Schema.

    Attributes:
        schema: What is sent.
        loose: Keywords of the original that the server does not hold the reply to, sorted.
    """

    schema: dict[str, Any]
    loose: tuple[str, ...]


class _OpenError(Exception):
    """Some part of the schema allows what the API cannot: names of its own, or any value."""


def enforced_schema(schema: Mapping[str, JSON]) -> EnforcedSchema | None:
    """Return the schema for the API's output format; None where it takes no schema of this kind."""
    loose: set[str] = set()
    try:
        sent = _part(schema, loose)
    except _OpenError:
        return None
    sent.pop("$schema", None)
    return EnforcedSchema(sent, tuple(sorted(loose)))


def _part(schema: JSON, loose: set[str]) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or not _says_something(schema):
        raise _OpenError
    kept: dict[str, Any] = {}
    left: dict[str, Any] = {}
    for key, value in schema.items():
        _keep(key, value, kept, left, loose)
    if _is_object(schema):
        _close(schema, kept)
    loose.update(left)
    if left:
        words = ", ".join(f"{key}: {spaced(value)}" for key, value in left.items())
        kept["description"] = f"{kept.get('description', '')} ({words})".strip()
    return kept


def _says_something(schema: Mapping[str, JSON]) -> bool:
    return any(
        key in schema for key in ("type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf")
    )


def _keep(
    key: str, value: JSON, kept: dict[str, Any], left: dict[str, Any], loose: set[str]
) -> None:
    """Put a keyword where it belongs: to what is sent, or to what is only described."""
    if key in _PLAIN or key == "$schema" or _is_simple(key, value):
        kept[key] = value
    elif key in ("properties", "$defs", "definitions"):
        kept[key] = {name: _part(each, loose) for name, each in value.items()}
    elif key == "items" and isinstance(value, Mapping):
        kept[key] = _part(value, loose)
    elif key in ("anyOf", "allOf"):
        kept[key] = [_part(each, loose) for each in value]
    elif key == "oneOf":
        kept["anyOf"] = [_part(each, loose) for each in value]
        loose.add(key)
    elif key in ("additionalProperties", "examples", "$comment", "$id"):
        pass
    else:
        left[key] = value


def _is_simple(key: str, value: JSON) -> bool:
    """Return whether a keyword that the API takes in part is of the part that it takes."""
    if key == "enum":
        return all(each is None or isinstance(each, str | int | float) for each in value)
    if key == "minItems":
        return value in (0, 1)
    if key == "pattern":
        return not _BEYOND.search(value)
    return key == "format" and value in _FORMATS


def _is_object(schema: Mapping[str, JSON]) -> bool:
    kind = schema.get("type")
    return kind == "object" or (isinstance(kind, Sequence) and "object" in kind)


def _close(schema: Mapping[str, JSON], kept: dict[str, Any]) -> None:
    """Close objects: the API takes only named properties, and requires that to be written."""
    more = schema.get("additionalProperties")
    named = bool(schema.get("properties"))
    if "patternProperties" in schema or (more is not False and (more is not None or not named)):
        raise _OpenError
    kept["additionalProperties"] = False
    kept.setdefault("properties", {})


def is_wrapped(schema: Mapping[str, JSON]) -> bool:
    """Return whether a reply of this schema is asked for inside an object: a tool's input must be one."""
    unions = ("anyOf", "oneOf", "allOf", "$ref")
    return schema.get("type") != "object" or any(key in schema for key in unions)


def answer_schema(schema: Mapping[str, JSON]) -> dict[str, Any]:
    """Return the input schema of the tool by which an answer is given.

    The reply is the tool's whole input, or its member ``answer`` where ``is_wrapped``.
    """
    if not is_wrapped(schema):
        return dict(schema)
    inner = {key: value for key, value in schema.items() if key not in ("$defs", "$schema")}
    outer = closed_object({_ANSWER: inner})
    return {**outer, "$defs": schema["$defs"]} if "$defs" in schema else outer
