"""Schema errors in plain words: every error together, and never of a union's wrong branch."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, Protocol, TypeAlias

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from orglab.engine.spec.errors import Problem, SpecPath
from orglab.engine.spec.messages import did_you_mean, got, meant, nearest, quoted
from orglab.engine.spec.validate.schema import definition
from orglab.engine.spec.validate.secrets import HINT
from orglab.engine.spec.yaml.scalar import is_number
from orglab.providers.base import JSON

_Error: TypeAlias = Any
"""A ``ValidationError``: its stubs allow "unset" for each attribute, which a raised one never is."""

_WANTED: Final[Mapping[str, str]] = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a map",
    "null": "nothing",
}

_YES_NO: Final[Mapping[str, str]] = {
    **dict.fromkeys(("yes", "y", "on", "true"), "true"),
    **dict.fromkeys(("no", "n", "off", "false"), "false"),
}


def _pattern(_: object, pattern: str, instance: JSON, __: object) -> Iterator[_Error]:
    """Yield ``pattern`` of our own schemas: anchored ones do not forgive a line break at the end."""
    if isinstance(instance, str) and (
        not re.search(pattern, instance) or (pattern.endswith("$") and instance.endswith("\n"))
    ):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


class _Checks(Protocol):
    """What is used of a validator."""

    def iter_errors(self, instance: JSON) -> Iterator[_Error]:
        """Return every error of an instance."""


_Validator: Final[Callable[[JSON], _Checks]] = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator, {"pattern": _pattern}
)


@cache
def validator(name: str) -> _Checks:
    """Return a validator of one definition of the topology schema, references resolved beforehand."""
    return _Validator(_inlined(definition(name)))


def _inlined(node: JSON) -> JSON:
    """Return ``node`` with what it refers to in its place: looking references up takes most of the time."""
    if isinstance(node, list):
        return [_inlined(part) for part in node]
    if not isinstance(node, dict):
        return node
    own = {key: _inlined(part) for key, part in node.items() if key != "$ref"}
    if not isinstance(reference := node.get("$ref"), str):
        return own
    if reference == "#/$defs/team":  # a document of its own, checked as such
        return {"type": "object", "title": definition("team")["title"]}
    return {**_inlined(definition(reference.removeprefix("#/$defs/"))), **own}


def shape_problems(data: JSON, name: str = "topology", at: SpecPath = ()) -> list[Problem]:
    """Return every error of ``data`` against the definition ``name``; ``at`` is its path."""
    return tell(validator(name).iter_errors(data), at)


def tell(errors: Iterable[_Error], at: SpecPath = ()) -> list[Problem]:
    """Return problems in plain words, one a fault."""
    found: dict[Problem, None] = {}
    for error in errors:
        found.update(dict.fromkeys(_problems(error, (*at, *error.absolute_path))))
    return list(found)


def _problems(error: _Error, path: SpecPath) -> list[Problem]:
    if error.validator == "anyOf":
        return _union(error, path)
    if "propertyNames" in error.relative_schema_path:
        return [_bad_key(error, path)]
    describe = _DESCRIPTIONS.get(str(error.validator), _otherwise)
    return describe(error, path)


# -- unions: the branch that the author meant


def _union(error: _Error, path: SpecPath) -> list[Problem]:
    branches = _branches(error)
    meant = {i: branch for i, branch in branches.items() if not _other_type(branch)}
    if not meant:
        return [_wrong_type(error, path)]
    if all(_is_scalar(branch) for branch in meant.values()):
        return [_wrong_word(error, meant.values(), path)]
    kinds = {i: branch for i, branch in meant.items() if not _other_kind(branch)}
    if not kinds:
        return _unknown_kind(error, meant, path)
    if len(kinds) > 1 and (missing := _missing_kind(kinds.values(), path)):
        return missing
    best = min(kinds, key=lambda i: (len(_missing(kinds[i])), len(kinds[i])))
    if len(kinds) > 1 and _missing(kinds[best]):
        return [_no_form(error, kinds.values(), path)]
    return _tell_branch(error, best, kinds[best], path)


def _branches(error: _Error) -> dict[int, list[_Error]]:
    found: dict[int, list[_Error]] = {}
    for part in error.context or ():
        found.setdefault(int(part.relative_schema_path[0]), []).append(part)
    return found


def _other_type(branch: Iterable[_Error]) -> bool:
    """Return the branch wants another type of value: text, say, where a map was written."""
    return any(_is_other_type(part) for part in branch if not part.relative_path)


def _is_other_type(part: _Error) -> bool:
    if part.validator == "type":
        return True
    if part.validator == "anyOf":
        return all(_other_type(branch) for branch in _branches(part).values())
    if part.validator in {"enum", "const"}:
        values = part.validator_value if part.validator == "enum" else [part.validator_value]
        return not any(type(value) is type(part.instance) for value in values)
    return False


def _is_scalar(branch: Iterable[_Error]) -> bool:
    return all(part.validator in {"enum", "const", "pattern"} for part in branch) and not any(
        part.relative_path for part in branch
    )


def _wrong_word(error: _Error, branches: Iterable[Sequence[_Error]], path: SpecPath) -> Problem:
    words: list[str] = []
    for part in (part for branch in branches for part in branch):
        value = part.validator_value
        words += value if part.validator == "enum" else [value] * (part.validator == "const")
    hint = meant(error.instance, words) if isinstance(error.instance, str) else ""
    wanted = _wanted(error) or f"expected one of {', '.join(words)}"
    wrong = f"{wanted}, got {got(error.instance)}"
    return Problem(path=path, wrong=wrong, hint=hint)


def _other_kind(branch: Iterable[_Error]) -> bool:
    return any(part.validator == "const" and len(part.relative_path) == 1 for part in branch)


def _unknown_kind(
    error: _Error, branches: Mapping[int, Sequence[_Error]], path: SpecPath
) -> list[Problem]:
    """Return a kind that is none; the other errors are those of the kind with the nearest name."""
    every = [each for branch in branches.values() for each in branch]
    parts = [p for p in every if p.validator == "const" and p.relative_path]
    names = [str(part.validator_value) for part in parts]
    value = parts[0].instance
    wrong = f"{quoted(value) if isinstance(value, str) else got(value)} is not one of {', '.join(names)}"
    close = nearest(value, names) if isinstance(value, str) else None
    hint = f"did you mean `{close}`?" if close else ""
    found = [Problem(path=(*path, *parts[0].relative_path), wrong=wrong, hint=hint)]
    for at, branch in branches.items():
        if any(part.validator_value == close for part in branch if part in parts):
            rest = [part for part in branch if part not in parts]
            found += _tell_branch(error, at, rest, path) if rest else []
    return found


def _missing_kind(branches: Iterable[Sequence[_Error]], path: SpecPath) -> list[Problem] | None:
    """Return a missing ``kind`` leaves the branch open, so that nothing else can be reported but a near key."""
    every = list(branches)
    if not all("kind" in _missing(branch) for branch in every):
        return None
    known = ("forward", "authority")
    keys = {key for name in known for key in definition(name)["properties"]}
    wrong = f"`kind` is required ({' or '.join(known)})"
    found = [Problem(path=(*path, "kind"), wrong=wrong)]
    return found + [_unknown_key(path, key, keys) for key in _strange(every[0][0].instance, keys)]


def _missing(branch: Iterable[_Error]) -> list[str]:
    """Return required keys that a branch misses in the value itself."""
    parts = [p for p in branch if p.validator == "required" and not p.relative_path]
    return [key for part in parts[:1] for key in part.validator_value if key not in part.instance]


def _no_form(error: _Error, branches: Iterable[Sequence[_Error]], path: SpecPath) -> Problem:
    names = list(dict.fromkeys(key for branch in branches for key in _missing(branch)))
    for key in error.instance:
        if close := nearest(key, names):
            return _unknown_key(path, key, [close])
    return Problem(path=path, wrong=f"{' or '.join(names)} is required", expected=_wanted(error))


def _tell_branch(
    error: _Error, index: int, branch: Iterable[_Error], path: SpecPath
) -> list[Problem]:
    """Return the errors of the branch that was meant; a key of another form is reported as such."""
    found: list[Problem] = []
    for part in branch:
        if part.validator == "type" and not part.relative_path:
            found.append(_wrong_type(error, path))
        elif part.validator == "additionalProperties" and not part.relative_path:
            others = [form for i, form in enumerate(error.validator_value) if i != index]
            found += _additional(part, path, others)
        else:
            found += _problems(part, (*path, *part.relative_path))
    return found


# -- single issues


def _wanted(error: _Error) -> str:
    title = error.schema.get("title") if isinstance(error.schema, dict) else None
    if title and "meta-schema" in title:
        return "expected a JSON Schema (a map)"
    if title:
        return f"expected {title}"
    types = error.validator_value if error.validator == "type" else []
    names = [types] if isinstance(types, str) else types
    return f"expected {' or '.join(_WANTED[name] for name in names)}" if names else ""


def _wrong_type(error: _Error, path: SpecPath) -> Problem:
    value = error.instance
    types = _types(error.schema)
    wanted = _wanted(error) or f"expected {' or '.join(_WANTED[t] for t in types)}"
    if "boolean" in types and isinstance(value, str) and value.casefold() in _YES_NO:
        return Problem(
            path=path, wrong=f"got the text '{value}', write {_YES_NO[value.casefold()]}"
        )
    hint = _hint(value, types, required="Required." in str(error.schema.get("description")))
    return Problem(path=path, wrong=f"{wanted}, got {got(value)}", hint=hint)


def _types(schema: JSON) -> list[str]:
    """Return the types that a schema takes, those of its branches among them."""
    if not isinstance(schema, dict):
        return []
    own = schema.get("type", [])
    found = [own] if isinstance(own, str) else list(own)
    if "enum" in schema:
        found.append("string")
    return found + [name for branch in schema.get("anyOf", []) for name in _types(branch)]


def _hint(value: JSON, types: Sequence[str], *, required: bool) -> str:
    if isinstance(value, str) and "array" in types and len(value) < 40 and "\n" not in value:
        return f"write [{value}]"
    if "string" in types and isinstance(value, bool | int | float):
        return f"write it in quotes: {json.dumps(json.dumps(value))}"
    if value is None and "object" in types and "string" not in types:
        return "write {} or its fields"
    if value is None:
        return "give it a value" if required else "give it a value, or remove the key"
    if isinstance(value, str) and {"integer", "number"} & set(types):
        return _number_hint(value)
    if isinstance(value, dict) and "array" in types:
        return "begin each item with `- `"
    return ""


def _number_hint(text: str) -> str:
    """Return how a number that was read as text is written."""
    if re.fullmatch("0[0-9]+", text):
        return f"write it without zeros in front: {int(text)}"
    return f"write it without quotes: {text}" if is_number(text) else ""


def _required(error: _Error, path: SpecPath) -> list[Problem]:
    """Missing keys; jsonschema gives one error a key, and ``report`` takes each once."""
    properties = error.schema.get("properties", {})
    missing = [key for key in error.validator_value if key not in error.instance]
    near = {nearest(key, missing): key for key in _strange(error.instance, properties)}
    found = [_missing_key(path, key, properties) for key in missing if key not in near]
    if error.schema.get("additionalProperties", True) is not False:
        found += [_unknown_key(path, near[key], [key]) for key in missing if key in near]
    return found


def _missing_key(path: SpecPath, key: str, properties: Mapping[str, JSON]) -> Problem:
    known = properties.get(key, {})
    expected = f"expected {known['title']}" if "title" in known else ""
    if "const" in known:
        expected = f"write `{key}: {known['const']}`"
    return Problem(path=(*path, key), wrong=f"`{key}` is required", expected=expected)


_MOST_STRANGE: Final = 200
"""Unknown keys of one map reported one by one: looking for what each may mean takes a millisecond."""


def _strange(instance: Mapping[str, JSON], known: Iterable[str]) -> list[str]:
    names = set(known)
    return [key for key in instance if key not in names and not key.startswith("x-")]


def _additional(
    error: _Error, path: SpecPath, others: Sequence[Mapping[str, JSON]] = ()
) -> list[Problem]:
    properties = error.schema.get("properties", {})
    found = []
    strange = _strange(error.instance, properties)
    if len(strange) > _MOST_STRANGE:
        wrong = f"{len(strange):,} unknown keys; the first {_MOST_STRANGE} are listed"
        found.append(Problem(path=path, wrong=wrong))
    for key in strange[:_MOST_STRANGE]:
        form = next((form for form in others if key in form.get("properties", {})), None)
        if form is None:
            found.append(_unknown_key(path, key, properties, error.instance))
        else:
            wrong = f"`{key}` belongs to another form: {form.get('title')}"
            hint = f"remove `{key}`, or write that form"
            found.append(Problem(path=(*path, key), wrong=wrong, hint=hint, at_key=True))
    return found


def _unknown_key(
    path: SpecPath, key: str, known: Iterable[str], there: Container[str] = ()
) -> Problem:
    names = list(known)
    hint = did_you_mean(key, names)
    close = nearest(key, names)
    if close is not None and close in there:
        hint = f"`{close}` is there already; keep one"
    return Problem(path=(*path, key), wrong=f"unknown key {key}", hint=hint, at_key=True)


def _bad_key(error: _Error, path: SpecPath) -> Problem:
    key = str(error.instance)
    wrong = f"{quoted(key)} is not a name"
    return Problem(
        path=(*path, key),
        wrong=wrong,
        expected=f"expected {error.schema.get('title', 'a name')}",
        hint=str(error.schema.get("description", "")).rstrip("."),
        at_key=True,
    )


def _one_of(error: _Error, path: SpecPath) -> list[Problem]:
    value = error.instance
    one = error.validator == "const"
    texts = [str(name) for name in ([error.validator_value] if one else error.validator_value)]
    hint = meant(value, texts) if isinstance(value, str) else ""
    shown = quoted(value) if isinstance(value, str) else got(value)
    wrong = f"{shown} is not one of {', '.join(texts)}"
    if one:
        wrong = f"{_wanted(error) or f'expected {texts[0]}'}, got {got(value)}"
    return [Problem(path=path, wrong=wrong, hint=hint)]


def _bound(words: str) -> Callable[[_Error, SpecPath], list[Problem]]:
    def bound(error: _Error, path: SpecPath) -> list[Problem]:
        wrong = f"{error.instance} is {words} {error.validator_value}"
        return [Problem(path=path, wrong=wrong, expected=_wanted(error))]

    return bound


def _not_matching(error: _Error, path: SpecPath) -> list[Problem]:
    wrong = _wanted(error) or "expected other text"
    if path[-1:] == ("api_key_env",):  # what stands there may be the key itself
        return [Problem(path=path, wrong=wrong, hint=HINT)]
    wrong += f", got {got(error.instance)}"
    is_name = error.schema.get("pattern") == definition("name")["pattern"]
    hint = str(error.schema.get("description", "")).rstrip(".") if is_name else ""
    return [Problem(path=path, wrong=wrong, hint=hint)]


def _empty(error: _Error, path: SpecPath) -> list[Problem]:
    wrong = f"{_wanted(error) or 'expected something'}, got {_nothing(error.instance)}"
    return [Problem(path=path, wrong=wrong, hint="write at least one")]


def _nothing(value: JSON) -> str:
    return "an empty text" if value == "" else "an empty list" if value == [] else "an empty map"


def _too_many(error: _Error, path: SpecPath) -> list[Problem]:
    wrong = f"{_wanted(error)}, got {len(error.instance)} keys"
    keys = ", ".join(f"`{key}`" for key in list(error.instance)[:4])
    return [Problem(path=path, wrong=wrong, hint=f"write one item each: {keys}")]


def _twice(error: _Error, path: SpecPath) -> list[Problem]:
    texts = [json.dumps(item, sort_keys=True) for item in error.instance]
    again = [i for i, text in enumerate(texts) if text in texts[:i]]
    return [
        Problem(path=(*path, i), wrong=f"{texts[i]} is listed twice", hint="keep one")
        for i in again
    ]


def _dependent(error: _Error, path: SpecPath) -> list[Problem]:
    return [
        Problem(path=(*path, key), wrong=f"{key} has no meaning without {other}", at_key=True)
        for key, others in error.validator_value.items()
        for other in others
        if key in error.instance and other not in error.instance
    ]


def _otherwise(error: _Error, path: SpecPath) -> list[Problem]:
    """Return a keyword that only an author's own JSON Schemas can meet: jsonschema's words, cut."""
    words = " ".join(error.message.split())
    return [Problem(path=path, wrong=words if len(words) < 120 else f"{words[:119]}…")]


_DESCRIPTIONS: Final[Mapping[str, Callable[[_Error, SpecPath], list[Problem]]]] = {
    "type": lambda error, path: [_wrong_type(error, path)],
    "required": _required,
    "additionalProperties": _additional,
    "enum": _one_of,
    "const": _one_of,
    "minimum": _bound("below the minimum"),
    "maximum": _bound("above the maximum"),
    "exclusiveMinimum": _bound("too small: it must be more than"),
    "pattern": _not_matching,
    "minItems": _empty,
    "minLength": _empty,
    "minProperties": _empty,
    "maxProperties": _too_many,
    "uniqueItems": _twice,
    "dependentRequired": _dependent,
}
