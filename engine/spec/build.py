"""From the canonical form to the dataclasses that the compiler and the engine read.

The canonical form is valid and complete, so conversion is by type alone: `msgspec` reads the
dataclasses' annotations. Only fields whose name differs from their key are named here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import msgspec

from orglab.engine.spec.canonical_form import topology_hash
from orglab.engine.spec.model import (
    AuthorityLink,
    EvaluatorUse,
    ForwardLink,
    InputField,
    Limits,
    Link,
    Model,
    Pool,
    Role,
    RoleLimits,
    ToolUse,
    Topology,
)
from orglab.providers.base import JSON

FIELD_NAMES = {
    ForwardLink: {"from": "source", "to": "target"},
    AuthorityLink: {"from": "source", "to": "targets", "review": "phases"},
}
"""Keys of the canonical form whose field has another name."""
_MODEL_FIELDS = frozenset(
    (
        *("provider", "model", "params", "price", "faults", "max_concurrency"),
        *("requests_per_minute", "tokens_per_minute", "timeout_seconds"),
    )
)
_FILES = frozenset(("file", "chat_template"))
_T = TypeVar("_T")


def build(
    canonical: Mapping[str, JSON], folder: Path, teams: Mapping[str, Topology] | None = None
) -> Topology:
    """Return the topology of a canonical form.

    Args:
        canonical: The canonical form.
        folder: The folder of its files.
        teams: The sub-teams of its roles, where they are built already.
    """
    found = _topology(canonical, folder)
    for name, role in canonical["roles"].items():
        if "team" in role:
            form = {**role["team"], "files": canonical["files"]}
            inner = (teams or {}).get(name) or build(form, folder)
            found = with_team(found, name, inner)
    return found


def _topology(form: Mapping[str, JSON], folder: Path) -> Topology:
    tools = form["tools"]
    return Topology(
        name=form["name"],
        hash=topology_hash(form),
        folder=folder,
        inputs={name: _input(name, schema) for name, schema in form["inputs"].items()},
        models={alias: model_of(alias, model, folder) for alias, model in form["models"].items()},
        pools={name: _convert(pool, Pool, name=name) for name, pool in form["pools"].items()},
        tools={use.name: use for name, tool in tools.items() for use in _tool_uses(name, tool)},
        roles={name: _role(name, role, tools) for name, role in form["roles"].items()},
        links=tuple(_link(link) for link in form["links"]),
        start=tuple(form["start"]) if "start" in form else None,
        output=tuple(form["output"]),
        evaluators=tuple(_evaluator(item) for item in form["evaluators"]),
        limits=_convert(form["limits"], Limits),
        templates=_without_remarks(form["templates"]),
        normal=form,
        description=form["description"],
    )


def _convert(part: Mapping[str, JSON], kind: type[_T], **own: object) -> _T:
    return msgspec.convert({**_without_remarks(part), **own}, kind)


def _without_remarks(part: Mapping[str, JSON]) -> dict[str, JSON]:
    return {key: value for key, value in part.items() if not key.startswith("x-")}


def _input(name: str, schema: Mapping[str, JSON]) -> InputField:
    plain = {key: value for key, value in schema.items() if key != "optional"}
    file = schema.get("format") == "file"
    return InputField(name=name, schema=plain, optional=schema["optional"], file=file)


def model_of(alias: str, model: Mapping[str, JSON], folder: Path) -> Model:
    """Return one model from its entry's canonical form; files are relative to ``folder``."""
    plain = _without_remarks(model)
    options = {key: value for key, value in plain.items() if key not in _MODEL_FIELDS}
    for key in _FILES & options.keys():
        options[key] = str((folder / options[key]).resolve())
    known = {key: value for key, value in plain.items() if key in _MODEL_FIELDS}
    if "price" in known:
        known["price"] = _without_remarks(known["price"])
    return _convert(
        known, Model, alias=alias, options=options, faults=_without_remarks(known["faults"])
    )


def _tool_uses(name: str, tool: Mapping[str, JSON]) -> list[ToolUse]:
    """Return the tools of one entry: several where it is a source."""
    settings = _without_remarks(tool["with"])
    if "served" not in tool:
        return [ToolUse(name=name, use=tool["use"], settings=settings)]
    served = tool["served"]
    return [
        ToolUse(
            name=called,
            use=tool["use"],
            settings=settings,
            source=name,
            tool=given["tool"],
            served=served,
        )
        for called, given in served["tools"].items()
    ]


def _role_tools(names: Sequence[str], tools: Mapping[str, JSON]) -> list[str]:
    """Return a role's tools: the name of a source means all tools that it serves."""
    found: dict[str, None] = {}
    for name in names:
        served = tools.get(name, {}).get("served")
        found.update(dict.fromkeys([name] if served is None else served["tools"]))
    return list(found)


def _evaluator(item: Mapping[str, JSON]) -> EvaluatorUse:
    name, arguments = next(iter(item.items()))
    return EvaluatorUse(use=name, arguments=_without_remarks(arguments))


def _role(name: str, role: Mapping[str, JSON], tools: Mapping[str, JSON]) -> Role:
    """Return a role; by hand, since a role may hold a topology, whose links are of two kinds."""
    plain = _without_remarks({key: role[key] for key in role.keys() - {"team", "with"}})
    drawn = isinstance(plain.get("model"), dict)
    own = {
        "model": None if drawn else plain.get("model"),
        "pool": plain["model"]["pool"] if drawn else None,
        "tools": tuple(_role_tools(plain.get("tools", ()), tools)),
        "sees": tuple(plain.get("sees", ("inbox",))),
        "limits": _convert(plain.get("limits", {}), RoleLimits),
        "faults": _without_remarks(plain.get("faults", {})),
        "fill": _without_remarks(role.get("with", {})),
    }
    return Role(name=name, **{**plain, **own})


def _link(link: Mapping[str, JSON]) -> Link:
    kind: type[Link] = ForwardLink if link["kind"] == "forward" else AuthorityLink
    names = FIELD_NAMES[kind]
    plain = {names.get(key, key): value for key, value in _without_remarks(link).items()}
    if "trigger" in plain:
        plain["trigger"] = _trigger(plain["trigger"])
    if stake := plain.get("stake"):
        plain["stake"] = _without_remarks(stake)
    return msgspec.convert(plain, kind)


def _trigger(trigger: JSON) -> dict[str, JSON]:
    if isinstance(trigger, str):
        return {"kind": "never" if trigger == "never" else "judgement"}
    if "probability" in trigger:
        return {"kind": "coin", "probability": trigger["probability"]}
    checks = [_evaluator(item) for item in trigger["checks"]]
    return {"kind": "checks", **_without_remarks(trigger), "checks": checks}


# -- a sub-team in the topology around it


def with_team(outer: Topology, role: str, inner: Topology) -> Topology:
    """Return ``outer`` with ``inner`` as the team of ``role``.

    A model of the team is the outer one with the same entry where there is one, else it stands
    among the outer models as ``ROLE/ALIAS``: so each model is known once in a study.
    """
    models = dict(outer.models)
    names: dict[str, str] = {}
    for alias, model in inner.models.items():
        names[alias] = _alias_of_equal(model, models) or f"{role}/{alias}"
        models.setdefault(names[alias], replace(model, alias=names[alias]))
    team = _with_aliases(inner, names)
    roles = {**outer.roles, role: replace(outer.roles[role], team=team)}
    return replace(outer, roles=roles, models=models)


def _alias_of_equal(model: Model, known: Mapping[str, Model]) -> str | None:
    """Return the alias of a known model with the same entry; its own comes first."""
    first = known.get(model.alias)
    for other in (first, *known.values()):
        if other is not None and replace(model, alias=other.alias) == other:
            return other.alias
    return None


def _with_aliases(topology: Topology, names: Mapping[str, str]) -> Topology:
    """Return a team whose models go by other aliases, in its own sub-teams too."""
    models = {
        names[alias]: replace(model, alias=names[alias]) for alias, model in topology.models.items()
    }
    pools = {
        name: replace(pool, members=tuple(names[alias] for alias in pool.members))
        for name, pool in topology.pools.items()
    }
    roles = {
        name: replace(
            role,
            model=None if role.model is None else names[role.model],
            team=None if role.team is None else _with_aliases(role.team, names),
        )
        for name, role in topology.roles.items()
    }
    return replace(topology, models=models, pools=pools, roles=roles)
