"""A schema fault in words that a model can act on: which field, what was wrong, what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches

from jsonschema import ValidationError
from jsonschema.exceptions import best_match

from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import clip

__all__ = ["fault_in_words", "type_name"]

_NAMES = {
    "object": "an object",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
_LONGEST = 300


def type_name(value: JSON) -> str:
    """What kind of JSON value this is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    kinds = {dict: "an object", list: "a list", str: "a text", int: "a number", float: "a number"}
    return kinds.get(type(value), type(value).__name__)


def fault_in_words(error: ValidationError) -> str:
    """The fault in one sentence of at most a few hundred characters."""
    text = _sentence(best_match([error]) or error)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _sentence(error: ValidationError) -> str:
    return f"{_place(error)} {_WORDS.get(str(error.validator), _other)(error)}"


def _place(error: ValidationError) -> str:
    path = ""
    for step in error.absolute_path:
        path += f"[{step}]" if isinstance(step, int) else f".{str(step)[:60]}"
    return f"`{path.removeprefix('.')}`" if path else "the value"


def _any(value: JSON) -> JSON:
    return value


def _type(error: ValidationError) -> str:
    named = error.validator_value
    names = [named] if isinstance(named, str) else list(_any(named))
    wanted = " or ".join(_NAMES.get(name, str(name)) for name in names)
    return f"must be {wanted}, not {type_name(error.instance)}: {clip(error.instance)}"


def _required(error: ValidationError) -> str:
    present = _any(error.instance)
    missing = [f"`{name}`" for name in _any(error.validator_value) if name not in present]
    return f"lacks {', '.join(missing)}"


def _unknown(error: ValidationError) -> str:
    known = [str(name) for name in _any(error.schema).get("properties", {})]
    extras = [str(name) for name in _any(error.instance) if name not in known]
    texts = [f"`{name[:60]}`{_nearest(name, known)}" for name in extras[:3]]
    allowed = ", ".join(f"`{name}`" for name in known) or "none"
    return f"has a field that is not allowed: {', '.join(texts)}; allowed: {allowed}"


def _nearest(name: str, known: list[str]) -> str:
    lower = {each.lower(): each for each in known}
    near = get_close_matches(name[:60].lower(), lower, n=1)
    return f" (perhaps `{lower[near[0]]}`)" if near else ""


def _enum(error: ValidationError) -> str:
    allowed = ", ".join(clip(each) for each in _any(error.validator_value))
    return f"must be one of {allowed}; not {clip(error.instance)}"


def _const(error: ValidationError) -> str:
    return f"must be {clip(error.validator_value)}, not {clip(error.instance)}"


def _bound(words: str) -> Callable[[ValidationError], str]:
    return lambda error: f"must be {words} {error.validator_value}, not {clip(error.instance)}"


def _count(words: str, unit: str) -> Callable[[ValidationError], str]:
    def say(error: ValidationError) -> str:
        size = len(_any(error.instance))
        return f"must have {words} {error.validator_value} {unit}, not {size}"

    return say


def _pattern(error: ValidationError) -> str:
    if error.message.endswith("took too long"):
        return f"cannot be checked: {error.message}"
    return f"must match the pattern {clip(error.validator_value, 120)}, not {clip(error.instance)}"


def _unique(_: ValidationError) -> str:
    return "holds the same item twice; all must differ"


def _options(error: ValidationError) -> str:
    """Every branch of a choice was refused: why each was, of the first few."""
    inner = list(dict.fromkeys(_sentence(each) for each in error.context or ()))
    shown = "; or ".join(inner[:3])
    return f"fits none of the forms allowed: {shown}" if inner else "fits several forms, not one"


def _other(error: ValidationError) -> str:
    return f"does not fit: {error.message[:200]}"


_WORDS: dict[str, Callable[[ValidationError], str]] = {
    "anyOf": _options,
    "oneOf": _options,
    "type": _type,
    "required": _required,
    "additionalProperties": _unknown,
    "enum": _enum,
    "const": _const,
    "minimum": _bound("at least"),
    "maximum": _bound("at most"),
    "exclusiveMinimum": _bound("more than"),
    "exclusiveMaximum": _bound("less than"),
    "multipleOf": _bound("a multiple of"),
    "minLength": _count("at least", "characters"),
    "maxLength": _count("at most", "characters"),
    "minItems": _count("at least", "items"),
    "maxItems": _count("at most", "items"),
    "pattern": _pattern,
    "uniqueItems": _unique,
}
