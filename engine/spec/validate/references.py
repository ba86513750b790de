"""Names that point somewhere: roles, models, pools, tools, links, inputs. All dangling ones at once.

The document may have other errors: what has not the right form is left to the schema's check.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from orglab.engine.spec.compose.extends import link_id
from orglab.engine.spec.errors import Problem, SpecPath
from orglab.engine.spec.messages import did_you_mean, listed, nearest
from orglab.engine.spec.validate.schema import definition
from orglab.engine.spec.validate.tool_sources import gives
from orglab.providers.base import JSON
from orglab.providers.registry import plugin_names

_SECTIONS: Final = {"roles": "role", "models": "model", "pools": "pool", "tools": "tool"}
"""What others name, and how one of each is called."""
RESERVED_INPUTS: Final = frozenset((
    "actions", "blackboard", "caller", "copy", "cycler", "dict", "directive", "draft", "entry",
    "false", "findings", "inbox", "joiner", "latest", "lipsum", "loop", "namespace", "none",
    "null", "outputs", "own", "range", "reviewed", "role", "self", "sight", "stake", "super",
    "tool", "true", "uses_left", "vars", "verdicts", "visit", "False", "None", "True", "and",
    "as", "block", "break", "call", "continue", "do", "elif", "else", "endif", "endfor",
    "extends", "filter", "for", "from", "if", "import", "in", "include", "is", "macro", "not",
    "or", "recursive", "set", "trans", "with", "without",
))  # fmt: skip
"""Template variables and words of the engine and of Jinja: no names for inputs."""

_OF_MODELS: Final = ("system", "prompt", "model", "tools", "output", "limits", "faults")
"""Fields of a role that mean nothing where no model takes its turns."""
_NO_MODEL: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "vote": ("votes: it asks no model", (*_OF_MODELS, "vars", "sees", "replicas", "with", "team")),
    "team": ("is a team: its own roles say that", _OF_MODELS),
}
"""Roles without a model of their own: what they are, and the fields that mean nothing there."""


def items(value: JSON) -> Iterator[tuple[Any, JSON]]:
    """Yield keys and values of a map, indexes and items of a list; nothing for anything else."""
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def maps(value: JSON) -> Iterator[tuple[Any, Mapping[str, JSON]]]:
    """Return those of ``items`` that are maps."""
    return ((key, part) for key, part in items(value) if isinstance(part, dict))


def _texts(value: JSON, path: SpecPath) -> Iterator[tuple[SpecPath, str]]:
    """Yield a name, or the names of a list, each with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for index, part in enumerate(value):
            if isinstance(part, str):
                yield (*path, index), part


def name_problems(
    data: Mapping[str, JSON], *, models_known: bool = True, catalogue: str = ""
) -> list[Problem]:
    """Return every name that points nowhere, stands twice, or is taken.

    Args:
        data: The document, extended.
        models_known: False where a catalogue could not be read, so that no alias can be wrong.
        catalogue: The catalogue that is in place of the document's models, if one does.
    """
    known = {section: _keys(data, section) for section in _SECTIONS}
    found = [*_roles(data, known, models_known=models_known), *_links(data, known["roles"])]
    found += _ends(data, known["roles"])
    if models_known:
        found += _pools(data, known["models"])
    lost = tuple(f"there is no {one} `" for many, one in _SECTIONS.items() if _is_lost(data, many))
    found = [problem for problem in found if not problem.wrong.startswith(lost)]
    if catalogue:
        found = [_of_catalogue(problem, catalogue) for problem in found]
    return [*found, *_inputs(data), *_twins(data)]


def _is_lost(data: Mapping[str, JSON], section: str) -> bool:
    """Return whether the section has a misspelt key, which is an error itself; so no name in it is known."""
    fields = definition("topology")["properties"]
    return section not in data and any(
        nearest(key, [section]) for key in data if key not in fields and key[:2] != "x-"
    )


def _of_catalogue(problem: Problem, catalogue: str) -> Problem:
    if not problem.wrong.startswith("there is no model"):
        return problem
    hint = f"add it to {catalogue}, or call one entry there `default`, which serves every other"
    return replace(problem, expected=problem.hint, hint=hint)


def _keys(data: Mapping[str, JSON], section: str) -> list[str]:
    found = data.get(section)
    return list(found) if isinstance(found, dict) else []


def _unknown(what: str, name: str, known: Iterable[str], path: SpecPath) -> Problem:
    names = list(known)
    return Problem(path=path, wrong=f"there is no {what} `{name}`", hint=did_you_mean(name, names))


# -- roles


def _roles(
    data: Mapping[str, JSON], known: Mapping[str, list[str]], *, models_known: bool
) -> Iterator[Problem]:
    for name, role in maps(data.get("roles")):
        at: SpecPath = ("roles", name)
        for path, tool in _texts(_listed(role.get("tools")), (*at, "tools")):
            if tool not in known["tools"] and not gives(data.get("tools"), tool):
                yield _unknown_tool(tool, known["tools"], path)
        for path, sight in _texts(_listed(role.get("sees")), (*at, "sees")):
            other = sight.removeprefix("role:")
            if other != sight and other and other not in known["roles"]:
                yield _unknown("role", other, known["roles"], path)
        if models_known:
            yield from _model(role, known, at)
        yield from _without_model(role, at)


def _listed(value: JSON) -> JSON:
    return value if isinstance(value, list) else None


def _unknown_tool(name: str, known: list[str], path: SpecPath) -> Problem:
    problem = _unknown("tool", name, known, path)
    if known:
        return problem
    installed = plugin_names("orglab.tools")
    use = name if name in installed else nearest(name, installed) or "TOOL"
    hint = (
        f"the document declares no tools: write `tools: {{{name}: {{use: {use}, with: {{…}}}}}}`, with "
        "the settings of that tool"
    )
    return Problem(path=path, wrong=problem.wrong, hint=hint)


def meaningless(role: Mapping[str, JSON]) -> tuple[str, ...]:
    """Return fields that have no meaning for a role, because no model takes its turns."""
    return next((fields for kind, (_, fields) in _NO_MODEL.items() if kind in role), ("with",))


def _without_model(role: Mapping[str, JSON], at: SpecPath) -> Iterator[Problem]:
    kind = next((kind for kind in _NO_MODEL if kind in role), None)
    for key in meaningless(role):
        if key in role:
            wrong = "`with` fills the inputs of a role's `team`, and this role is none"
            if kind is not None:
                wrong = f"`{key}` means nothing for a role that {_NO_MODEL[kind][0]}"
            yield Problem(path=(*at, key), wrong=wrong, hint="remove it", at_key=True)


def _model(
    role: Mapping[str, JSON], known: Mapping[str, list[str]], at: SpecPath
) -> Iterator[Problem]:
    model = role.get("model")
    pool = model.get("pool") if isinstance(model, dict) else None
    if isinstance(pool, str) and pool not in known["pools"]:
        yield _unknown("pool", pool, known["pools"], (*at, "model", "pool"))
    if isinstance(model, str) and model not in known["models"]:
        yield _unknown_model(model, known, (*at, "model"))
    if "model" not in role and len(known["models"]) != 1 and not _NO_MODEL.keys() & role.keys():
        wrong = "`model` is required, and the document has no models"
        if known["models"]:
            wrong = f"`model` is required, and the document has {len(known['models'])} models"
        hint = f"write `model: {known['models'][0]}`, say" if known["models"] else "add `models`"
        yield Problem(path=(*at, "model"), wrong=wrong, expected=_there(known), hint=hint)


def _there(known: Mapping[str, list[str]]) -> str:
    return listed(known["models"]) if known["models"] else ""


def _unknown_model(name: str, known: Mapping[str, list[str]], path: SpecPath) -> Problem:
    if name in known["pools"]:
        wrong = f"`{name}` is a pool, not a model"
        return Problem(path=path, wrong=wrong, hint=f"write {{pool: {name}}}")
    return _unknown("model", name, known["models"], path)


# -- links


def _links(data: Mapping[str, JSON], roles: list[str]) -> Iterator[Problem]:
    names = set(roles)
    for index, link in maps(data.get("links")):
        at: SpecPath = ("links", index)
        for key in ("from", "to", "target"):
            for path, name in _texts(link.get(key), (*at, key)):
                if name not in names:
                    yield _unknown("role", name, roles, path)


def _ends(data: Mapping[str, JSON], roles: list[str]) -> Iterator[Problem]:
    for key in ("start", "output"):
        for path, name in _texts(data.get(key), (key,)):
            if name not in roles:
                yield _unknown("role", name, roles, path)


def _pools(data: Mapping[str, JSON], models: list[str]) -> Iterator[Problem]:
    for name, pool in maps(data.get("pools")):
        for path, alias in _texts(_listed(pool.get("members")), ("pools", name, "members")):
            if alias not in models:
                yield _unknown("model", alias, models, path)


def _twins(data: Mapping[str, JSON]) -> Iterator[Problem]:
    """Yield links with the same id, equal ones among them."""
    first: dict[str, tuple[int, str]] = {}
    for index, link in maps(data.get("links")):
        own, text = link_id(link), json.dumps(link, sort_keys=True)
        if own is None:
            continue
        if own not in first:
            first[own] = (index, text)
            continue
        at, other = first[own]
        if other == text:
            wrong, hint = f"the link is the same as links[{at}] in every field", "remove one"
        else:
            wrong = f"the id `{own}` is taken by links[{at}]"
            hint = "give one of them an `id` of its own"
        yield Problem(path=("links", index), wrong=wrong, hint=hint)


# -- inputs


def _inputs(data: Mapping[str, JSON]) -> Iterator[Problem]:
    for name, schema in items(data.get("inputs")):
        at: SpecPath = ("inputs", name)
        if name in RESERVED_INPUTS:
            wrong = f"`{name}` is a variable or word of templates already"
            yield Problem(path=at, wrong=wrong, hint="choose another name", at_key=True)
        if isinstance(schema, dict) and "default" in schema:
            yield Problem(
                path=(*at, "default"),
                wrong="a default is not put in for an input",
                hint=f"write `optional: true`, and {{{{ {name} or '…' }}}} in templates",
                at_key=True,
            )
        if isinstance(schema, dict) and schema.get("format") == "file":
            yield from _file_input(schema, at)


def _file_input(schema: Mapping[str, JSON], at: SpecPath) -> Iterator[Problem]:
    if schema.get("type") != "string":
        wrong = "an input of `format: file` is the path of a file"
        yield Problem(path=at, wrong=wrong, hint="write `type: string`")
