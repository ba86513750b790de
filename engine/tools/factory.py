"""Making a plugin from its settings in a spec: tools and evaluators alike."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from orglab.engine.spec.messages import nearest
from orglab.providers.base import JSON, Tool
from orglab.providers.registry import Group, load_plugin, plugin_names
from orglab.providers.tool_source import ToolSource

Resolve: typing.TypeAlias = Callable[[str], Path]
"""Turns a path as an author wrote it into a confined, absolute one."""

_WHAT: Mapping[str, str] = {
    "orglab.embedders": "embedder",
    "orglab.evaluators": "evaluator",
    "orglab.providers": "provider",
    "orglab.tools": "tool",
}


_PLAIN: Mapping[object, tuple[str, type | tuple[type, ...]]] = {
    bool: ("true or false", bool),
    dict: ("a mapping", dict),
    float: ("a number", (int, float)),
    int: ("a whole number", int),
    str: ("text", str),
    type(None): ("null", type(None)),
    Path: ("a path", str),
}
"""Plain annotations: how messages call them, and the types of JSON values that fit."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class _Setting:
    annotation: object
    required: bool
    file: bool


def make(use: str, settings: Mapping[str, JSON], *, resolve: Resolve) -> Tool:
    """Return the installed tool ``use``, made with ``settings``.

    Args:
        use: Its name in the entry point group ``orglab.tools``.
        settings: Its fields by name; templates are rendered already.
        resolve: Resolves and confines the path of each field annotated ``Path``.

    Raises:
        ValueError: No such tool, or a setting is unknown, missing or wrong; in words.
    """
    made = make_plugin("orglab.tools", use, settings, resolve)
    if isinstance(made, ToolSource):
        raise ValueError(f"`{use}` gives tools to roles alone, under `tools` of a trusted spec")
    return cast("Tool", made)


def make_plugin(group: Group, name: str, settings: Mapping[str, JSON], resolve: Resolve) -> object:
    """Return the installed plugin ``name`` of ``group``, a dataclass, made with ``settings``.

    Raises:
        ValueError: No such plugin, or a setting is unknown, missing or wrong; in words.
    """
    plugin = _plugin(group, name)
    known = settings_of(cast("Hashable", plugin))
    called = f"{_WHAT[group]} `{name}`"
    for key in settings:
        if key not in known:
            raise ValueError(f"{called} has no setting `{key}`{_like(key, list(known))}")
    missing = [key for key, one in known.items() if one.required and key not in settings]
    if missing:
        raise ValueError(f"{called} needs {', '.join(f'`{one}`' for one in missing)}")
    values = {
        key: _checked_value(called, key, value, known[key], resolve)
        for key, value in settings.items()
    }
    try:
        return plugin(**values)
    except ValueError as error:
        raise ValueError(f"{called}: {error}") from error


def _plugin(group: Group, name: str) -> type[Any]:
    try:
        return load_plugin(group, name)
    except KeyError:
        what = _WHAT[group]
        raise ValueError(f"no {what} `{name}`{_like(name, plugin_names(group))}") from None
    except ImportError as error:
        raise ValueError(f"{_WHAT[group]} `{name}` cannot be imported: {error}") from error


def _like(name: str, known: Sequence[str]) -> str:
    close = nearest(name, known)
    hint = f", did you mean `{close}`?" if close else "."
    return f"{hint} There is: {', '.join(known) or 'none'}"


@cache
def settings_of(plugin: type[Any]) -> Mapping[str, Any]:
    """Return the settings of a plugin class by name: ``annotation``, ``required``, ``file`` of each.

    Raises:
        ValueError: It is no dataclass, or an annotation of it names nothing.
    """
    if not dataclasses.is_dataclass(plugin):
        raise ValueError(f"`{plugin.__name__}` is no dataclass, so it has no settings")
    try:
        hints = typing.get_type_hints(plugin)
    except NameError as error:
        raise ValueError(f"an annotation of `{plugin.__name__}` is unknown: {error}") from error
    return {
        one.name: _Setting(
            annotation=hints[one.name],
            required=one.default is one.default_factory is dataclasses.MISSING,
            file=any(arm is Path or _items(arm) is Path for arm in _arms(hints[one.name])),
        )
        for one in dataclasses.fields(plugin)
        if one.init
    }


def _arms(annotation: object) -> tuple[Any, ...]:
    """Return the members of a union; of anything else, itself."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return typing.get_args(annotation)
    return (annotation,)


def _items(annotation: object) -> object:
    """Return the item type of a list or tuple; None for anything else."""
    inner = typing.get_args(annotation)
    return inner[0] if typing.get_origin(annotation) in (list, tuple, Sequence) else None


def _checked_value(
    called: str, key: str, value: JSON, setting: _Setting, resolve: Resolve
) -> JSON | Path:
    if not _fits(value, setting.annotation):
        wanted = " or ".join(_spoken(one) for one in _arms(setting.annotation))
        raise ValueError(f"{called}: `{key}` must be {wanted}, not {value!r:.60}")
    return _resolved(value, resolve) if setting.file else value


def _resolved(value: JSON, resolve: Resolve) -> JSON | Path:
    if isinstance(value, list | tuple):
        return tuple(resolve(one) for one in value)
    return resolve(value) if isinstance(value, str) else value


def _fits(value: JSON, annotation: object) -> bool:
    """Return whether the JSON ``value`` fits ``annotation``; unknown annotations fit anything."""
    return any(_fits_one(value, one) for one in _arms(annotation))


def _fits_one(value: JSON, annotation: object) -> bool:
    origin, inner = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if origin is None:
        return value is None
    if origin is typing.Literal:
        return any(value == one and type(value) is type(one) for one in inner)
    if origin in _PLAIN:
        kinds = _PLAIN[origin][1]
        return isinstance(value, kinds) and (origin is bool or not isinstance(value, bool))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(
            _fits(one, inner[1]) for one in value.values() if inner
        )
    if isinstance(origin, type) and issubclass(origin, Sequence | set | frozenset):
        return isinstance(value, list | tuple) and all(
            _fits(one, inner[0]) for one in value if inner
        )
    return True


def _spoken(annotation: object) -> str:
    origin = typing.get_origin(annotation) or annotation
    if origin is typing.Literal:
        return "one of " + ", ".join(str(one) for one in typing.get_args(annotation))
    if origin in _PLAIN:
        return _PLAIN[origin][0]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "a mapping"
    return (
        "a list" if isinstance(origin, type) and issubclass(origin, Sequence) else str(annotation)
    )
