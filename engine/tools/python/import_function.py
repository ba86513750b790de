"""Importing the function that a trusted spec names, and telling by what it is known.

A file of the spec's folder is loaded by its path, under a name of its own: it hides no module of the
same name, and its content is what the spec is known by. It may import what is installed, not its
neighbours, which would count for nothing.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from types import ModuleType
from typing import Any

from orglab.engine.spec.messages import did_you_mean
from orglab.engine.spec.validate.path_confinement import FileRefused, confined_file, read_limited
from orglab.providers.base import JSON

_first_seen: dict[str, str] = {}
"""Digest of each installed module's file when this process first met it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """A function.

    Attributes:
        function: The function.
        what: Its module and name, and the version and content by which it is known.
    """

    function: Callable[..., Any]
    what: Mapping[str, JSON]


def imported(module: str, name: str, folder: Path) -> Imported:
    """Import the function ``name`` of ``module``, a file of the folder or an installed module.

    Raises:
        ValueError: There is none, or importing it failed; in words.
    """
    path = f"{module.replace('.', '/')}.py"
    if (folder / path).is_file():
        loaded, known = _from_file(module, path, folder)
    else:
        loaded, known = _installed(module)
    function = getattr(loaded, name, None)
    if not callable(function):
        names = [key for key, one in vars(loaded).items() if callable(one) and key[0] != "_"]
        raise ValueError(f"`{module}` has no function `{name}`; {did_you_mean(name, names)}")
    return Imported(function=function, what={"module": module, "function": name, **known})


def _from_file(module: str, path: str, folder: Path) -> tuple[ModuleType, dict[str, JSON]]:
    try:
        file = confined_file(path, folder=folder, root=folder)
        content = read_limited(file)
    except FileRefused as refused:
        raise ValueError(f"{path}: {refused}") from refused
    digest = sha256(content).hexdigest()
    known: dict[str, JSON] = {"file": path, "sha256": digest}
    name = f"orglab_spec_{sha256(str(file).encode()).hexdigest()[:8]}_{digest[:8]}_{module}"
    name = name.replace(".", "_")
    if name in sys.modules:
        return sys.modules[name], known
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} cannot be loaded as a module")
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made  # dataclasses and hints look their module up
    try:
        exec(compile(content, str(file), "exec"), made.__dict__)  # noqa: S102 - trusted: --trust
    except BaseException as fault:
        del sys.modules[name]
        raise ValueError(f"{path} cannot be imported: {type(fault).__name__}: {fault}") from fault
    return made, known


def _installed(module: str) -> tuple[ModuleType, dict[str, JSON]]:
    try:
        loaded = importlib.import_module(module)
    except Exception as fault:
        raise ValueError(
            f"there is no `{module.replace('.', '/')}.py` in the spec's folder, and `{module}` cannot "
            f"be imported: {type(fault).__name__}: {fault}"
        ) from fault
    known: dict[str, JSON] = {}
    if (distribution := _distribution(module.partition(".")[0])) is not None:
        known["distribution"] = distribution
    file = getattr(loaded, "__file__", None)
    if file is not None and Path(file).is_file():
        known["sha256"] = _unchanged(module, sha256(Path(file).read_bytes()).hexdigest())
    return loaded, known


def _unchanged(module: str, digest: str) -> str:
    """Return the digest if it is that of the code that this process runs."""
    if _first_seen.setdefault(module, digest) != digest:
        raise ValueError(f"`{module}` was changed after this process imported it: start it anew")
    return digest


@cache
def _distribution(package: str) -> str | None:
    for name in packages_distributions().get(package, ()):
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            continue
    return None
