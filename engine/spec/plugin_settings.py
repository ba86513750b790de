"""Settings of plugins against the plugins themselves: tools, evaluators, providers."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from orglab.engine.spec.compose.sources import Sources
from orglab.engine.spec.errors import Problem, SpecPath
from orglab.engine.spec.messages import did_you_mean, got
from orglab.engine.spec.validate.path_confinement import FileRefused, confined_file
from orglab.engine.spec.validate.references import items, maps
from orglab.engine.spec.validate.schema import definition
from orglab.engine.spec.validate.secrets import secret_problems
from orglab.engine.spec.validate.tool_sources import (
    ARGUMENTS,
    ask_source,
    name_clashes,
    role_problems,
    trust_problem,
)
from orglab.engine.spec.yaml.source_map import Marks
from orglab.evaluators.base import OutputEvaluator
from orglab.providers.base import JSON, Provider
from orglab.providers.hosted.account import key_risk
from orglab.providers.registry import Group, load_plugin, plugin_names
from orglab.providers.tool_source import ToolSource

_Hint: TypeAlias = Any
"""What stands after the colon of a field: a type, a union, a generic."""

WEIGHTS = ".gguf"
"""How a file of model weights ends."""

_OF_PROVIDERS = frozenset({"file", "profile", "n_ctx", "n_threads", "chat_template"})
"""Options of shipped providers that the schema describes for editors."""

_FILE_OPTIONS = ("file", "chat_template")
_SELF_CONTAINED = frozenset({"simulated"})
"""Providers whose options can be tried at once: they need nothing of the machine."""

_SURE = 0.8
"""How near a key must be to a common one to be a misspelling, where options are not declared."""

_BASIC: Mapping[Any, tuple[type, ...]] = {
    str: (str,),
    int: (int,),
    float: (int, float),
    bool: (bool,),
    type(None): (type(None),),
}

_TYPE_WORDS: Mapping[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Path: "the path of a file",
}


def is_template(value: JSON) -> bool:
    """Return whether a setting is rendered before it is used, so that its value is not known yet."""
    return isinstance(value, str) and ("{{" in value or "{%" in value)


def holds_template(value: JSON) -> bool:
    """Return whether a text in a setting, at any depth, is a template."""
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return any(holds_template(part) for part in parts)
    return is_template(value)


def evaluator_places(data: Mapping[str, JSON]) -> Iterator[tuple[SpecPath, JSON, bool]]:
    """Yield every evaluator written in a document: its path, itself, whether it is a check."""
    for index, item in items(data.get("evaluators")):
        if isinstance(index, int):
            yield ("evaluators", index), item, False
    for number, link in maps(data.get("links")):
        trigger = link.get("trigger")
        for index, item in items(trigger.get("checks") if isinstance(trigger, dict) else None):
            if isinstance(index, int):
                yield ("links", number, "trigger", "checks", index), item, True


def spread(item: JSON) -> tuple[str, JSON] | None:
    """Return an evaluator's name and what stands beside it; None where the form is wrong."""
    if isinstance(item, str):
        return item, {}
    if isinstance(item, dict) and len(item) == 1:
        return next(iter(item.items()))
    return None


def short_field(cls: type) -> str | None:
    """Return the field that ``{name: arg}`` sets: the evaluator's first own one, if it has any."""
    inherited = {field.name for field in fields(OutputEvaluator)}
    return next((one.name for one in _fields(cls) if one.name not in inherited), None)


def weights_file(provider: str, model: str, options: Mapping[str, JSON]) -> Path | None:
    """Return the file of weights that an entry means; None where there is none on this machine."""
    kind: type[Provider] = load_plugin("orglab.providers", provider)
    return kind.weights(model, options)


@dataclass(kw_only=True)
class PluginCheck:
    """Checks what a document says to plugins, and finds the files it names.

    Attributes:
        marks: Where each part was written, which reports what its paths are relative to.
        sources: The files that were read.
        problems: What is wrong.
        files: The real path of each file that a setting names, by the setting's path.
        arguments: The arguments of each evaluator by its path, short forms spread out.
        trust: The user trusts the spec: what it names may be run.
        served: What each source of tools said, by its name in ``tools``.
        inner_roles: Names of the roles of sub-teams, ``ROLE/NAME``.
    """

    marks: Marks
    sources: Sources
    problems: list[Problem]
    files: dict[SpecPath, Path]
    arguments: dict[SpecPath, Mapping[str, JSON]]
    trust: bool = False
    served: dict[str, Mapping[str, JSON]] = field(default_factory=dict)
    inner_roles: Sequence[str] = ()

    def document(self, data: Mapping[str, JSON]) -> None:
        """Check tools, evaluators, checks and models of a document."""
        for name, tool in maps(data.get("tools")):
            self._tool(tool, ("tools", name))
        self._names_served(data)
        roles = data.get("roles")
        known = [*(roles if isinstance(roles, dict) else ()), *self.inner_roles]
        for path, item, check in evaluator_places(data):
            self._evaluator(item, path, known, check=check)
        for alias, model in maps(data.get("models")):
            self._model(model, ("models", alias))

    def _tool(self, tool: Mapping[str, JSON], path: SpecPath) -> None:
        settings = tool.get("with", {})
        cls = self._plugin("orglab.tools", tool.get("use"), (*path, "use"))
        if cls is None or not isinstance(settings, dict):
            return
        before = len(self.problems)
        if issubclass(cls, ToolSource) and not self.trust:
            self.problems.append(trust_problem(str(tool["use"]), cls, (*path, "use")))
        self._settings(cls, settings, (*path, "with"))
        if issubclass(cls, ToolSource) and len(self.problems) == before:
            self._ask_source(cls, settings, path)

    def _ask_source(
        self, cls: type[ToolSource], settings: Mapping[str, JSON], path: SpecPath
    ) -> None:
        """Ask a trusted source what it gives, which is part of the spec from now on."""
        name = str(path[1])
        for key, value in settings.items():
            if key != ARGUMENTS and holds_template(value):
                wrong = f"`{key}` is the same for all units, so it can be no template"
                self._tell((*path, "with", key), wrong, hint=f"put templates into `{ARGUMENTS}`")
                return
        try:
            plain = {key: value for key, value in settings.items() if not key.startswith("x-")}
            folder = self.sources.folder.resolve()
            self.served[name] = ask_source(name, cls, plain, folder)
        except ValueError as refused:
            self._tell((*path, "with"), " ".join(str(refused).split()))

    def _names_served(self, data: Mapping[str, JSON]) -> None:
        tools = data.get("tools")
        self.problems += name_clashes(tools, self.served)
        for role, written in maps(data.get("roles")):
            named = written.get("tools")
            if isinstance(named, list):
                path = ("roles", role, "tools")
                self.problems += role_problems(named, tools, self.served, path)

    def _evaluator(self, item: JSON, path: SpecPath, roles: Sequence[str], *, check: bool) -> None:
        named = spread(item)
        if named is None:
            return
        name, value = named
        inner = path if isinstance(item, str) else (*path, name)
        cls = self._plugin("orglab.evaluators", name, inner, at_key=not isinstance(item, str))
        if cls is None:
            return
        arguments = self._arguments(cls, name, value, inner)
        self.arguments[path] = arguments
        if check and not issubclass(cls, OutputEvaluator):
            wrong = f"`{name}` measures whole runs, so it cannot be a check of one output"
            self._tell(inner, wrong, hint="choose another, or put it under `evaluators`")
        self._settings(cls, arguments, inner)
        self._role_argument(cls, arguments, inner, roles)

    def _role_argument(
        self, cls: type, arguments: Mapping[str, JSON], path: SpecPath, roles: Sequence[str]
    ) -> None:
        role = arguments.get("role")
        if "role" not in {field.name for field in _fields(cls)} or not isinstance(role, str):
            return
        if role.partition("#")[0] not in roles and not is_template(role):
            hint = did_you_mean(role, roles)
            self._tell((*path, "role"), f"there is no role `{role}`", hint=hint)

    def _arguments(self, cls: type, name: str, value: JSON, path: SpecPath) -> Mapping[str, JSON]:
        """Return ``{name: arg}`` sets the first field of the evaluator's own."""
        if isinstance(value, dict):
            return value
        own = short_field(cls)
        if own is None:
            self._tell(path, f"`{name}` takes no argument", hint=f"write `{name}` alone")
            return {}
        return {own: value}

    # -- models

    def _model(self, model: Mapping[str, JSON], path: SpecPath) -> None:
        self.problems += secret_problems(model, path)
        cls = self._plugin("orglab.providers", model.get("provider"), (*path, "provider"))
        if cls is None:
            return
        self._options(cls, model, path)
        self._key(model, path)
        allowed = cls.parameters
        params = model.get("params")
        for name in params if isinstance(params, dict) and allowed is not None else ():
            if name not in allowed:
                wrong = f"unknown parameter `{name}` for provider `{model['provider']}`"
                hint = did_you_mean(name, sorted(allowed))
                self._tell((*path, "params", name), wrong, hint=hint, at_key=True)

    def _key(self, model: Mapping[str, JSON], path: SpecPath) -> None:
        """Refuse to send the user's key to a server that an untrusted spec names."""
        typed = self.sources.origin(self.marks.value(path).file).typed
        if not self.trust and not typed and (risk := key_risk(model)):
            hint = "where you trust the spec add --trust, or give a catalogue of yours by --models"
            self._tell((*path, "base_url"), risk, hint=hint)

    def _options(self, cls: type, model: Mapping[str, JSON], path: SpecPath) -> None:
        """Keys beyond those that every model has: by the provider's ``options``, if it has any."""
        common = list(definition("model")["properties"])
        options = getattr(cls, "options", None)
        if options is not None:
            common = [key for key in common if key not in _OF_PROVIDERS]
        for key in model:
            if key in common or key.startswith("x-") or (options and key in options):
                continue
            if options is not None or get_close_matches(key, common, n=1, cutoff=_SURE):
                hint = did_you_mean(key, [*common, *sorted(options or ())])
                self._tell((*path, key), f"unknown key {key}", hint=hint, at_key=True)
        self._model_files(model, path)
        if model.get("provider") in _SELF_CONTAINED:
            self._try_options(cls, model, path)

    def _model_files(self, model: Mapping[str, JSON], path: SpecPath) -> None:
        for key in ("model", *_FILE_OPTIONS):
            name = model.get(key)
            if not isinstance(name, str):
                continue
            if name.lower().endswith(WEIGHTS) or (key == "model" and _names_weights(model)):
                self._weights(name, (*path, key))
            elif key != "model":
                self._file(name, (*path, key))

    def _weights(self, name: str, path: SpecPath) -> None:
        """Weights seldom lie beside a spec: in a catalogue that the user names, they may be anywhere."""
        origin = self.sources.origin(self.marks.value(path).file)
        if not origin.typed:
            self._file(name, path)
            return
        file = (origin.folder / Path(name).expanduser()).resolve()
        if file.is_file():
            self.files[path] = file
        else:
            self._tell(path, f"{name}: there is no such file")

    def _try_options(self, cls: type[Any], model: Mapping[str, JSON], path: SpecPath) -> None:
        options = {key: model[key] for key in ("profile",) if key in model}
        name = model.get("model", "")
        try:
            cls.from_spec(name if isinstance(name, str) else "", options)
        except ValueError as error:
            key = "profile" if "profile" in model else "model"
            self._tell((*path, key), " ".join(str(error).split()))

    # -- plugins and their fields

    def _plugin(
        self, group: Group, name: JSON, path: SpecPath, *, at_key: bool = False
    ) -> type[Any] | None:
        if not isinstance(name, str):
            return None
        what = group.removeprefix("orglab.").removesuffix("s")
        names = plugin_names(group)
        if name not in names:
            wrong = f"no {what} `{name}` is installed"
            self._tell(path, wrong, hint=did_you_mean(name, names), at_key=at_key)
            return None
        try:
            return load_plugin(group, name)
        except (ImportError, AttributeError) as error:
            words = " ".join(str(error).split())
            self._tell(path, f"the {what} `{name}` cannot be loaded: {words}", at_key=at_key)
            return None

    def _settings(self, cls: type, settings: Mapping[str, JSON], path: SpecPath) -> None:
        if not is_dataclass(cls):
            return
        known = {field.name: field for field in _fields(cls)}
        hints = _hints(cls)
        for name, value in settings.items():
            if name not in known:
                if not name.startswith("x-"):
                    hint = did_you_mean(name, known)
                    self._tell((*path, name), f"unknown key {name}", hint=hint, at_key=True)
            elif not is_template(value):
                self._value(hints.get(name, Any), value, (*path, name))
        for name, one in known.items():
            required = one.default is MISSING and one.default_factory is MISSING
            if required and name not in settings:
                self._tell((*path, name), f"`{name}` is required", _wanted(hints.get(name, Any)))

    def _value(self, hint: _Hint, value: JSON, path: SpecPath) -> None:
        if _is_path(hint) and isinstance(value, str):
            self._file(value, path)
        elif not _fits(hint, value):
            self._tell(path, f"{_wanted(hint)}, got {got(value)}")

    def _file(self, name: str, path: SpecPath) -> None:
        origin = self.sources.origin(self.marks.value(path).file)
        try:
            self.files[path] = confined_file(name, folder=origin.folder, root=origin.root)
        except FileRefused as refused:
            self._tell(path, f"{name}: {refused}")

    def _tell(
        self,
        path: SpecPath,
        wrong: str,
        expected: str = "",
        hint: str = "",
        *,
        at_key: bool = False,
    ) -> None:
        self.problems.append(
            Problem(path=path, wrong=wrong, expected=expected, hint=hint, at_key=at_key)
        )


def _names_weights(model: Mapping[str, JSON]) -> bool:
    """Return whether llama would take the model's name for a path, however the file is called."""
    return model.get("provider") == "llama" and model.get("model") != "smollm2"


def _fields(cls: type) -> list[Field[Any]]:
    return [field for field in fields(cls) if field.init] if is_dataclass(cls) else []


def _hints(cls: type) -> Mapping[str, Any]:
    """Return types of the fields; none where a plugin's annotations cannot be resolved."""
    try:
        return get_type_hints(cls)
    except (NameError, TypeError):
        return {}


def _is_path(hint: _Hint) -> bool:
    return hint is Path or (_is_union(hint) and Path in get_args(hint))


def _is_union(hint: _Hint) -> bool:
    return get_origin(hint) in {Union, types.UnionType}


def _is_choice(hint: _Hint) -> bool:
    origin: Any = get_origin(hint)
    return origin is Literal


def _wanted(hint: _Hint) -> str:
    parts = [part for part in (get_args(hint) if _is_union(hint) else (hint,)) if part is not None]
    if _is_choice(hint):
        return f"expected one of {', '.join(map(str, get_args(hint)))}"
    words = [_word(part) for part in parts if part is not type(None)]
    return f"expected {' or '.join(words)}" if all(words) and words else ""


def _word(hint: _Hint) -> str:
    if hint in _TYPE_WORDS:
        return _TYPE_WORDS[hint]
    origin = get_origin(hint) or hint
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "a map"
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return "a list"
    return ""


def _fits(hint: _Hint, value: JSON) -> bool:
    """Return whether a value may stand in a field; True for types that we do not know."""
    if _is_union(hint):
        return any(_fits(part, value) for part in get_args(hint))
    if _is_choice(hint):
        return value in get_args(hint)
    if hint in _BASIC:
        return isinstance(value, _BASIC[hint]) and (hint is bool or not isinstance(value, bool))
    origin = get_origin(hint) or hint
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, dict)
    if isinstance(origin, type) and issubclass(origin, Sequence | frozenset | set):
        return isinstance(value, list)
    return True
