"""The canonical form of a topology, and its hash.

Two documents with the same canonical form are the same spec: extends and text files are put in their
place, defaults filled, maps sorted. ``roles`` and ``links`` keep their written order, and so do the
``properties`` of JSON Schemas, because models write fields in the order in which they are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Final

from orglab.engine.spec.compose.extends import link_id
from orglab.engine.spec.validate.references import meaningless
from orglab.engine.spec.validate.schema import definition
from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import dumps

_UNHASHED: Final = frozenset(
    (
        *("api_key_env", "max_concurrency", "price"),
        *("requests_per_minute", "timeout_seconds", "tokens_per_minute"),
    )
)
"""Fields of a model that cannot change an event."""


# -- the form


def normal_form(
    data: Mapping[str, JSON],
    *,
    name: str,
    files: Mapping[str, str],
    served: Mapping[str, JSON] | None = None,
) -> dict[str, JSON]:
    """Return the canonical form of a sound document.

    Args:
        data: The document: extended, texts put in, evaluators spread out, paths relative to its
            folder.
        name: Its name where it has none.
        files: SHA-256 of each data file that a setting names, by that path; a digest of each
            file of weights, by ``weights_key``.
        served: What each source of tools said, by its name in ``tools``.
    """
    models = data.get("models", {})
    only = next(iter(models)) if len(models) == 1 else None
    found: dict[str, JSON] = {
        "kind": "topology",
        "version": 1,
        "name": data.get("name", name),
        "description": data.get("description", ""),
        "inputs": {key: _input(part) for key, part in sorted(data.get("inputs", {}).items())},
        "models": _each(models, model_form),
        "pools": _each(data.get("pools", {}), lambda pool: _filled(pool, "pool")),
        "tools": _each(data.get("tools", {}), _tool),
        "roles": {key: _role(part, only) for key, part in data["roles"].items()},
        "links": [_link(part) for part in data.get("links", [])],
    }
    for name in found["tools"].keys() & (served or {}).keys():
        found["tools"][name]["served"] = (served or {})[name]
    if "start" in data:
        found["start"] = _names(data["start"])
    found["output"] = _names(data.get("output", []))
    found["evaluators"] = [_evaluator(part) for part in data.get("evaluators", [])]
    found["limits"] = _ordered(_filled(data.get("limits", {}), "limits"))
    found["templates"] = _ordered(data.get("templates", {}))
    found["files"] = dict(sorted(files.items()))
    return {**found, **_remarks(data)}


def _each(parts: Mapping[str, JSON], form: Callable[[JSON], JSON]) -> dict[str, JSON]:
    return {key: form(part) for key, part in sorted(parts.items())}


def _remarks(part: Mapping[str, JSON]) -> dict[str, JSON]:
    return {key: _ordered(part[key]) for key in sorted(part) if key.startswith("x-")}


def _ordered(value: JSON) -> JSON:
    """Return maps sorted by key, at any depth."""
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    return [_ordered(part) for part in value] if isinstance(value, list) else value


def _filled(part: Mapping[str, JSON], name: str) -> dict[str, JSON]:
    """Return a part in the order of its definition, with the defaults that the definition names."""
    found: dict[str, JSON] = {}
    for key, known in definition(name)["properties"].items():
        referred = str(known.get("$ref", "")).removeprefix("#/$defs/")
        whole = {**definition(referred), **known} if referred else known
        if key in part:
            numeric = whole.get("type") in {"integer", "number"}
            found[key] = _plain_number(part[key]) if numeric else part[key]
        elif "default" in whole:
            found[key] = whole["default"]
    return {**found, **_remarks(part)}


def _names(value: JSON) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _input(schema: Mapping[str, JSON]) -> dict[str, JSON]:
    plain = {key: value for key, value in schema.items() if key != "optional"}
    return {**_json_schema(plain), "optional": bool(schema.get("optional", False))}


def model_form(model: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the canonical form of one model's entry: defaults filled, maps sorted."""
    known = _filled(model, "model")
    params = {key: _plain_number(value) for key, value in known["params"].items()}
    faults = _rates(known["faults"])
    return _ordered({**model, **known, "params": params, "faults": faults})  # type: ignore[no-any-return]


def _rates(faults: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the rates of injected faults, sorted."""
    return {key: _plain_number(faults[key]) for key in sorted(faults)}


def _plain_number(value: JSON) -> JSON:
    """Return the whole number that a float stands for, so that 0.0 and 0 are the same."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _tool(tool: Mapping[str, JSON]) -> dict[str, JSON]:
    found = _filled(tool, "tool")
    return {**found, "with": _ordered(found["with"])}


def _role(role: Mapping[str, JSON], only_model: str | None) -> dict[str, JSON]:
    has_model = bool({"model", "vote", "team"} & role.keys())
    with_model = role if has_model or only_model is None else {**role, "model": only_model}
    found = _filled(with_model, "role")
    found["limits"] = _filled(role.get("limits", {}), "role-limits")
    found = {key: value for key, value in found.items() if key not in meaningless(role)}
    for key in {"vars", "with"} & found.keys():
        found[key] = _ordered(found[key])
    if faults := found.pop("faults", {}):
        found["faults"] = _rates(faults)
    if "output" in found:
        found["output"] = _json_schema(found["output"])
    return found


def _evaluator(item: JSON) -> dict[str, JSON]:
    if isinstance(item, str):
        return {item: {}}
    return {key: _ordered(value) for key, value in item.items()}


# -- links


def _link(link: Mapping[str, JSON]) -> dict[str, JSON]:
    form = _forward if link["kind"] == "forward" else _authority
    return {"id": link_id(link), **form(link)}


def _forward(link: Mapping[str, JSON]) -> dict[str, JSON]:
    found = _filled(link, "forward")
    if isinstance(when := found.get("when"), dict):
        found["when"] = {key: _values(when[key]) for key in sorted(when)}
    if "cap" not in found:
        del found["on_cap"]
    return found


def _values(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else [value]


def _authority(link: Mapping[str, JSON]) -> dict[str, JSON]:
    found = _filled(link, "authority")
    found["to"] = _names(found["to"])
    found["review"] = [_filled(phase, "phase") for phase in found["review"]]
    found["trigger"] = _trigger(link.get("trigger", "judgement"))
    if "stake" in found:
        found["stake"] = _filled(found["stake"], "stake")
    return found


def _trigger(trigger: JSON) -> JSON:
    if isinstance(trigger, str):
        return trigger
    if "probability" in trigger:
        return {"probability": _plain_number(trigger["probability"]), **_remarks(trigger)}
    return {
        "checks": [_evaluator(item) for item in trigger["checks"]],
        "voice": trigger.get("voice", "superior"),
        "action": trigger.get("action", "revise"),
        **_remarks(trigger),
    }


# -- JSON Schemas


def _json_schema(schema: JSON) -> JSON:
    """Return keywords sorted; the order of ``properties`` is kept."""
    if not isinstance(schema, dict):
        return schema
    return {key: _keyword(key, schema[key]) for key in sorted(schema)}


def _keyword(key: str, value: JSON) -> JSON:
    if key in {"const", "enum", "default", "examples"}:
        return _ordered(value)
    if key == "properties" and isinstance(value, dict):
        return {name: _json_schema(part) for name, part in value.items()}
    if key in {"$defs", "patternProperties", "dependentSchemas"} and isinstance(value, dict):
        return {name: _json_schema(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_json_schema(part) for part in value]
    return _json_schema(value)


# -- the hash


def topology_hash(normal: Mapping[str, JSON]) -> str:
    """32 hex digits (BLAKE2b) of a canonical form, less what cannot change an event.

    Left out: name, description, ``x-`` keys, evaluators, and of models their prices, rates,
    timeouts, ``max_concurrency`` and the name of the key's variable. Models that no role, pool in
    use or check names count for nothing. A data file counts by its content, not by its path.
    """
    pools = _used_pools(normal)
    hashed_form = {
        "hash": 1,
        "inputs": normal["inputs"],
        "models": {
            alias: _hashed_model(model, normal["files"])
            for alias, model in used_models(normal).items()
        },
        "pools": {name: _without_remarks(normal["pools"][name]) for name in pools},
        "tools": {name: _without_remarks(tool) for name, tool in normal["tools"].items()},
        "roles": [[name, _hashed_role(role, normal)] for name, role in normal["roles"].items()],
        "links": [_hashed_link(link) for link in normal["links"]],
        "start": normal.get("start"),
        "output": normal["output"],
        "limits": _without_remarks(normal["limits"]),
        "templates": _without_remarks(normal["templates"]),
    }
    files = normal["files"]
    by_content = ("models", "tools", "links") if files else ()
    hashed = {**hashed_form, **{key: _contents(hashed_form[key], files) for key in by_content}}
    return blake2b(dumps(hashed).encode(), digest_size=16).hexdigest()


def _without_remarks(part: Mapping[str, JSON]) -> dict[str, JSON]:
    found = {key: value for key, value in part.items() if not key.startswith("x-")}
    return {
        **found,
        **{key: _without_remarks(found[key]) for key in ("limits", "with") if key in found},
    }


def _hashed_role(role: Mapping[str, JSON], normal: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return a role; one that is a team counts by the team's hash."""
    found = _without_remarks(role)
    if isinstance(role.get("team"), dict):
        found["team"] = topology_hash({**role["team"], "files": normal["files"]})
    return found


def _hashed_link(link: Mapping[str, JSON]) -> dict[str, JSON]:
    found = _without_remarks(link)
    for key in ("stake", "trigger"):
        if isinstance(found.get(key), dict):
            found[key] = _without_remarks(found[key])
    if isinstance(found.get("trigger"), dict) and "checks" in found["trigger"]:
        checks = [
            {name: _without_remarks(arguments) for name, arguments in check.items()}
            for check in found["trigger"]["checks"]
        ]
        found["trigger"] = {**found["trigger"], "checks": checks}
    if "review" in found:
        found["review"] = [_without_remarks(phase) for phase in found["review"]]
    return found


def _used_pools(normal: Mapping[str, JSON]) -> list[str]:
    models = [role.get("model") for role in normal["roles"].values()]
    used = {model["pool"] for model in models if isinstance(model, dict)}
    return [name for name in normal["pools"] if name in used]


def used_models(normal: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the models that a role, a pool in use or a check names."""
    pools = _used_pools(normal)
    named = (role.get("model") for role in normal["roles"].values())
    used = {model for model in named if isinstance(model, str)}
    used.update(alias for name in pools for alias in normal["pools"][name]["members"])
    used.update(_texts([link.get("trigger") for link in normal["links"]]))
    return {alias: model for alias, model in normal["models"].items() if alias in used}


def weights_key(name: str) -> str:
    """Return the name in ``files`` of a model's weights."""
    return f"weights:{name}"


def _hashed_model(model: Mapping[str, JSON], files: Mapping[str, str]) -> dict[str, JSON]:
    found = {key: value for key, value in _without_remarks(model).items() if key not in _UNHASHED}
    weights = files.get(weights_key(model.get("file") or model["model"]))
    if weights is not None:
        found["weights"] = weights
    if weights is not None or model["model"].endswith(".gguf"):
        found.pop("file", None)  # where they lie is no part of them; the name that was written is
    return found


def _texts(value: JSON) -> set[str]:
    """Return every text in a value: a check may name a model in its arguments."""
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return {text for part in parts for text in _texts(part)}
    return {value} if isinstance(value, str) else set()


def _contents(value: JSON, files: Mapping[str, str]) -> JSON:
    if isinstance(value, dict):
        return {key: _contents(part, files) for key, part in value.items()}
    if isinstance(value, list):
        return [_contents(part, files) for part in value]
    return f"sha256:{files[value]}" if isinstance(value, str) and value in files else value
