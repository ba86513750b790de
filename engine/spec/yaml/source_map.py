"""Where each value of a document was written: in which file, line and column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from orglab.engine.spec.errors import Problem, SpecIssue, SpecPath


class Mark(NamedTuple):
    """A place in a file: line and column from 1; line 0 where there is no line."""

    file: str
    line: int
    column: int

    def issue(self, problem: Problem) -> SpecIssue:
        """Return a problem located here."""
        return SpecIssue(file=self.file, line=self.line, column=self.column, problem=problem)


@dataclass(slots=True)
class Place:
    """Where one value was written, and its children: a tree of the same shape as the data.

    Attributes:
        mark: Where the value begins.
        keys: For a map: where each key stands.
        children: The children's places by key or index; None for a scalar.
    """

    mark: Mark
    keys: dict[str, Mark] | None = None
    children: dict[str | int, Place] | None = None

    def child(self, key: str | int) -> Place:
        """Return the place of a child; one without children of its own where it has none."""
        return (self.children or {}).get(key) or Place(self.mark)

    def key_mark(self, key: str) -> Mark:
        """Return where a key stands; where it was not written, where the map begins."""
        return (self.keys or {}).get(key, self.mark)


@dataclass(frozen=True, slots=True)
class Marks:
    """Looks up places by path; a path that does not resolve gives the nearest place above it."""

    root: Place

    def value(self, path: SpecPath) -> Mark:
        """Return where the value at ``path`` begins."""
        return self._nearest(path)[0].mark

    def key(self, path: SpecPath) -> Mark:
        """Return where the key that ``path`` ends with stands; for an item of a list, the item."""
        if not path:
            return self.root.mark
        parent, whole = self._nearest(path[:-1])
        last = path[-1]
        if whole and parent.keys and isinstance(last, str) and last in parent.keys:
            return parent.keys[last]
        return self.value(path)

    def _nearest(self, path: SpecPath) -> tuple[Place, bool]:
        place = self.root
        for part in path:
            child = place.children.get(part) if place.children else None
            if child is None:
                return place, False
            place = child
        return place, True
