"""Which JSON Schemas a server may be asked to hold a model to strictly, in OpenAI's sense."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from orglab.providers.base import JSON

__all__ = ["strict_allows"]

_KEYWORDS: Final = frozenset(
    (
        "$defs",
        "$ref",
        "additionalProperties",
        "anyOf",
        "const",
        "description",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "items",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "multipleOf",
        "pattern",
        "properties",
        "required",
        "title",
        "type",
    )
)


def strict_allows(schema: Mapping[str, JSON]) -> bool:
    """Return whether ``schema`` is of the strict kind: closed objects, every field required, no logic.

    The outermost value must be an object that is no choice. A server may refuse still more.
    """
    return schema.get("type") == "object" and "anyOf" not in schema and _allowed(schema)


def _allowed(schema: JSON) -> bool:
    if not isinstance(schema, Mapping) or not schema.keys() <= _KEYWORDS:
        return False
    properties = schema.get("properties", {})
    if "object" in _types(schema) or properties:
        closed = schema.get("additionalProperties") is False
        if not closed or set(schema.get("required", ())) != set(properties):
            return False
    inner = [*properties.values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", ())]
    inner += [schema["items"]] if "items" in schema else []
    return all(_allowed(each) for each in inner)


def _types(schema: Mapping[str, JSON]) -> tuple[str, ...]:
    written = schema.get("type", ())
    return (written,) if isinstance(written, str) else tuple(written)
