"""``--models FILE``: another catalogue in the place of a document's ``models``.

So one spec runs simulated, local or hosted: every alias that the document uses is looked up in the
catalogue, and an entry called ``default`` serves each alias that the catalogue lacks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from orglab.engine.spec.compose.extends import Located
from orglab.engine.spec.compose.overrides import patched
from orglab.engine.spec.errors import SpecPath
from orglab.engine.spec.validate.references import maps
from orglab.engine.spec.yaml.source_map import Place
from orglab.providers.base import JSON

DEFAULT_ALIAS: Final = "default"
"""The catalogue's entry that serves every alias it has no entry for."""


def swapped(document: Located, catalogue: Located) -> Located:
    """Return ``document`` with the models of ``catalogue``."""
    declared = document.data.get("models")
    own = list(declared) if isinstance(declared, dict) else []
    data = _settled(document.data, own, catalogue.data)
    wanted = dict.fromkeys([*own, *_used(data), *catalogue.data])
    played = _scripted(declared) - catalogue.data.keys()
    served = {alias: _serving(alias, catalogue.data) for alias in wanted if alias not in played}
    there = {alias: entry for alias, entry in served.items() if entry is not None}
    models = {alias: catalogue.data[entry] for alias, entry in there.items()}
    written = document.place.child("models")
    models |= {alias: declared[alias] for alias in own if alias in played}
    below = {alias: (written.children or {}).get(alias, written) for alias in played}
    named = {alias: written.key_mark(alias) for alias in played}
    place = Place(
        catalogue.place.mark,
        {alias: catalogue.place.key_mark(entry) for alias, entry in there.items()} | named,
        {alias: catalogue.place.child(entry) for alias, entry in there.items()} | below,
    )
    children = {**(document.place.children or {}), "models": place}
    keys = {"models": catalogue.place.mark, **(document.place.keys or {})}
    return Located({**data, "models": models}, Place(document.place.mark, keys, children))


def _scripted(declared: JSON) -> set[str]:
    """Return models that play written parts: no catalogue's ``default`` takes their place."""
    return {alias for alias, model in maps(declared) if model.get("provider") == "scripted"}


def _serving(alias: str, catalogue: Mapping[str, JSON]) -> str | None:
    if alias in catalogue:
        return alias
    return DEFAULT_ALIAS if DEFAULT_ALIAS in catalogue else None


def _settled(
    data: Mapping[str, JSON], own: list[str], catalogue: Mapping[str, JSON]
) -> dict[str, JSON]:
    """Return roles without ``model`` keep the one model of their document, whatever the catalogue adds."""
    alias = own[0] if len(own) == 1 else DEFAULT_ALIAS if not own else ""
    if not alias or (not own and DEFAULT_ALIAS not in catalogue):
        return dict(data)
    changes: dict[SpecPath, JSON] = {
        ("roles", name): {**role, "model": alias}
        for name, role in maps(data.get("roles"))
        if not {"model", "vote", "team"} & role.keys()
    }
    found: dict[str, JSON] = dict(patched(data, changes))
    return found


def _used(data: Mapping[str, JSON]) -> list[str]:
    found = [role.get("model") for _, role in maps(data.get("roles"))]
    for _, pool in maps(data.get("pools")):
        members = pool.get("members")
        found += members if isinstance(members, list) else []
    return [alias for alias in found if isinstance(alias, str)]
