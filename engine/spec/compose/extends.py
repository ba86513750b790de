"""``extends``: one document merged over another, with the places of what each wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

from orglab.engine.spec.errors import Problem, SpecPath
from orglab.engine.spec.messages import did_you_mean
from orglab.engine.spec.yaml.source_map import Mark, Place
from orglab.providers.base import JSON

OWN_FIELDS: Final = ("name", "description")
"""What a document does not take over: they describe the base, not what extends it."""

_TELLING: Final[Mapping[tuple[str, int], str]] = {("models", 2): "provider", ("tools", 2): "use"}
"""A field that, when it changes, makes the entry another thing, which replaces the old one."""

Tell: TypeAlias = Callable[[Problem, Mark], None]


class Located(NamedTuple):
    """Plain data, and where each part was written."""

    data: JSON
    place: Place


def link_id(link: Mapping[str, JSON]) -> str | None:
    """Return a link's id: written, else ``FROM>TO``; None where that cannot be reported."""
    if isinstance(link.get("id"), str):
        return str(link["id"])
    source, target = link.get("from"), link.get("to")
    names = [target] if isinstance(target, str) else target
    if not isinstance(source, str) or not isinstance(names, list):
        return None
    return f"{source}>{','.join(str(name) for name in names)}"


def merged(base: Located, over: Located, tell: Tell) -> Located:
    """Return ``over`` merged over ``base``: maps deeply, lists replaced, links by id, null removes.

    Args:
        base: The document that is extended.
        over: The document that extends it.
        tell: Is reported what cannot be merged, and where it is in the extending file.
    """
    data = {key: value for key, value in base.data.items() if key not in OWN_FIELDS}
    return _Merge(tell).map(Located(data, base.place), over, ())


class _Merge:
    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    def value(self, base: Located, over: Located, path: SpecPath) -> Located:
        if _inside(path) == ("links",) and isinstance(base.data, list):
            return self._links(base, over, path)
        both = isinstance(base.data, dict) and isinstance(over.data, dict)
        return self.map(base, over, path) if both and not _another(base, over, path) else over

    def map(self, base: Located, over: Located, path: SpecPath) -> Located:
        data = dict(base.data)
        keys = dict(base.place.keys or {})
        children = dict(base.place.children or {})
        for key, value in over.data.items():
            if value is None and (path or key != "extends"):
                self._remove(data, key, path, over)
                continue
            new = Located(value, over.place.child(key))
            if key in data:
                new = self.value(Located(data[key], base.place.child(key)), new, (*path, key))
            data[key], children[key] = new
            keys[key] = over.place.key_mark(key)
        return Located(data, Place(over.place.mark, keys, children))

    def _remove(self, data: dict[str, JSON], key: str, path: SpecPath, over: Located) -> None:
        if key in data:
            del data[key]
            return
        hint = did_you_mean(key, data)
        self._nothing((*path, key), f"there is no `{key}` in the base to remove", hint, over, key)

    def _nothing(self, path: SpecPath, wrong: str, hint: str, over: Located, key: str) -> None:
        mark = over.place.key_mark(key)
        self._tell(Problem(path=path, wrong=wrong, hint=hint, at_key=True), mark)

    # -- links

    def _links(self, base: Located, over: Located, path: SpecPath) -> Located:
        links = [Located(link, base.place.child(i)) for i, link in enumerate(base.data)]
        if isinstance(over.data, dict):
            changed = self._by_id(links, over, path)
        elif isinstance(over.data, list):
            changed = self._by_list(links, over, path)
        else:
            return over
        children: dict[str | int, Place] = {i: link.place for i, link in enumerate(changed)}
        return Located([link.data for link in changed], Place(over.place.mark, None, children))

    def _by_id(self, links: list[Located], over: Located, path: SpecPath) -> list[Located]:
        """Return ``links: {oversight: {cap: 0}, "a>b": null}``: changes alone."""
        for key, change in over.data.items():
            ids = _ids(links)
            if key not in ids:
                wrong = f"the base has no link `{key}`"
                self._nothing((*path, key), wrong, did_you_mean(key, ids), over, key)
            elif change is None:
                del links[ids[key]]
            else:
                at = ids[key]
                new = Located(change, over.place.child(key))
                links[at] = self._amended(links[at], new, (*path, at))
        return links

    def _by_list(self, links: list[Located], over: Located, path: SpecPath) -> list[Located]:
        ids = _ids(links)
        for index, change in enumerate(over.data):
            new = Located(change, over.place.child(index))
            own = link_id(change) if isinstance(change, dict) else None
            if own in ids:
                links[ids[own]] = self._amended(links[ids[own]], new, (*path, ids[own]))
            else:
                self._check_new(new, own, ids, (*path, len(links)))
                links.append(new)
        return links

    def _amended(self, base: Located, over: Located, path: SpecPath) -> Located:
        if not isinstance(base.data, dict) or not isinstance(over.data, dict):
            return over
        return self.map(base, over, path)

    def _check_new(
        self, new: Located, own: str | None, ids: Mapping[str, int], path: SpecPath
    ) -> None:
        """Refuse a link with an id but without ends: it is meant to change one of the base."""
        data = new.data
        if own is None or not isinstance(data, dict) or "from" in data or "to" in data:
            return
        wrong = f"the base has no link `{own}`"
        problem = Problem(
            path=(*path, "id"),
            wrong=wrong,
            expected="a new link needs `from`, `to` and `kind`",
            hint=did_you_mean(own, ids),
        )
        self._tell(problem, new.place.child("id").mark)


def _inside(path: SpecPath) -> SpecPath:
    """Return a path in a team that is written in a role, as one in the team itself."""
    while path[:1] == ("roles",) and path[2:3] == ("team",):
        path = path[3:]
    return path


def _ids(links: list[Located]) -> dict[str, int]:
    pairs = [(link_id(link.data), i) for i, link in enumerate(links) if isinstance(link.data, dict)]
    return {name: i for name, i in pairs if name is not None}


def _another(base: Located, over: Located, path: SpecPath) -> bool:
    """Return ``over`` is another thing than ``base``, not a change of it."""
    path = _inside(path)
    if len(path) == 3 and path[0] == "links" and path[2] == "trigger":
        return not {"checks", "probability"} & base.data.keys() & over.data.keys()
    field = _TELLING.get((str(path[0]), len(path))) if path else None
    return field is not None and over.data.get(field, base.data.get(field)) != base.data.get(field)
