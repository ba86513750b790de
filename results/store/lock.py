"""One writer a study: a lock that the system frees when its holder dies."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from orglab.results.store.group_commit import StoreError

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # a link in a stranger's folder could name any file

if sys.platform == "win32":
    import msvcrt

    # A locked byte far behind the text, since a locked one cannot be read by others.
    _FAR = 1 << 30

    def _take(descriptor: int) -> None:
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _take(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class StudyLocked(StoreError):
    """Raised when another process is writing the study; the text names it."""


class StudyLock:
    """Holds ``FILE.lock`` until ``release`` or the end of the process, however it ends.

    Raises:
        StudyLocked: Someone else holds it.
        StoreError: The folder cannot be written.
    """

    def __init__(self, study: Path) -> None:
        self._path = study.with_name(study.name + ".lock")
        self._descriptor: int | None = self._open(study)

    def _open(self, study: Path) -> int:
        while True:
            try:
                descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o644)
            except OSError as error:
                raise StoreError(f"{study} cannot be written: {error.strerror}") from error
            try:
                _take(descriptor)
            except OSError as error:
                holder = os.pread(descriptor, 32, 0) if hasattr(os, "pread") else b""
                os.close(descriptor)
                raise StudyLocked(_refusal(study, holder.decode("ascii", "replace"))) from error
            if self._is_current(descriptor):
                os.ftruncate(descriptor, 0)
                os.lseek(descriptor, 0, os.SEEK_SET)
                os.write(descriptor, str(os.getpid()).encode())
                return descriptor
            os.close(descriptor)  # its holder removed the file between our opening and locking it

    def _is_current(self, descriptor: int) -> bool:
        try:
            there = self._path.stat()
        except FileNotFoundError:
            return False
        here = os.fstat(descriptor)
        return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)

    def release(self) -> None:
        """Free the lock; a second call does nothing."""
        if self._descriptor is None:
            return
        if sys.platform != "win32":  # there, an open file cannot be removed
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._descriptor = None


def _refusal(study: Path, holder: str) -> str:
    who = f"process {holder}" if holder.strip().isdecimal() else "another process"
    return f"{study} is being written by {who}; wait for it to end, or write to another folder"
