"""Writes the part of ``topology.schema.json`` that describes documents with ``extends``.

In such a document every field of a map may be null (which removes it), nothing is required, and
links are named by their id. This follows from the plain definitions, so it is derived from them:
run ``python -m orglab.engine.schemas.amendments`` after editing the schema; a test compares.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from orglab.providers.base import JSON

_SUFFIX = "-change"
_ALWAYS = ("kind", "version", "extends", "name", "description")


def with_changes(schema: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return ``schema`` with its ``…-change`` definitions derived anew."""
    plain = {k: v for k, v in schema["$defs"].items() if not k.endswith(_SUFFIX)}
    changes = _Changes(plain)
    changes.topology()
    return {**schema, "$defs": {**plain, **dict(sorted(changes.made.items()))}}


class _Changes:
    def __init__(self, defs: Mapping[str, JSON]) -> None:
        self.defs = defs
        self.made: dict[str, JSON] = {}

    def topology(self) -> None:
        """Derive the whole document: its head stays as it is, links are amended by id."""
        self._define("topology")
        made = self.made["topology" + _SUFFIX]
        for key in _ALWAYS:
            made["properties"][key] = {"$ref": f"#/$defs/topology/properties/{key}"}
        made["required"] = ["kind", "version", "extends"]
        self._links()

    def _links(self) -> None:
        fields: dict[str, list[JSON]] = {}
        for kind in ("forward", "authority"):
            self._define(kind)
            for key, change in self.made.pop(kind + _SUFFIX)["properties"].items():
                fields.setdefault(key, []).extend(_branches(change))
        properties = {key: {"anyOf": _unique(found)} for key, found in fields.items()}
        self.made["link" + _SUFFIX] = {
            "title": "a map of the fields of a link",
            "description": "A new link, or fields of the base's link with this id (without `id`: FROM>TO).",
            "type": "object",
            "additionalProperties": False,
            "patternProperties": {"^x-": {}},
            "properties": properties,
        }
        link: JSON = {"$ref": "#/$defs/link" + _SUFFIX}
        links: JSON = {
            "title": "a list of links, or a map from a link's id to its changes (null removes)",
            "anyOf": [
                {"type": "array", "items": link},
                {"type": "object", "additionalProperties": _or_null(link)},
            ],
        }
        self.made["topology" + _SUFFIX]["properties"]["links"] = _or_null(links)

    def _define(self, name: str) -> JSON:
        reference = {"$ref": f"#/$defs/{name}{_SUFFIX}"}
        if name == "team":
            self.made[name + _SUFFIX] = _team(self.defs[name])
        elif name + _SUFFIX not in self.made:
            self.made[name + _SUFFIX] = {}
            self.made[name + _SUFFIX].update(self._map(self.defs[name], f"#/$defs/{name}"))
        return reference

    def _change(self, schema: JSON, where: str) -> JSON:
        """Return the schema of a change of a value at ``where``; the plain one where nothing differs."""
        name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
        if name:
            return self._define(name) if _is_map(self.defs[name]) else {"$ref": f"#/$defs/{name}"}
        if "anyOf" in schema:
            branches = enumerate(schema["anyOf"])
            return {"anyOf": [self._change(part, f"{where}/anyOf/{i}") for i, part in branches]}
        return self._map(schema, where) if _is_map(schema) else {"$ref": where}

    def _map(self, schema: JSON, where: str) -> JSON:
        kept = {k: v for k, v in schema.items() if k in _KEPT}
        for key, part in schema.get("properties", {}).items():
            change = self._change(part, f"{where}/properties/{key}")
            kept.setdefault("properties", {})[key] = _or_null(change)
        if isinstance(more := schema.get("additionalProperties"), dict):
            kept["additionalProperties"] = _or_null(
                self._change(more, f"{where}/additionalProperties")
            )
        return kept


def _team(plain: JSON) -> JSON:
    """Change of a sub-team: those of a topology."""
    below = f"#/$defs/topology{_SUFFIX}/properties"
    kept = {key: value for key, value in plain.items() if key != "required"}
    fields = {key: {"$ref": f"{below}/{key}"} for key in plain["properties"]}
    return {**kept, "properties": fields}


_KEPT = (
    "title",
    "description",
    "type",
    "patternProperties",
    "propertyNames",
    "additionalProperties",
)


def _is_map(schema: JSON) -> bool:
    """Return a map whose fields are merged one by one; ``{file: …}`` and its like are one value."""
    properties = schema.get("properties", {})
    if schema.get("additionalProperties") is False and len(properties) == 1:
        return False
    open_map = isinstance(schema.get("additionalProperties"), dict)
    return schema.get("type") == "object" and (bool(properties) or open_map)


def _or_null(schema: JSON) -> JSON:
    return {"anyOf": _unique([*_branches(schema), {"type": "null"}])}


def _branches(schema: JSON) -> list[JSON]:
    return list(schema["anyOf"]) if set(schema) == {"anyOf"} else [schema]


def _unique(branches: list[JSON]) -> list[JSON]:
    return [branch for i, branch in enumerate(branches) if branch not in branches[:i]]


def _main() -> None:
    path = Path(__file__).with_name("topology.schema.json")
    schema = with_changes(json.loads(path.read_text("utf-8")))
    text = json.dumps(schema, indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    _main()
