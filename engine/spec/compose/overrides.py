"""Values put into a document: ``--set path=value`` by names, and changes by paths of the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from orglab.engine.spec.compose.extends import Located, link_id
from orglab.engine.spec.errors import Problem, SpecPath
from orglab.engine.spec.messages import did_you_mean
from orglab.engine.spec.validate.schema import definition
from orglab.engine.spec.yaml.source_map import Mark, Place
from orglab.providers.base import JSON

_THINGS: Final = ("roles", "models", "pools", "tools", "inputs")
_FIXED: Final = ("kind", "version", "extends")

Tell: TypeAlias = Callable[[Problem, Mark], None]


class _UnknownPath(LookupError):
    """Raised when a path names nothing; the text says what is near."""


def apply_overrides(
    document: Located, overrides: Mapping[str, JSON], tell: Tell, above: str = ""
) -> Located:
    """Return ``document`` with each override put in; null removes.

    Args:
        document: The document, extended already. It is left as it is.
        overrides: Values by path, such as ``links.oversight.cap``.
        tell: Is reported of each path that names nothing.
        above: What stands before each path as it was given: ``roles.lead.team.`` of a sub-team.
    """
    for text, value in overrides.items():
        mark = Mark(f"--set {above}{text}", 0, 0)
        try:
            path = _resolved(document.data, text.split("."))
            document = _put(document, path, Located(value, _place(value, mark)))
        except _UnknownPath as unknown:
            wrong, _, hint = str(unknown).partition("; ")
            tell(Problem(path=(), wrong=wrong, hint=hint), mark)
    return document


def _place(value: JSON, mark: Mark) -> Place:
    """Place of a value that was written in no file: all of it is blamed on the override."""
    if isinstance(value, dict):
        return Place(
            mark, dict.fromkeys(value, mark), {k: _place(v, mark) for k, v in value.items()}
        )
    if isinstance(value, list):
        return Place(mark, None, {i: _place(v, mark) for i, v in enumerate(value)})
    return Place(mark)


# -- paths


def _resolved(data: Mapping[str, JSON], parts: list[str]) -> SpecPath:
    """Return the path in the document; a field that is not written yet is left to the schema's check.

    Raises:
        _UnknownPath: It names no thing of the document, or no field of a document.
    """
    head = parts[0]
    known = [key for key in definition("topology")["properties"] if key not in _FIXED]
    if head in _FIXED:
        raise _UnknownPath(f"`{head}` cannot be set")
    if head not in known and not head.startswith("x-"):
        raise _UnknownPath(f"there is no `{head}`; {did_you_mean(head, known)}")
    if len(parts) == 1:
        return (head,)
    if head == "links":
        return _link_path(data, parts)
    if head in _THINGS:
        _must_have(data.get(head), parts[1], head)
    if head == "roles" and parts[2:3] == ["vars"] and len(parts) > 3:
        _must_have(data["roles"][parts[1]].get("vars"), parts[3], f"roles.{parts[1]}.vars")
    return tuple(parts)


def _must_have(found: JSON, name: str, where: str) -> None:
    names = found if isinstance(found, dict) else {}
    if name not in names:
        raise _UnknownPath(f"there is no `{name}` in `{where}`; {did_you_mean(name, names)}")


def _link_path(data: Mapping[str, JSON], parts: list[str]) -> SpecPath:
    held = data.get("links")
    links = held if isinstance(held, list) else []
    ids = [link_id(link) if isinstance(link, dict) else None for link in links]
    if parts[1] not in ids:
        known = [name for name in ids if name]
        raise _UnknownPath(f"there is no link `{parts[1]}`; {did_you_mean(parts[1], known)}")
    return ("links", ids.index(parts[1]), *parts[2:])


# -- putting values


def _put(into: Located, path: SpecPath, new: Located) -> Located:
    """Return a copy of ``into`` along ``path`` with ``new`` at its end."""
    key, rest = path[0], path[1:]
    if isinstance(into.data, list) and not isinstance(key, int):
        raise _UnknownPath("a list has no named parts; set the whole list")
    children = dict(into.place.children or {})
    if rest:
        new = _put(_below(into, key, new.place.mark), rest, new)
    data = _with(into.data, key, new.data)
    children[key] = new.place
    keys = dict(into.place.keys or {})
    if isinstance(key, str) and (not rest or key not in keys):
        keys[key] = new.place.mark
    return Located(data, Place(into.place.mark, keys, children))


def _below(into: Located, key: str | int, mark: Mark) -> Located:
    held = into.data.get(key) if isinstance(into.data, dict) else into.data[key]
    if isinstance(held, dict | list):
        place = (into.place.children or {}).get(key)
        return Located(held, place or Place(mark))
    return Located({}, Place(mark))


def _with(data: JSON, key: str | int, value: JSON) -> JSON:
    if isinstance(data, list):
        return [value if i == key else item for i, item in enumerate(data)]
    changed = {k: v for k, v in data.items() if not (k == key and value is None)}
    return changed if value is None else {**changed, key: value}


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
