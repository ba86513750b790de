"""Documents from files: what a document extends and the catalogues it names, read and merged."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from orglab.engine.spec.compose.extends import Located, merged
from orglab.engine.spec.errors import Problem, SpecIssue, SpecPath
from orglab.engine.spec.validate.path_confinement import FileRefused, confined_file, read_limited
from orglab.engine.spec.validate.schema import KINDS
from orglab.engine.spec.yaml.reader import Document, read_bytes
from orglab.engine.spec.yaml.source_map import Mark, Place
from orglab.providers.base import JSON

_LONGEST_CHAIN: Final = 20
"""How many documents may extend each other in a row."""


class Origin(NamedTuple):
    """A file that was read.

    Attributes:
        folder: Its folder: what it names is relative to this.
        root: The folder that what it names must stay in.
        typed: The user named the file on the command line.
    """

    folder: Path
    root: Path
    typed: bool = False


def file_of(value: JSON) -> str | None:
    """Return the path of a ``{file: PATH}``, or None for anything else."""
    if isinstance(value, dict) and list(value) == ["file"] and isinstance(value["file"], str):
        return value["file"]
    return None


@dataclass(kw_only=True)
class Sources:
    """Every file that one load reads, by the name shown for it.

    Attributes:
        folder: The top document's folder.
        shown_folder: That folder as the user named it, "" for the current one.
        errors: Errors of reading and merging, located.
        whole: Every document was read to its end; else most errors of content are false alarms.
        models_known: So was every catalogue.
    """

    folder: Path
    shown_folder: str = ""
    issues: list[SpecIssue] = field(default_factory=list)
    whole: bool = True
    models_known: bool = True
    _origins: dict[str, Origin] = field(default_factory=dict)

    def origin(self, shown: str) -> Origin:
        """Return where the file shown as ``shown`` lies; the top folder for what no file wrote."""
        return self._origins.get(shown, Origin(self.folder, self.folder))

    def shown(self, path: Path) -> str:
        """Return a file's name as the user would write it."""
        relative = os.path.relpath(path, self.folder.resolve())
        return os.path.join(self.shown_folder, relative)  # noqa: PTH118 - a name, not a path

    def beside(self) -> Sources:
        """Read for another document of the same folder, with errors of its own."""
        return Sources(
            folder=self.folder, shown_folder=self.shown_folder, _origins=dict(self._origins)
        )

    def tell(self, problem: Problem, mark: Mark) -> None:
        """Keep an error whose place is known."""
        self.issues.append(mark.issue(problem))

    # -- documents

    def document(self, content: bytes, shown: str, path: Path | None) -> Located | None:
        """Return a document with all that it extends; None where it could not be read as a map."""
        self._origins[shown] = Origin(path.parent if path else self.folder, self.folder)
        return self._extended(content, shown, [(path.resolve() if path else None, shown)])

    def catalogue(self, path: Path, shown: str) -> Located | None:
        """Return a ``models`` catalogue that the user named: it lies anywhere, with its own folder."""
        self._origins[shown] = Origin(path.parent, path.parent, typed=True)
        try:
            found = self._models_of(read_bytes(read_limited(path), shown))
        except FileRefused as refused:
            self._refuse((), str(refused), Mark(shown, 0, 0))
            found = None
        self.models_known = self.models_known and found is not None
        return found

    def _extended(
        self, content: bytes, shown: str, chain: list[tuple[Path | None, str]]
    ) -> Located | None:
        over = self._map(read_bytes(content, shown))
        if over is None:
            self.whole = False
            return None
        over = self.with_catalogue(over, shown)
        name = over.data.get("extends")
        if not isinstance(name, str):
            return over
        base = self._base(name, over, shown, chain)
        if base is None:
            self.whole = False
            return over
        found = merged(base, over, self.tell)
        return Located({k: v for k, v in found.data.items() if k != "extends"}, found.place)

    def _base(
        self, name: str, over: Located, shown: str, chain: list[tuple[Path | None, str]]
    ) -> Located | None:
        mark = over.place.child("extends").mark
        path = self._file(("extends",), name, mark, shown)
        if path is None:
            return None
        if len(chain) > _LONGEST_CHAIN:
            self._refuse(("extends",), f"more than {_LONGEST_CHAIN} documents in a row", mark)
            return None
        above = [known for known, _ in chain]
        if path in above:
            names = [label for _, label in chain[above.index(path) :]] + [self.shown(path)]
            wrong = f"documents extend each other in a cycle: {' > '.join(names)}"
            self._refuse(("extends",), wrong, mark)
            return None
        label = self.shown(path)
        self._origins[label] = Origin(path.parent, self.folder)
        found = self._extended(read_limited(path), label, [*chain, (path, label)])
        return found if found and self._is_topology(found, label, mark) else None

    def _is_topology(self, base: Located, label: str, mark: Mark) -> bool:
        kind = base.data.get("kind", "topology")
        if isinstance(kind, str) and kind in KINDS and kind != "topology":
            self._refuse(("extends",), f"{label} is of kind {kind}, not a topology", mark)
            return False
        return True

    def _map(self, document: Document) -> Located | None:
        self.issues += document.issues
        if not document.whole:
            return None
        if not isinstance(document.data, dict):
            wrong = "a document is a map, such as `kind: topology`"
            self._refuse((), wrong, document.place.mark)
            return None
        return Located(document.data, document.place)

    # -- catalogues

    def with_catalogue(self, document: Located, shown: str) -> Located:
        """Return ``models: {file: …}`` with what the file holds in its place."""
        name = file_of(document.data.get("models"))
        if name is None:
            return document
        place = document.place.child("models")
        path = self._file(("models", "file"), name, place.child("file").mark, shown)
        found = None
        if path is not None:
            label = self.shown(path)
            self._origins[label] = Origin(path.parent, self.folder)
            found = self._models_of(read_bytes(read_limited(path), label))
        self.models_known = self.models_known and found is not None
        models = found or Located({}, Place(place.mark))
        children = {**(document.place.children or {}), "models": models.place}
        whole = Place(document.place.mark, document.place.keys, children)
        return Located({**document.data, "models": models.data}, whole)

    def _models_of(self, document: Document) -> Located | None:
        """Return the map of models: bare, or under ``models``."""
        found = self._map(document)
        if found is None:
            return None
        inner = found.data.get("models")
        if isinstance(inner, dict) and "provider" not in inner:
            return Located(inner, found.place.child("models"))
        return found

    # -- files

    def _file(self, path: SpecPath, name: str, mark: Mark, shown: str) -> Path | None:
        origin = self.origin(shown)
        try:
            found = confined_file(name, folder=origin.folder, root=origin.root)
            read_limited(found)
        except FileRefused as refused:
            self._refuse(path, f"{name}: {refused}", mark)
            return None
        return found

    def _refuse(self, path: SpecPath, wrong: str, mark: Mark) -> None:
        self.tell(Problem(path=path, wrong=wrong), mark)
