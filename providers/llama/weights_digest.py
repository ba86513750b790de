"""Digest of model weights, computed once per file."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

_CHUNK = 2**22


def weights_digest(path: Path) -> str:
    """Return 32 hex digits (BLAKE2b) of a file's content; about a second for each gigabyte.

    Cached in the process until the file's size, time or inode changes.

    Raises:
        OSError: It cannot be read.
    """
    file = path.resolve()
    stat = file.stat()
    return _digest(file, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)


@lru_cache(maxsize=256)
def _digest(file: Path, *_: int) -> str:
    digest = blake2b(digest_size=16)
    with file.open("rb") as weights:
        while chunk := weights.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
