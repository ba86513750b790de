"""Plugins by entry point: providers, embedders, evaluators and tools, ours and others' alike."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, TypeAlias

Group: TypeAlias = Literal[
    "orglab.providers", "orglab.evaluators", "orglab.tools", "orglab.embedders"
]


@cache
def _points(group: Group) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}


def plugin_names(group: Group) -> list[str]:
    """Name registered in ``group``, sorted; nothing is imported."""
    return sorted(_points(group))


def load_plugin(group: Group, name: str) -> type[Any]:
    """Return the class registered as ``name``.

    Raises:
        KeyError: Nothing is registered under this name.
        ImportError: The plugin's module cannot be imported.
    """
    point = _points(group)[name]
    return point.load()  # type: ignore[no-any-return]


def plugin_version(group: Group, name: str) -> str:
    """Return the distribution and version that bring ``name``, such as ``orglab 0.1.0``."""
    dist = _points(group)[name].dist
    return f"{dist.name} {dist.version}" if dist else "unknown"
