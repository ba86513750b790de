"""Files that a spec names: kept inside the spec's folder, of bounded size, read as UTF-8."""

from __future__ import annotations

import stat
from hashlib import sha256
from pathlib import Path
from typing import Final

DOCUMENT_LIMIT: Final = 16 * 2**20
"""Largest size of a spec or catalogue, in bytes."""

TEXT_LIMIT: Final = 2**20
"""Largest size of a text file, in bytes: more than any model reads."""

_CHUNK: Final = 2**20


class FileRefused(ValueError):
    """Raised when a file named by a spec may not or cannot be read; the text says why."""


def confined_file(name: str, *, folder: Path, root: Path) -> Path:
    """Return the real path of the regular file ``name``, relative to ``folder``, inside ``root``.

    Links are followed first, so that none leads out. A spec is from a stranger: absolute paths,
    ways out by ``..``, and devices, pipes and sockets are refused.

    Raises:
        FileRefused: It lies outside, does not exist, or is no regular file.
    """
    if "\0" in name:
        raise FileRefused("a path cannot hold a NUL character")
    if not name or Path(name).is_absolute() or name.startswith("~"):
        raise FileRefused("a path is relative to the file that says it, and stays in its folder")
    try:
        path = (folder / name).resolve()
        if not path.is_relative_to(root.resolve()):
            raise FileRefused("the file lies outside the spec's folder")
        mode = path.stat().st_mode
    except FileRefused:
        raise
    except FileNotFoundError:
        raise FileRefused("there is no such file") from None
    except (OSError, RuntimeError, ValueError) as error:
        raise FileRefused(f"the file cannot be reached: {_reason(error)}") from None
    if not stat.S_ISREG(mode):
        raise FileRefused("this is a folder" if stat.S_ISDIR(mode) else "this is no regular file")
    return path


def read_confined_text(path: Path) -> str:
    """Return the text of a file, lines ended by line feeds alone, without a byte order mark.

    Raises:
        FileRefused: It is too large, not UTF-8, or cannot be read.
    """
    content = read_limited(path, TEXT_LIMIT)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise FileRefused(
            f"byte 0x{content[error.start]:02x} in its line {line} is not UTF-8"
        ) from None
    if "\0" in text:
        raise FileRefused("it holds a NUL character, so it is no text")
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def read_limited(path: Path, limit: int = DOCUMENT_LIMIT) -> bytes:
    """Return the content of a file of at most ``limit`` bytes.

    Raises:
        FileRefused: It is larger, or cannot be read.
    """
    try:
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except OSError as error:
        raise FileRefused(f"the file cannot be read: {_reason(error)}") from None
    if len(content) > limit:
        raise FileRefused(f"the file is larger than {limit // 2**20} MiB")
    return content


def content_hash(path: Path) -> str:
    """SHA-256 of a file's content, hex.

    Raises:
        FileRefused: It cannot be read.
    """
    digest = sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise FileRefused(f"the file cannot be read: {_reason(error)}") from None
    return digest.hexdigest()


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
