"""What travels to a worker: teams in their normal form, units, and every file that they name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from orglab.engine.run.calls.toolbox import rendered_settings
from orglab.engine.run.outcome import Unit
from orglab.engine.spec.model import Topology
from orglab.engine.spec.validate.path_confinement import FileRefused, confined_file, content_hash
from orglab.engine.study.batch.batch import Arm
from orglab.engine.study.batch.preflight import texts_in
from orglab.engine.study.cluster.errors import ClusterError
from orglab.providers.base import JSON

CHUNK: Final = 3 * 2**20
"""Bytes of a file that travel together."""
_WEIGHTS: Final = "weights:"
_MODEL_FILES: Final = ("chat_template", "file")


class Bundle:
    """The files of a study, by their content; each is read when a worker asks for it."""

    def __init__(self) -> None:
        self._files: dict[str, Path] = {}
        self._known: dict[Path, str] = {}

    def add(self, path: Path, expected: str | None = None) -> str:
        """Return the SHA-256 of a file, which is served from now on.

        Args:
            path: The file.
            expected: What it was when the spec was loaded.

        Raises:
            ClusterError: It cannot be read, or has changed.
        """
        if path not in self._known:
            try:
                self._known[path] = content_hash(path)
            except FileRefused as refused:
                raise ClusterError(f"{path.name} cannot be sent to workers: {refused}") from refused
        found = self._known[path]
        if expected is not None and found != expected:
            raise ClusterError(f"{path.name} changed since the spec was loaded: run it again")
        self._files[found] = path
        return found

    def chunk(self, name: str, at: int) -> bytes:
        """Return a part of a file, from ``at``; less than ``CHUNK`` bytes are its end.

        Raises:
            ClusterError: It cannot be read any more.
        """
        path = self._files[name]
        try:
            with path.open("rb") as file:
                file.seek(at)
                return file.read(CHUNK)
        except OSError as error:
            reason = f"{path.name} cannot be sent to workers: {error.strerror}"
            raise ClusterError(reason) from error


@dataclass(kw_only=True)
class BundledArm:
    """A team as it travels.

    Attributes:
        arm: The arm.
        bundle: The files.
        scope: What tells its calls from those of other arms; "" where arms share calls.
    """

    arm: Arm
    bundle: Bundle
    scope: str
    _templated: list[JSON] = field(default_factory=list)

    @cached_property
    def form(self) -> dict[str, JSON]:
        """The team, strict JSON.

        Raises:
            ClusterError: A file cannot travel.
        """
        topology = self.arm.team.topology
        return {
            "name": self.arm.name,
            "scope": self.scope,
            "normal": topology.normal,
            "hash": topology.hash,
            "trusted": topology.trusted,
            "files": {name: self.bundle.add(path, sha) for name, path, sha in _files(topology)},
        }

    @cached_property
    def _settings(self) -> list[JSON]:
        """Settings with templates: which files they name depends on the unit."""
        return [each for each in _settings(self.arm.team.topology) if "{" in str(each)]

    def files_of(self, unit: Unit) -> dict[str, str]:
        """Files of the spec's folder that settings name for this unit alone."""
        folder = self.arm.team.topology.folder
        found: dict[str, str] = {}
        for settings in self._settings:
            for text in texts_in(_rendered(settings, unit)):
                if text in unit.files or text in self.form["files"]:
                    continue
                try:
                    path = confined_file(text, folder=folder, root=folder)
                except FileRefused:
                    continue  # no file's name
                found[text] = self.bundle.add(path)
        return found


def _rendered(settings: JSON, unit: Unit) -> JSON:
    try:
        return rendered_settings(settings, unit.inputs)
    except Exception:  # noqa: BLE001 - a template's issue is the run's, where it is reported
        return None


def teams_of(topology: Topology) -> Iterator[Topology]:
    """Yield a topology and the teams within it."""
    yield topology
    for role in topology.roles.values():
        if role.team is not None:
            yield from teams_of(role.team)


def _settings(topology: Topology) -> Iterator[JSON]:
    for team in teams_of(topology):
        yield from (dict(use.settings) for use in team.tools.values())
        for link in team.authority:
            yield from (dict(check.arguments) for check in link.trigger.checks)


def _files(topology: Topology) -> Iterator[tuple[str, Path, str | None]]:
    """Name in the spec, file and SHA-256 (None: not known) of all that a team reads."""
    folder = topology.folder
    files = topology.normal["files"]
    names = {name: None if _large(name) else sha for name, sha in files.items()}
    for name in _unhashed(topology.normal):
        names.setdefault(name, None)
    for name, sha in names.items():
        if not name.startswith(_WEIGHTS):
            yield name, (folder / name).resolve(), sha


def _large(name: str) -> bool:
    return name.endswith(".gguf")  # known by another digest


def _unhashed(normal: Mapping[str, JSON]) -> Iterator[str]:
    """Yield the files of models, and those of the spec's folder that its tools from elsewhere run."""
    for model in normal["models"].values():
        yield from (model[key] for key in _MODEL_FILES if model.get(key))
    for tool in normal["tools"].values():
        what = tool.get("served", {}).get("what", {})
        if what.get("file"):
            yield what["file"]
        yield from what.get("programs", {})
    for role in normal["roles"].values():
        if isinstance(role.get("team"), dict):
            yield from _unhashed(role["team"])


def unit_form(unit: Unit, bundle: Bundle) -> dict[str, JSON]:
    """Return a unit as it travels."""
    return {
        "id": unit.id,
        "inputs": dict(unit.inputs),
        "extra": dict(unit.extra),
        "index": unit.index,
        "files": {text: [bundle.add(path), path.name] for text, path in unit.files.items()},
    }
