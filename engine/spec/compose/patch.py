"""Values put into plain data at many paths at once, leaving the data itself as it was."""

from __future__ import annotations

from collections.abc import Mapping

from orglab.engine.spec.errors import SpecPath
from orglab.providers.base import JSON

__all__ = ["patched"]


def patched(data: JSON, changes: Mapping[SpecPath, JSON]) -> JSON:
    """Return a copy of ``data`` along the paths of ``changes``, the last key of which may be new."""
    if () in changes:
        return changes[()]
    below: dict[str | int, dict[SpecPath, JSON]] = {}
    for path, value in changes.items():
        below.setdefault(path[0], {})[path[1:]] = value
    if not below:
        return data
    if isinstance(data, list):
        return [patched(v, below[i]) if i in below else v for i, v in enumerate(data)]
    return {**data, **{key: patched(data.get(key), part) for key, part in below.items()}}
