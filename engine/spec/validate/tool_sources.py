"""Tools from elsewhere in a spec: refused without trust, else asked once and frozen.

The canonical form of such a tool holds, beside what the author wrote, what its source said:
``served: {what: …, tools: {NAME: {tool, description, parameters, fixed}}}``, where ``fixed`` names the
arguments that the spec gives in place of the model.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, cast

from orglab.engine.spec.errors import Problem, SpecPath
from orglab.engine.spec.messages import did_you_mean
from orglab.providers.base import JSON
from orglab.providers.registry import load_plugin, plugin_names
from orglab.providers.tool_source import Served, ServedTool, ToolSource

ARGUMENTS: Final = "arguments"
"""The setting of every source that fixes arguments of its tools; the only one with templates."""

_LONGEST: Final = 64
_STRANGE: Final = re.compile(r"[^A-Za-z0-9_-]")
"""What providers do not take in the name of a tool."""


def gives_many(use: JSON) -> bool:
    """Return whether ``use`` names an installed source of several tools."""
    if not isinstance(use, str) or use not in plugin_names("orglab.tools"):
        return False
    try:
        found = load_plugin("orglab.tools", use)
    except (ImportError, AttributeError):
        return False
    return issubclass(found, ToolSource) and found.many


def gives(tools: JSON, name: str) -> bool:
    """Return whether ``name`` could be a tool of one of the declared sources: ``files_read`` of ``files``."""
    return isinstance(tools, dict) and any(
        isinstance(source, str)
        and name.startswith(f"{source}_")
        and isinstance(tool, dict)
        and gives_many(tool.get("use"))
        for source, tool in tools.items()
    )


def trust_problem(use: str, cls: type[ToolSource], path: SpecPath) -> Problem:
    """Return the refusal of a source in a spec that the user has not said to trust."""
    return Problem(
        path=path,
        wrong=f"`{use}` {cls.risk}, which a spec may do only where you trust it",
        hint="read the spec and what it names; then add --trust to the command",
    )


def made_source(cls: type[ToolSource], settings: Mapping[str, JSON]) -> ToolSource:
    """Return a source with its settings.

    Raises:
        ValueError: They do not go together, in words.
    """
    known = {field.name for field in fields(cast("Any", cls)) if field.init}
    return cls(**{key: value for key, value in settings.items() if key in known})


def ask_source(
    name: str, cls: type[ToolSource], settings: Mapping[str, JSON], folder: Path
) -> dict[str, JSON]:
    """Return what the source declared as ``name`` is and gives: the ``served`` of its canonical form.

    Raises:
        ValueError: It cannot be asked, or its tools cannot be named; in words.
    """
    served = made_source(cls, settings).served(folder)
    fixed = settings.get(ARGUMENTS) or {}
    _refuse_unknown(fixed, served)
    tools: dict[str, JSON] = {}
    for tool in served.tools:
        called = _called(f"{name}_{tool.name}") if cls.many else name
        if called in tools:
            raise ValueError(
                f"two of its tools would be called `{called}`: leave one out with `only`"
            )
        tools[called] = {
            "tool": tool.name,
            "description": tool.description,
            "parameters": without_fixed(tool.parameters, fixed),
            "fixed": sorted(key for key in fixed if key in _properties(tool)),
        }
    return {"what": dict(served.what), "tools": tools}


def _called(name: str) -> str:
    """Return the name by which models call a tool: letters, digits, ``_`` and ``-``, at most 64."""
    called = _STRANGE.sub("_", name)
    if len(called) > _LONGEST:
        raise ValueError(
            f"its tool would be called `{called}`, which is longer than the {_LONGEST} characters "
            "that models' servers take: give the source a shorter name, or leave it out with `only`"
        )
    return called


def _refuse_unknown(fixed: Mapping[str, JSON], served: Served) -> None:
    known = {key for tool in served.tools for key in _properties(tool)}
    for key in fixed:
        if key not in known:
            raise ValueError(
                f"`{ARGUMENTS}` fixes `{key}`, which none of its tools takes; "
                f"{did_you_mean(key, sorted(known))}"
            )


def _properties(tool: ServedTool) -> Mapping[str, JSON]:
    found: Mapping[str, JSON] = tool.parameters.get("properties", {})
    return found


def without_fixed(parameters: Mapping[str, JSON], fixed: Collection[str]) -> dict[str, JSON]:
    """Return parameters without those that the spec fixes: no model is asked for them."""
    if not fixed:
        return dict(parameters)
    properties = parameters.get("properties", {})
    left = {key: part for key, part in properties.items() if key not in fixed}
    found = {**parameters, "properties": left}
    if "required" in parameters:
        found["required"] = [key for key in parameters["required"] if key not in fixed]
    return found


def role_problems(
    tools: Sequence[JSON], declared: JSON, served: Mapping[str, Mapping[str, JSON]], path: SpecPath
) -> Iterator[Problem]:
    """Yield tools of a role that no source gives, where the sources have been asked.

    Args:
        tools: The role's ``tools``.
        declared: The document's ``tools``.
        served: What each source that could be asked said.
        path: The path of the role's ``tools``.
    """
    names = [called for said in served.values() for called in said["tools"]]
    for index, tool in enumerate(tools):
        if not isinstance(tool, str) or tool in names:
            continue
        if isinstance(declared, dict) and tool in declared:
            continue
        sources = [source for source in served if tool.startswith(f"{source}_")]
        if sources:
            wrong = f"`{sources[0]}` gives no tool `{tool}`"
            yield Problem(path=(*path, index), wrong=wrong, hint=did_you_mean(tool, names))


def name_clashes(declared: JSON, served: Mapping[str, Mapping[str, JSON]]) -> Iterator[Problem]:
    """Yield tools of sources that would have the name of something else."""
    seen = {name: name for name in declared} if isinstance(declared, dict) else {}
    for source, said in served.items():
        for called in said["tools"]:
            if seen.get(called, source) != source:
                wrong = f"its tool `{called}` has the name of a tool of `{seen[called]}`"
                hint = "give one of the two another name"
                yield Problem(path=("tools", source), wrong=wrong, hint=hint, at_key=True)
            seen[called] = source
