"""From YAML to an evaluator: the three short forms, and arguments that fit the fields.

::

    evaluators:
      - usage                          # name
      - {contains: warranty}           # {name: argument}: sets the evaluator's own first field
      - {length: {max: 500}}           # {name: {field: value}}
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from orglab.evaluators.base import EvaluationError, Evaluator, OutputEvaluator
from orglab.evaluators.place import nearest
from orglab.providers.registry import load_plugin, plugin_names

__all__ = [
    "Use",
    "argument_problems",
    "evaluator_class",
    "make_evaluator",
    "parse_use",
    "short_field",
]

E = TypeVar("E", bound=Evaluator)
_GROUP: Literal["orglab.evaluators"] = "orglab.evaluators"
_ENDS: dict[type, str] = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    Path: "a file",
}


class Use(NamedTuple):
    """An evaluator's name and its arguments by field."""

    name: str
    arguments: Mapping[str, Any]


def parse_use(item: object) -> Use:
    """Reads one entry of an ``evaluators`` or ``checks`` list in any of its three forms.

    Raises:
        EvaluationError: It has no such form, names no installed evaluator, or is a short form of
            one that takes no argument.
    """
    if isinstance(item, str):
        return Use(item, {})
    if not isinstance(item, Mapping) or len(item) != 1:
        raise EvaluationError(
            f"{item!r} is no evaluator: write name, {{name: argument}} or {{name: {{field: value}}}}"
        )
    ((name, argument),) = item.items()
    if isinstance(argument, Mapping):
        return Use(str(name), argument)
    if argument is None:
        return Use(str(name), {})
    return Use(str(name), {_short_field_of(str(name)): argument})


def _short_field_of(name: str) -> str:
    field = short_field(evaluator_class(name))
    if field is None:
        raise EvaluationError(f"{name} takes no argument: write its name alone")
    return field


def evaluator_class(name: str) -> type[Evaluator]:
    """The installed evaluator of this name.

    Raises:
        EvaluationError: There is none, or its package cannot be imported.
    """
    known = plugin_names(_GROUP)
    if name not in known:
        close = nearest(name, known)
        hint = f"did you mean {close!r}?" if close else "installed are: " + ", ".join(known)
        raise EvaluationError(f"no evaluator {name!r} is installed; {hint}")
    try:
        return load_plugin(_GROUP, name)
    except (ImportError, AttributeError) as fault:
        raise EvaluationError(f"the evaluator {name!r} cannot be imported: {fault}") from fault


def short_field(kind: type[Evaluator]) -> str | None:
    """The field that ``{name: argument}`` sets: the first that is not inherited from the port."""
    inherited = {field.name for field in fields(OutputEvaluator)}
    own = [field.name for field in _own(kind) if field.name not in inherited]
    own = own if issubclass(kind, OutputEvaluator) else [field.name for field in _own(kind)]
    return own[0] if own else None


def _own(kind: type[Evaluator]) -> list[Field[Any]]:
    return [field for field in fields(kind) if field.init]


def argument_problems(kind: type[Evaluator], arguments: Mapping[str, Any]) -> list[str]:
    """What is wrong with the names of ``arguments``, before any template is rendered; [] if fine."""
    known = {field.name: field for field in _own(kind)}
    problems = [_unknown(name, list(known)) for name in arguments if name not in known]
    for name, field in known.items():
        needed = field.default is MISSING and field.default_factory is MISSING
        if needed and name not in arguments:
            problems.append(f"{name!r} is missing")
    return problems


def _unknown(name: str, known: Sequence[str]) -> str:
    close = nearest(name, known)
    hint = f"did you mean {close!r}?" if close else "it takes: " + (", ".join(known) or "nothing")
    return f"there is no argument {name!r}; {hint}"


def make_evaluator(kind: type[E], arguments: Mapping[str, Any]) -> E:
    """The evaluator, of arguments whose templates are rendered and whose files are resolved.

    Raises:
        EvaluationError: An argument is unknown, missing or of the wrong type, or they do not go
            together; all faults of names and types at once.
    """
    problems = argument_problems(kind, arguments) or _type_problems(kind, arguments)
    if problems:
        raise EvaluationError("; ".join(problems))
    try:
        return kind(**arguments)
    except (ValueError, TypeError) as fault:
        raise EvaluationError(str(fault)) from fault


def _type_problems(kind: type[Evaluator], arguments: Mapping[str, Any]) -> list[str]:
    hints = get_type_hints(kind)
    return [
        f"{name!r} must be {_named(hints[name])}, not {value!r}"
        for name, value in arguments.items()
        if not _fits(value, hints[name])
    ]


def _fits(value: object, hint: object) -> bool:
    """Whether a JSON value or path fits an annotation; what we do not know fits."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is Literal:
        return any(type(value) is type(part) and value == part for part in parts)
    if hint is type(None):
        return value is None
    if hint in (int, float):
        return isinstance(value, (int, hint)) and not isinstance(value, bool)
    if hint in _ENDS:
        return isinstance(value, hint)
    if _is_list(origin or hint):
        return isinstance(value, list | tuple) and all(
            _fits(item, part) for part in parts[:1] for item in value
        )
    return isinstance(value, Mapping) if _is_map(origin or hint) else True


def _is_list(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Sequence) and kind not in (str, bytes)


def _is_map(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Mapping)


def _named(hint: object) -> str:
    """An annotation in an author's words."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(_named(part) for part in parts)
    if origin is Literal:
        return " or ".join(str(part) for part in parts)
    if hint is type(None):
        return "null"
    if hint in _ENDS:
        return _ENDS[hint]
    if _is_list(origin or hint):
        return "a list" + (f" of {_named(parts[0])}" if parts and parts[0] in _ENDS else "")
    return "a map" if _is_map(origin or hint) else str(hint)
