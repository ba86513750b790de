"""Files of tools, read once and shared by all runs, and values computed once from them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

vectors_file: ContextVar[Path | None] = ContextVar("vectors_file", default=None)
"""The DuckDB file of the study's vectors; None: they are kept in memory alone. It is here, since NumPy is not needed for it."""

_LARGEST_FILE = 256 * 2**20  # bytes; a larger table belongs into a database of its own
_MOST_FILES = 32  # kept in memory; the one unused longest goes first
_T = TypeVar("_T")


class TableError(ValueError):
    """Raised when a file cannot be read as a table; the text names the line and a hint."""


class Memo:
    """Values computed once for all threads, from an object that does not change."""

    def __init__(self) -> None:
        self._computed: dict[Hashable, Any] = {}
        self._computing = threading.RLock()  # one value may be computed from another

    def once(self, key: Hashable, compute: Callable[[], _T]) -> _T:
        """Return the value cached under ``key``, computed once."""
        if key not in self._computed:
            with self._computing:
                if key not in self._computed:
                    self._computed[key] = compute()
        return cast("_T", self._computed[key])


class FileCache(Generic[_T]):
    """What was read from files, by path and format."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Hashable, ...], _T] = OrderedDict()
        self._locks: dict[tuple[Path, Hashable], threading.Lock] = {}
        self._guard = threading.Lock()

    def loaded(self, path: Path, form: Hashable = None) -> _T | None:
        """Return what is in memory, if the file has not changed since; else None.

        Raises:
            TableError: The file is not there.
        """
        return self._find((*_signature(path), form))

    def load(self, path: Path, read: Callable[[], _T], form: Hashable = None) -> _T:
        """Return what ``read`` makes of ``path``, an absolute path; read once for all threads.

        Raises:
            TableError: It is not there, too large, or ``read`` refuses it; the text names the file.
        """
        with self._guard:
            lock = self._locks.setdefault((path, form), threading.Lock())
        with lock:
            size, *others = _signature(path)
            key = (size, *others, form)
            if (kept := self._find(key)) is not None:
                return kept
            if size > _LARGEST_FILE:
                largest = f"{_LARGEST_FILE // 2**20} MiB"
                raise TableError(f"{path.name}: larger than {largest}, more than a tool can hold")
            try:
                found = read()
            except TableError as error:
                raise TableError(f"{path.name}: {error}") from None
            with self._guard:
                self._kept[key] = found
                while len(self._kept) > _MOST_FILES:
                    self._kept.popitem(last=False)
            return found

    def _find(self, key: tuple[Hashable, ...]) -> _T | None:
        with self._guard:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)


def _signature(path: Path) -> tuple[int, int, int, int, Path]:
    try:
        stat = path.stat()
    except OSError as error:
        raise TableError(f"{path.name}: {(error.strerror or 'unreadable').lower()}") from None
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, path
