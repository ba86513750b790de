"""The valid parts of an invalid document, so that the graph is checked in the same pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from orglab.engine.spec.errors import Problem, SpecPath
from orglab.engine.spec.validate.schema import definition
from orglab.engine.spec.validate.schema_errors import tell, validator
from orglab.providers.base import JSON

_PARTS: Final[Mapping[str, str]] = {
    "roles": "role",
    "models": "model",
    "pools": "pool",
    "tools": "tool",
    "inputs": "input",
    "links": "link",
    "evaluators": "evaluator",
}
_WHOLE: Final[Mapping[str, str]] = {"limits": "limits", "templates": "templates"}
_ROUNDS: Final = 6


class _Gone:
    """Stands where something invalid stood, so that indexes stay true until all is swept."""


_GONE: Final = _Gone()


class Sound:
    """What is left of a document.

    Attributes:
        data: The sound document, or None where no team is left.
        links: For each link left, its index in the document.
    """

    def __init__(self, data: dict[str, JSON] | None, links: list[int]) -> None:
        self.data = data
        self.links = links


def sound_parts(data: Mapping[str, JSON], problems: Iterable[Problem]) -> Sound:
    """Return ``data`` without the parts that the problems concern, and without what is then incomplete.

    An invalid cap counts as 1, so that no cycle seems uncapped for it.
    """
    marked: JSON = dict(data)
    for problem in problems:
        of_link = problem.path[:1] == ("links",)
        marked = _without(marked, problem.path, _in_place(problem.path[2:], of_link=of_link))
    kept = {key: _kept(key, value) for key, value in marked.items() if value is not _GONE}
    kept = {key: value for key, value in kept.items() if value is not _GONE}
    return _closed({**kept, "kind": "topology", "version": 1})


# -- taking things out


def _without(node: JSON, path: SpecPath, new: JSON) -> JSON:
    """Return ``node`` with ``new`` at ``path``; what is not there changes nothing."""
    if not path or node is _GONE:
        return node
    key, rest = path[0], path[1:]
    if isinstance(node, dict) and key in node:
        value = _without(node[key], rest, new) if rest else new
        return {**node, key: value}
    if isinstance(node, list) and isinstance(key, int) and key < len(node):
        value = _without(node[key], rest, new) if rest else new
        return [value if i == key else item for i, item in enumerate(node)]
    return node


def _in_place(path: SpecPath, *, of_link: bool) -> JSON:
    """Return what takes the place of an invalid part: 1 for a link's cap, else nothing."""
    return 1 if of_link and path == ("cap",) else _GONE


def _swept(node: JSON) -> JSON:
    if isinstance(node, dict):
        return {key: _swept(value) for key, value in node.items() if value is not _GONE}
    if isinstance(node, list):
        return [_swept(value) for value in node if value is not _GONE]
    return node


# -- mending what is left


def _kept(key: str, value: JSON) -> JSON:
    """Return a field of the document with its invalid parts mended or gone."""
    if key in _PARTS and isinstance(value, dict):
        parts = {name: _mended(part, _PARTS[key]) for name, part in value.items()}
        return {name: part for name, part in parts.items() if part is not _GONE}
    if key in _PARTS and isinstance(value, list):
        return [_mended(part, _PARTS[key]) for part in value]
    if key in _WHOLE:
        return _mended(value, _WHOLE[key])
    value = _swept(value)
    known = definition("topology")["properties"].get(key)
    if known is None:
        return value if key.startswith("x-") else _GONE
    return value if value not in ([], {}) else _GONE


def _mended(part: JSON, name: str) -> JSON:
    """Return a part that fits its definition; gone where it does not come to fit."""
    part = _GONE if part is _GONE else _swept(part)
    for _ in range(_ROUNDS):
        if part is _GONE:
            return _GONE
        problems = tell(validator(name).iter_errors(part))
        if not problems:
            return part
        for problem in problems:
            there = bool(problem.path) and _is_there(part, problem.path)
            new = _in_place(problem.path, of_link=name == "link")
            part = _without(part, problem.path, new) if there else _filled(part, problem)
        part = _GONE if part is _GONE else _swept(part)
    return _GONE


def _is_there(node: JSON, path: SpecPath) -> bool:
    for key in path:
        held = key in node if isinstance(node, dict) else isinstance(node, list)
        if not held:
            return False
        node = node[key]
    return True


def _filled(part: JSON, problem: Problem) -> JSON:
    """Return a part with what it requires: a missing cap counts as 1; without any other key the part is left out."""
    if problem.path == ("cap",) and isinstance(part, dict):
        return {**part, "cap": 1}
    return _GONE


# -- what hangs on what is gone


def _closed(data: dict[str, JSON]) -> Sound:
    """Without links, sights and ends of roles that are gone."""
    roles = data.get("roles")
    if not isinstance(roles, dict) or not roles:
        return Sound(None, [])
    links = data.get("links")
    every = list(enumerate(links if isinstance(links, list) else []))
    kept = [(i, link) for i, link in every if link is not _GONE and _joins(link, roles)]
    data["links"] = [link for _, link in kept]
    data["evaluators"] = [item for item in data.get("evaluators", []) if item is not _GONE]
    data["pools"] = _pools(data)
    data["roles"] = {name: _role(role, data) for name, role in roles.items()}
    for key in ("start", "output"):
        _keep_names(data, key, roles)
    return Sound(data, [index for index, _ in kept])


def _pools(data: Mapping[str, JSON]) -> dict[str, JSON]:
    models = data.get("models", {})
    found = {}
    for name, pool in data.get("pools", {}).items():
        members = [alias for alias in pool["members"] if alias in models]
        if members:
            found[name] = {**pool, "members": members}
    return found


def _role(role: Mapping[str, JSON], data: Mapping[str, JSON]) -> dict[str, JSON]:
    """Without tools, models and sights that are gone."""
    kept = dict(role)
    model = kept.get("model")
    there = data["pools"] if isinstance(model, dict) else data.get("models", {})
    if "model" in kept and (model["pool"] if isinstance(model, dict) else model) not in there:
        del kept["model"]
    if "tools" in kept:
        kept["tools"] = [name for name in kept["tools"] if name in data.get("tools", {})]
    if "sees" in kept:
        kept["sees"] = [s for s in kept["sees"] if s[:5] != "role:" or s[5:] in data["roles"]]
    return kept


def _joins(link: Mapping[str, JSON], roles: Mapping[str, JSON]) -> bool:
    to = link["to"]
    return all(name in roles for name in (link["from"], *([to] if isinstance(to, str) else to)))


def _keep_names(data: dict[str, JSON], key: str, roles: Mapping[str, JSON]) -> None:
    value = data.pop(key, None)
    names = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    kept = [name for name in names if isinstance(name, str) and name in roles]
    if kept:
        data[key] = kept
