"""JSON Schemas that an author writes: of a role's output, of an input."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import jsonschema_rs
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from orglab.engine.spec.errors import Problem, SpecPath
from orglab.engine.spec.messages import got, meant, quoted
from orglab.engine.spec.validate.references import maps
from orglab.engine.spec.validate.schema_errors import tell
from orglab.providers.base import JSON
from orglab.providers.structured_output.pattern_size import refuse_large

_ONE: Final = (
    "items", "contains", "additionalProperties", "propertyNames", "unevaluatedItems",
    "unevaluatedProperties", "not", "if", "then", "else", "contentSchema",
)  # fmt: skip
_LIST: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAP: Final = ("properties", "patternProperties", "dependentSchemas", "$defs")
_HERE: Final = ("allOf", "anyOf", "oneOf")
_OTHER: Final = (
    "$ref", "$schema", "$comment", "type", "enum", "const", "multipleOf", "maximum",
    "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength", "pattern",
    "maxItems", "minItems", "uniqueItems", "maxContains", "minContains", "maxProperties",
    "minProperties", "required", "dependentRequired", "title", "description", "default",
    "deprecated", "readOnly", "writeOnly", "examples", "format", "contentEncoding",
    "contentMediaType",
)  # fmt: skip
_KEYWORDS: Final = frozenset((*_ONE, *_LIST, *_MAP, *_OTHER))
_REMOTE: Final = ("$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$vocabulary")

_META: Final = Draft202012Validator(Draft202012Validator.META_SCHEMA)
_IS_SCHEMA: Final = jsonschema_rs.Draft202012Validator(Draft202012Validator.META_SCHEMA).is_valid
"""Quick: ``_META``, which says what is wrong, takes milliseconds for each schema."""
_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


def written_schema_problems(data: Mapping[str, JSON]) -> list[Problem]:
    """Return errors of the JSON Schemas that the author wrote; equal ones are checked once."""
    found: list[Problem] = []
    known: dict[str, list[Problem]] = {}
    for name, role in maps(data.get("roles")):
        output = role.get("output")
        if isinstance(output, dict):
            text = json.dumps(output)
            if text not in known:
                known[text] = _output_problems(output)
            at: SpecPath = ("roles", name, "output")
            found += [replace(each, path=(*at, *each.path)) for each in known[text]]
    for name, schema in maps(data.get("inputs")):
        found += _input_problems(schema, ("inputs", name))
    return found


def _input_problems(schema: Mapping[str, JSON], path: SpecPath) -> list[Problem]:
    optional = frozenset({"optional"})
    if schema.get("type") != "file":
        return schema_problems(schema, path, also=optional)
    wrong, hint = "file is no type of JSON Schema", "write `type: string` and `format: file`"
    rest = {**schema, "type": "string"}
    return [
        Problem(path=(*path, "type"), wrong=wrong, hint=hint),
        *schema_problems(rest, path, also=optional),
    ]


def _output_problems(schema: Mapping[str, JSON]) -> list[Problem]:
    found = schema_problems(schema, ())
    kind = schema.get("type", "object")
    if not found and kind != "object":
        wrong = f"a structured output is an object, got {got(kind)}"
        hint = "write `type: object` with `properties`"
        found.append(Problem(path=("type",), wrong=wrong, hint=hint))
    return found


def schema_problems(
    schema: Mapping[str, JSON], path: SpecPath, *, also: frozenset[str] = frozenset()
) -> list[Problem]:
    """Return what is wrong with a schema itself: form, misspelt keywords, references.

    Args:
        schema: The schema, a map.
        path: Its path in the document.
        also: Keys at its top that are no JSON Schema but allowed.
    """
    plain = {key: value for key, value in schema.items() if key not in also}
    form = [] if _IS_SCHEMA(plain) else tell(_leaves(_META.iter_errors(plain)), path)
    found = form + list(_keyword_problems(plain, path, plain))
    return found if form else [*found, *_circles(plain, path), *_untimed(plain, path)]


def _leaves(errors: Iterator[ValidationError]) -> Iterator[ValidationError]:
    """Yield the metaschema's own ``allOf`` is looked through: its parts hold the faults."""
    for error in errors:
        if error.validator == "allOf":
            yield from _leaves(iter(error.context or ()))
        else:
            yield error


def _keyword_problems(node: JSON, path: SpecPath, root: Mapping[str, JSON]) -> Iterator[Problem]:
    for where, part in _schemas(node, path):
        for key, value in part.items():
            if key in _REMOTE:
                wrong = f"`{key}` is not allowed"
                yield Problem(
                    path=(*where, key), wrong=wrong, hint="references are local: `#/$defs/…`",
                    at_key=True,
                )  # fmt: skip
            elif key not in _KEYWORDS and not key.startswith("x-"):
                yield _unknown(key, where)
            elif key == "$ref" and isinstance(value, str) and _target(root, value) is None:
                yield _no_target(value, where)
            elif key == "$schema" and value not in (_DRAFT, f"{_DRAFT}#"):
                yield Problem(path=(*where, key), wrong=f"expected {_DRAFT}", hint="remove it")
        yield from _patterns(part, where)


def _unknown(key: str, where: SpecPath) -> Problem:
    hint = meant(key, _KEYWORDS) or "a remark of your own begins with x-"
    wrong = f"unknown keyword {key} of JSON Schema"
    return Problem(path=(*where, key), wrong=wrong, hint=hint, at_key=True)


def _no_target(reference: str, where: SpecPath) -> Problem:
    local = reference.startswith("#")
    wrong = (
        f"{quoted(reference)} does not resolve" if local else f"{quoted(reference)} is not local"
    )
    return Problem(
        path=(*where, "$ref"), wrong=wrong, expected="expected a reference into this schema",
        hint="write `#/$defs/NAME`",
    )  # fmt: skip


def _patterns(schema: Mapping[str, JSON], where: SpecPath) -> Iterator[Problem]:
    named = schema.get("patternProperties")
    keys = list(named) if isinstance(named, dict) else []
    places = [((*where, "patternProperties", key), key) for key in keys]
    for path, pattern in [*places, ((*where, "pattern"), schema.get("pattern"))]:
        if isinstance(pattern, str):
            try:
                refuse_large(pattern)
                re.compile(pattern)
            except (re.error, OverflowError, RecursionError) as error:
                wrong = f"{quoted(pattern)} is not a regular expression: {error}"
                yield Problem(path=path, wrong=wrong)
            except ValueError as error:
                yield Problem(path=path, wrong=str(error))


def _schemas(node: JSON, path: SpecPath) -> Iterator[tuple[SpecPath, Mapping[str, JSON]]]:
    """Yield ``node`` and every schema in it."""
    if not isinstance(node, dict):
        return
    yield path, node
    for key in _ONE:
        yield from _schemas(node.get(key), (*path, key))
    for key in _LIST:
        if isinstance(parts := node.get(key), list):
            for index, part in enumerate(parts):
                yield from _schemas(part, (*path, key, index))
    for key in _MAP:
        if isinstance(named := node.get(key), dict):
            for name, part in named.items():
                yield from _schemas(part, (*path, key, name))


def _target(root: Mapping[str, JSON], reference: str) -> JSON:
    """Return what ``#/…`` points to; None where it points to nothing or elsewhere."""
    if reference == "#":
        return root
    if not reference.startswith("#/"):
        return None
    node: JSON = root
    for part in reference[2:].split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        elif isinstance(node, dict) and key in node:
            node = node[key]
        else:
            return None
    return node if isinstance(node, dict | bool) else None


def _circles(root: Mapping[str, JSON], path: SpecPath) -> Iterator[Problem]:
    """Yield references that lead back to themselves at the same value: reading would never end."""
    for where, part in _schemas(root, path):
        if "$ref" in part and _comes_back(part, root):
            wrong = f"{quoted(str(part['$ref']))} leads back to itself at the same value"
            yield Problem(path=(*where, "$ref"), wrong=wrong, hint="refer from inside a property")


def _comes_back(start: Mapping[str, JSON], root: Mapping[str, JSON]) -> bool:
    seen: set[int] = set()
    waiting = _same_value(start, root)
    while waiting:
        node = waiting.pop()
        if node is start:
            return True
        if id(node) not in seen:
            seen.add(id(node))
            waiting += _same_value(node, root)
    return False


def _untimed(root: Mapping[str, JSON], path: SpecPath) -> Iterator[Problem]:
    """Yield what would match patterns without a limit of time: `jsonschema` knows none there."""
    parts = list(_schemas(root, path))
    if any("patternProperties" in part for _, part in parts):
        for where, part in parts:
            if "unevaluatedProperties" in part:
                wrong = "`unevaluatedProperties` and `patternProperties` do not go together"
                hint = "write `additionalProperties`"
                yield Problem(
                    path=(*where, "unevaluatedProperties"), wrong=wrong, hint=hint, at_key=True
                )


def _same_value(node: Mapping[str, JSON], root: Mapping[str, JSON]) -> list[JSON]:
    """Return schemas that ``node`` puts to the very value it is put to itself."""
    parts = [part for key in _HERE for part in node.get(key, [])]
    parts += [node.get(key) for key in ("not", "if", "then", "else")]
    if isinstance(reference := node.get("$ref"), str):
        parts.append(_target(root, reference))
    return [part for part in parts if isinstance(part, dict)]
