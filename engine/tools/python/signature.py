"""A function's signature as the JSON Schema of a tool's arguments: small, and closed."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

from orglab.providers.base import JSON
from orglab.providers.structured_output.schema_merge import closed_object

_PLAIN: Final[Mapping[object, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
    None: "null",
    dict: "object",
    list: "array",
}
_WANTED: Final = (
    "hints may be str, int, float, bool, None, Literal, list, dict with text keys, unions of these, "
    "Any, and Annotated[…, 'what it is']"
)


def description_of(function: Callable[..., Any]) -> str:
    """Return the docstring, the model's description of the tool.

    Raises:
        ValueError: There is none.
    """
    words = inspect.getdoc(function) if getattr(function, "__doc__", None) else None
    if not words:
        raise ValueError(
            f"`{function.__name__}` has no docstring: write what it does, for the model to read"
        )
    return words


def parameters_of(function: Callable[..., Any]) -> dict[str, JSON]:
    """Return the schema of the function's arguments.

    Raises:
        ValueError: A parameter has no hint, or one that JSON does not know; in words.
    """
    try:
        signature = inspect.signature(function)
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, ValueError) as fault:
        raise ValueError(f"the signature cannot be read: {fault}") from fault
    properties: dict[str, JSON] = {}
    required: list[str] = []
    for name, parameter in signature.parameters.items():
        properties[name] = _property(parameter, hints)
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
    return closed_object(properties, required)


def _property(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> dict[str, JSON]:
    name = parameter.name
    if parameter.kind not in (
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.KEYWORD_ONLY,
    ):
        raise ValueError(f"`{parameter}`: a tool's parameters are named one by one")
    if name not in hints:
        raise ValueError(f"the parameter `{name}` has no type hint; {_WANTED}")
    schema = _schema(hints[name], name)
    default = parameter.default
    if default is None or (isinstance(default, str | bool | int | float) and default == default):
        schema["default"] = default
    return schema


def _schema(hint: Any, name: str) -> dict[str, JSON]:  # noqa: ANN401 - a type hint
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        words = [each for each in inner[1:] if isinstance(each, str)]
        found = _schema(inner[0], name)
        return {**found, "description": words[0]} if words else found
    if hint is Any:
        return {}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (typing.Union, types.UnionType):
        return _union([_schema(each, name) for each in inner])
    if origin in (list, Sequence) and len(inner) == 1:
        return {"type": "array", "items": _schema(inner[0], name)}
    if origin in (dict, Mapping) and len(inner) == 2 and inner[0] is str:
        return {"type": "object", "additionalProperties": _schema(inner[1], name)}
    raise ValueError(f"the parameter `{name}` has a hint that JSON does not know; {_WANTED}")


def _union(arms: Sequence[dict[str, JSON]]) -> dict[str, JSON]:
    """Return plain types side by side in ``type``; anything else in ``anyOf``."""
    if all(list(arm) == ["type"] for arm in arms):
        return {"type": [arm["type"] for arm in arms]}
    return {"anyOf": list(arms)}
