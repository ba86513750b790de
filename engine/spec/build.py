"""From the normal form to the dataclasses that the compiler and the engine read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from orglab.engine.spec.canonical_form import topology_hash
from orglab.engine.spec.compose.subteams_merge import with_team
from orglab.engine.spec.model import (
    AuthorityLink,
    EvaluatorUse,
    ForwardLink,
    InputField,
    Limits,
    Link,
    Model,
    Phase,
    Pool,
    Price,
    Role,
    RoleLimits,
    Stake,
    ToolUse,
    Topology,
    Trigger,
)
from orglab.providers.base import JSON

__all__ = ["build", "model_of"]


_MODEL_FIELDS = (
    "max_concurrency",
    "requests_per_minute",
    "tokens_per_minute",
    "timeout_seconds",
)
_FILES = frozenset(("file", "chat_template"))
_NO_OPTIONS = frozenset(("provider", "model", "params", "price", "faults", *_MODEL_FIELDS))


def build(
    normal: Mapping[str, JSON], folder: Path, teams: Mapping[str, Topology] | None = None
) -> Topology:
    """The topology of a normal form whose files lie in ``folder``.

    Args:
        normal: The normal form.
        folder: The folder of its files.
        teams: The teams of its roles, where they are built already.
    """
    found = _built(normal, folder)
    for name, role in normal["roles"].items():
        if "team" in role:
            inner = (teams or {}).get(name) or build(_whole(role["team"], normal), folder)
            found = with_team(found, name, inner)
    return found


def _whole(team: Mapping[str, JSON], normal: Mapping[str, JSON]) -> dict[str, JSON]:
    """The normal form of a team within, with the data files that stand in the outer one."""
    return {**team, "files": normal["files"]}


def _built(normal: Mapping[str, JSON], folder: Path) -> Topology:
    return Topology(
        name=normal["name"],
        hash=topology_hash(normal),
        folder=folder,
        inputs={name: _input(name, schema) for name, schema in normal["inputs"].items()},
        models={alias: model_of(alias, model, folder) for alias, model in normal["models"].items()},
        pools={name: _pool(name, pool) for name, pool in normal["pools"].items()},
        tools={
            use.name: use for name, tool in normal["tools"].items() for use in _tools(name, tool)
        },
        roles={name: _role(name, role, normal["tools"]) for name, role in normal["roles"].items()},
        links=tuple(_link(link) for link in normal["links"]),
        start=tuple(normal["start"]) if "start" in normal else None,
        output=tuple(normal["output"]),
        evaluators=tuple(_evaluator(item) for item in normal["evaluators"]),
        limits=Limits(**_plain(normal["limits"])),
        templates=_plain(normal["templates"]),
        normal=normal,
        description=normal["description"],
    )


def _plain(part: Mapping[str, JSON]) -> dict[str, JSON]:
    return {key: value for key, value in part.items() if not key.startswith("x-")}


def _input(name: str, schema: Mapping[str, JSON]) -> InputField:
    plain = {key: value for key, value in schema.items() if key != "optional"}
    file = schema.get("format") == "file"
    return InputField(name=name, schema=plain, optional=schema["optional"], file=file)


def model_of(alias: str, model: Mapping[str, JSON], folder: Path) -> Model:
    """One model from its entry's normal form; files are relative to ``folder``."""
    plain = _plain(model)
    options = {key: value for key, value in plain.items() if key not in _NO_OPTIONS}
    for key in _FILES & options.keys():
        options[key] = str((folder / options[key]).resolve())
    return Model(
        alias=alias,
        provider=plain["provider"],
        model=plain["model"],
        params=plain["params"],
        options=options,
        price=Price(**_plain(plain["price"])) if "price" in plain else None,
        faults=_plain(plain["faults"]),
        **{key: plain[key] for key in _MODEL_FIELDS if key in plain},
    )


def _pool(name: str, pool: Mapping[str, JSON]) -> Pool:
    return Pool(name=name, **{**_plain(pool), "members": tuple(pool["members"])})


def _tools(name: str, tool: Mapping[str, JSON]) -> list[ToolUse]:
    """The tools of one entry: several where it is a source."""
    settings = _plain(tool["with"])
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


def _role_tools(names: Sequence[str], tools: Mapping[str, JSON]) -> tuple[str, ...]:
    """A role's tools: the name of a source stands for all that it gives."""
    found: dict[str, None] = {}
    for name in names:
        served = tools.get(name, {}).get("served")
        found.update(dict.fromkeys([name] if served is None else served["tools"]))
    return tuple(found)


def _evaluator(item: Mapping[str, JSON]) -> EvaluatorUse:
    name, arguments = next(iter(item.items()))
    return EvaluatorUse(use=name, arguments=_plain(arguments))


def _role(name: str, role: Mapping[str, JSON], tools: Mapping[str, JSON]) -> Role:
    model = role.get("model")
    return Role(
        name=name,
        system=role.get("system", ""),
        prompt=role.get("prompt"),
        vars=role.get("vars", {}),
        model=model if isinstance(model, str) else None,
        pool=model["pool"] if isinstance(model, dict) else None,
        tools=_role_tools(role.get("tools", ()), tools),
        sees=tuple(role.get("sees", ("inbox",))),
        output=role.get("output"),
        join=role["join"],
        replicas=role.get("replicas", 1),
        on_error=role["on_error"],
        limits=RoleLimits(**_plain(role.get("limits", {}))),
        faults=_plain(role.get("faults", {})),
        vote=role.get("vote"),
        fill=_plain(role.get("with", {})),
    )


# -- links


def _link(link: Mapping[str, JSON]) -> Link:
    return _forward(link) if link["kind"] == "forward" else _authority(link)


def _forward(link: Mapping[str, JSON]) -> ForwardLink:
    when = link.get("when")
    if isinstance(when, dict):
        when = {field: tuple(values) for field, values in when.items()}
    return ForwardLink(
        id=link["id"],
        source=link["from"],
        target=link["to"],
        when=when,
        cap=link.get("cap"),
        on_cap=link.get("on_cap", "stop"),
        each=link.get("each"),
    )


def _authority(link: Mapping[str, JSON]) -> AuthorityLink:
    stake = link.get("stake")
    return AuthorityLink(
        id=link["id"],
        source=link["from"],
        targets=tuple(link["to"]),
        cap=link["cap"],
        phases=tuple(
            Phase(actions=tuple(phase["actions"]), prompt=phase.get("prompt"))
            for phase in link["review"]
        ),
        sees=link["sees"],
        trigger=_trigger(link["trigger"]),
        directive=link.get("directive"),
        target=link.get("target"),
        reviews=link.get("reviews"),
        on_cap=link["on_cap"],
        stake=Stake(**{key: float(value) for key, value in _plain(stake).items()})
        if stake
        else None,
    )


def _trigger(trigger: JSON) -> Trigger:
    if isinstance(trigger, str):
        return Trigger(kind="never" if trigger == "never" else "judgement")
    if "probability" in trigger:
        return Trigger(kind="coin", probability=float(trigger["probability"]))
    return Trigger(
        kind="checks",
        checks=tuple(_evaluator(item) for item in trigger["checks"]),
        voice=trigger["voice"],
        action=trigger["action"],
    )
