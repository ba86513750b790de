"""Values against JSON Schema 2020-12: whether one fits, and if not, why, in words for a model.

``format`` is an annotation and is not checked. A ``$ref`` reaches the schema itself and nothing
else: never a file, never the network. Patterns, of texts and of names, have a time limit. Schemas
come from strangers and values from models, so no check takes longer than its value is long.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextvars import ContextVar
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from typing import NoReturn, cast

import jsonschema_rs
import regex
from jsonschema import Draft202012Validator, SchemaError, ValidationError
from jsonschema.exceptions import best_match
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from orglab.providers.base import JSON
from orglab.providers.structured_output.pattern_size import refuse_large
from orglab.providers.structured_output.strict_json import clip

_PATTERN_SECONDS = 0.5  # for all patterns of one check together
_MAX_ERRORS = 1_000  # of one value; a long list may be wrong in every item
_KEPT = 1024

_pattern_time_left: ContextVar[float] = ContextVar(
    "seconds left for patterns", default=_PATTERN_SECONDS
)


def _pattern(
    _validator: Validator, pattern: str, instance: object, _schema: Mapping[str, JSON]
) -> Iterator[ValidationError]:
    if not isinstance(instance, str):
        return
    try:
        found = _pattern_matches(pattern, instance)
    except TimeoutError:
        yield _too_long(pattern)
        return
    if not found:
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_matches(pattern: str, text: str) -> bool:
    """Return whether ``pattern`` is found; TimeoutError where this check has used up its time."""
    left = _pattern_time_left.get()
    if left <= 0:
        raise TimeoutError
    began = time.perf_counter()
    try:
        return regex.search(pattern, text, timeout=left) is not None
    finally:
        _pattern_time_left.set(left - (time.perf_counter() - began))


def _too_long(pattern: str) -> ValidationError:
    return ValidationError(f"matching {pattern!r} took too long")


def _pattern_properties(
    validator: JSON, patterns: Mapping[str, JSON], instance: JSON, _schema: Mapping[str, JSON]
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    for pattern, part in patterns.items():
        try:
            names = [name for name in instance if _pattern_matches(pattern, name)]
        except TimeoutError:
            yield _too_long(pattern)
            continue
        for name in names:
            yield from validator.descend(instance[name], part, path=name, schema_path=pattern)


def _additional_properties(
    validator: Validator, rule: JSON, instance: JSON, schema: Mapping[str, JSON]
) -> Iterator[ValidationError]:
    """As the library's, with names matched by patterns under a time limit."""
    if not isinstance(instance, dict):
        return
    own, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    try:
        others = {
            name: value
            for name, value in instance.items()
            if name not in own and not any(_pattern_matches(pattern, name) for pattern in patterns)
        }
    except TimeoutError:
        return  # reported by ``patternProperties``
    yield from _additional(validator, rule, others, {})


def _unique_items(
    _validator: Validator, wanted: JSON, instance: JSON, _schema: Mapping[str, JSON]
) -> Iterator[ValidationError]:
    """As the library's, which compares each with each where items are of several kinds."""
    if wanted and isinstance(instance, list) and len(set(map(_frozen, instance))) < len(instance):
        yield ValidationError("two items are equal")


def _frozen(value: JSON) -> Hashable:
    """Return a stand-in that equals another's where JSON Schema says that the values are equal."""
    if isinstance(value, dict):
        return "map", frozenset((name, _frozen(item)) for name, item in value.items())
    if isinstance(value, list):
        return "list", tuple(map(_frozen, value))
    return type(value) is bool, value


_additional = Draft202012Validator.VALIDATORS["additionalProperties"]
_Checking = cast(
    "type[Validator]",
    extend(  # type: ignore[no-untyped-call]
        Draft202012Validator,
        {
            "pattern": _pattern,
            "patternProperties": _pattern_properties,
            "additionalProperties": _additional_properties,
            "uniqueItems": _unique_items,
        },
    ),
)


_UNLIKE = {"$dynamicRef", "$ref", "multipleOf", "pattern", "patternProperties"}
"""Keywords in which ``jsonschema_rs`` differs: other regular expressions, endless references."""


def _quick_validator(schema: JSON) -> Callable[[JSON], bool] | None:
    """Return a fast test whose acceptance is final; ``jsonschema`` decides on what it refuses."""
    if _mentions(schema, _UNLIKE):
        return None
    is_valid = jsonschema_rs.Draft202012Validator(
        schema, validate_formats=False, retriever=_refuse_retrieval
    ).is_valid

    def accepts(value: JSON) -> bool:
        try:
            return is_valid(value)
        except ValueError:  # a lone surrogate
            return False

    return accepts


def _refuse_retrieval(uri: str) -> NoReturn:
    raise ValueError(f"{uri} leads out of the schema")


class SchemaChecker:
    """One schema, ready to be checked against.

    Attributes:
        schema: The schema as plain data.
        types: The JSON types that a value may have at the top, as far as ``type`` says it.
    """

    def __init__(self, schema: JSON) -> None:
        self.schema = schema
        self.types = _types_of(schema)
        self._full = _Checking(schema, registry=Registry())
        self._accepts = _quick_validator(schema)

    def fits(self, value: JSON) -> bool:
        """Return whether ``value``, strict JSON, fits the schema."""
        if self._accepts is not None and self._accepts(value):
            return True
        _pattern_time_left.set(_PATTERN_SECONDS)
        try:
            return self._full.is_valid(value)
        except RecursionError:
            return False

    def errors(self, value: JSON, limit: int = 3) -> tuple[str, ...]:
        """Return what is wrong with ``value``, in words that name the field; empty when it fits."""
        _pattern_time_left.set(_PATTERN_SECONDS)
        try:
            first = islice(self._full.iter_errors(value), _MAX_ERRORS)
            errors = sorted(first, key=lambda error: list(map(str, error.path)))
        except RecursionError:
            return ("it is nested too deeply",)
        words = list(dict.fromkeys(parse_issue(error) for error in errors))
        left = len(words) - limit
        return (*words[:limit], *([f"and {left} more"] if left > 0 else []))

    def message(self, value: JSON) -> str:
        """Return all that is wrong with ``value``, in one line for a model."""
        return "; ".join(self.errors(value)) or "the value does not fit the schema"


def _types_of(schema: JSON) -> frozenset[str]:
    """Return the types a schema admits; all of them where it does not say."""
    every = frozenset({"object", "array", "string", "number", "boolean", "null"})
    named = schema.get("type") if isinstance(schema, dict) else None
    if named is None:
        return every
    names = {named} if isinstance(named, str) else set(named)
    return frozenset("number" if name == "integer" else name for name in names)


_by_identity: dict[int, tuple[JSON, SchemaChecker]] = {}


def checker_for(schema: Mapping[str, JSON] | bool) -> SchemaChecker:
    """Return the checker of ``schema``, which must not be changed afterwards; made once and kept.

    Raises:
        ValueError: It is no JSON Schema 2020-12, or refers to something outside itself.
    """
    kept = _by_identity.get(id(schema))
    if kept is not None and kept[0] is schema:
        return kept[1]
    checker = _checker(json.dumps(schema, ensure_ascii=False, default=dict))
    if len(_by_identity) >= _KEPT:
        _by_identity.clear()
    _by_identity[id(schema)] = (schema, checker)
    return checker


@lru_cache(maxsize=_KEPT)
def _checker(text: str) -> SchemaChecker:
    schema = json.loads(text)
    try:
        Draft202012Validator.check_schema(schema)
        _refuse_foreign(schema, schema)
    except SchemaError as error:
        place = "/".join(map(str, error.absolute_path)) or "the top"
        raise ValueError(f"not a JSON Schema 2020-12: at {place}: {error.message[:200]}") from None
    except OverflowError:
        raise ValueError("a pattern of the schema repeats too much: use smaller numbers") from None
    return SchemaChecker(schema)


def _refuse_foreign(part: JSON, schema: JSON) -> None:
    """Refuse a ``$ref`` that leads nowhere, and a pattern that cannot be read or kept in time."""
    # The library matches names for `unevaluatedProperties` without a limit of time.
    if (
        isinstance(part, dict)
        and "unevaluatedProperties" in part
        and _mentions(schema, {"patternProperties"})
    ):
        raise ValueError(
            "`unevaluatedProperties` and `patternProperties` do not go together here: "
            "write `additionalProperties`"
        )
    for key, inner in _entries(part):
        if key in ("$ref", "$dynamicRef") and isinstance(inner, str):
            _resolve(inner, schema)
        elif key == "pattern" and isinstance(inner, str):
            _compile(inner)
        elif key == "patternProperties" and isinstance(inner, dict):
            for pattern in inner:
                _compile(pattern)
        _refuse_foreign(inner, schema)


def _mentions(part: JSON, keywords: set[str]) -> bool:
    """Return whether one of ``keywords`` stands anywhere in a schema."""
    return any(key in keywords or _mentions(inner, keywords) for key, inner in _entries(part))


def _entries(part: JSON) -> list[tuple[str, JSON]]:
    if isinstance(part, dict):
        return [
            item for item in part.items() if item[0] not in {"const", "enum", "default", "examples"}
        ]
    return [("", inner) for inner in part] if isinstance(part, list) else []


def _resolve(reference: str, schema: JSON) -> None:
    if not isinstance(schema, dict):
        return
    resource = DRAFT202012.create_resource(schema)
    name = resource.id() or ""
    try:
        Registry().with_resource(name, resource).resolver(name).lookup(reference)
    except Unresolvable:
        raise ValueError(f"$ref {reference!r} does not resolve inside the schema") from None


def _compile(pattern: str) -> None:
    refuse_large(pattern)
    try:
        regex.compile(pattern)
    except (regex.error, RecursionError) as error:
        raise ValueError(f"the pattern {pattern!r} cannot be read: {error}") from None


# --- messages ---------------------------------------------------------------------------------

_TYPE_NAMES = {
    "object": "an object",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
_LONGEST_MESSAGE = 300


def type_name(value: JSON) -> str:
    """Return what kind of JSON value this is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    kinds = {dict: "an object", list: "a list", str: "a text", int: "a number", float: "a number"}
    return kinds.get(type(value), type(value).__name__)


def parse_issue(error: ValidationError) -> str:
    """Return the error in one sentence of at most a few hundred characters."""
    text = _sentence(best_match([error]) or error)
    return text if len(text) <= _LONGEST_MESSAGE else text[: _LONGEST_MESSAGE - 1] + "…"


def _sentence(error: ValidationError) -> str:
    return (
        f"{_field_path(error)} {_KEYWORD_MESSAGES.get(str(error.validator), _other_words)(error)}"
    )


def _field_path(error: ValidationError) -> str:
    path = ""
    for step in error.absolute_path:
        path += f"[{step}]" if isinstance(step, int) else f".{str(step)[:60]}"
    return f"`{path.removeprefix('.')}`" if path else "the value"


def _untyped(value: JSON) -> JSON:
    return value


def _type_words(error: ValidationError) -> str:
    named = error.validator_value
    names = [named] if isinstance(named, str) else list(_untyped(named))
    wanted = " or ".join(_TYPE_NAMES.get(name, str(name)) for name in names)
    return f"must be {wanted}, not {type_name(error.instance)}: {clip(error.instance)}"


def _required_words(error: ValidationError) -> str:
    present = _untyped(error.instance)
    missing = [f"`{name}`" for name in _untyped(error.validator_value) if name not in present]
    return f"lacks {', '.join(missing)}"


def _unknown_words(error: ValidationError) -> str:
    known = [str(name) for name in _untyped(error.schema).get("properties", {})]
    extras = [str(name) for name in _untyped(error.instance) if name not in known]
    texts = [f"`{name[:60]}`{_closest_name(name, known)}" for name in extras[:3]]
    allowed = ", ".join(f"`{name}`" for name in known) or "none"
    return f"has a field that is not allowed: {', '.join(texts)}; allowed: {allowed}"


def _closest_name(name: str, known: list[str]) -> str:
    lower = {each.lower(): each for each in known}
    near = get_close_matches(name[:60].lower(), lower, n=1)
    return f" (perhaps `{lower[near[0]]}`)" if near else ""


def _enum_words(error: ValidationError) -> str:
    allowed = ", ".join(clip(each) for each in _untyped(error.validator_value))
    return f"must be one of {allowed}; not {clip(error.instance)}"


def _const_words(error: ValidationError) -> str:
    return f"must be {clip(error.validator_value)}, not {clip(error.instance)}"


def _bound_words(words: str) -> Callable[[ValidationError], str]:
    return lambda error: f"must be {words} {error.validator_value}, not {clip(error.instance)}"


def _count_words(words: str, unit: str) -> Callable[[ValidationError], str]:
    def say(error: ValidationError) -> str:
        size = len(_untyped(error.instance))
        return f"must have {words} {error.validator_value} {unit}, not {size}"

    return say


def _pattern_words(error: ValidationError) -> str:
    if error.message.endswith("took too long"):
        return f"cannot be checked: {error.message}"
    return f"must match the pattern {clip(error.validator_value, 120)}, not {clip(error.instance)}"


def _unique_words(_: ValidationError) -> str:
    return "holds the same item twice; all must differ"


def _branch_words(error: ValidationError) -> str:
    """Return every branch of a choice was refused: why each was, of the first few."""
    inner = list(dict.fromkeys(_sentence(each) for each in error.context or ()))
    shown = "; or ".join(inner[:3])
    return f"fits none of the forms allowed: {shown}" if inner else "fits several forms, not one"


def _other_words(error: ValidationError) -> str:
    return f"does not fit: {error.message[:200]}"


_KEYWORD_MESSAGES: dict[str, Callable[[ValidationError], str]] = {
    "anyOf": _branch_words,
    "oneOf": _branch_words,
    "type": _type_words,
    "required": _required_words,
    "additionalProperties": _unknown_words,
    "enum": _enum_words,
    "const": _const_words,
    "minimum": _bound_words("at least"),
    "maximum": _bound_words("at most"),
    "exclusiveMinimum": _bound_words("more than"),
    "exclusiveMaximum": _bound_words("less than"),
    "multipleOf": _bound_words("a multiple of"),
    "minLength": _count_words("at least", "characters"),
    "maxLength": _count_words("at most", "characters"),
    "minItems": _count_words("at least", "items"),
    "maxItems": _count_words("at most", "items"),
    "pattern": _pattern_words,
    "uniqueItems": _unique_words,
}
