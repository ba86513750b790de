"""Vectors of texts, each computed once: kept in a DuckDB file of the study."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from orglab.engine.spec.messages import nearest
from orglab.engine.tools.file_cache import vectors_file
from orglab.providers.base import JSON, ProviderError
from orglab.providers.embedder import Embedder
from orglab.providers.registry import load_plugin, plugin_names

if TYPE_CHECKING:
    import duckdb

Matrix: TypeAlias = NDArray[np.float32]

PIECE = 1_000
"""Most characters that are compared at once; a longer text is cut at blanks."""

_AT_ONCE = 256
_lock = threading.Lock()
_MAKE = (
    "CREATE TABLE IF NOT EXISTS vectors "
    "(embedder VARCHAR, text VARCHAR, vector FLOAT[], PRIMARY KEY (embedder, text))"
)
_FIND = "SELECT text, vector FROM vectors WHERE embedder = ? AND text IN (SELECT unnest(?))"
_KEEP = "INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)"


@cache
def _embedder(provider: str, model: str, options: tuple[tuple[str, JSON], ...]) -> Embedder:
    kind: type[Embedder] = load_plugin("orglab.embedders", provider)
    return kind.from_spec(model, dict(options))


def embedder_of(settings: Mapping[str, JSON], file: Path | None = None) -> Embedder:
    """Return the embedder that settings name; equal settings share one.

    Args:
        settings: ``provider``, ``model``, and the provider's options.
        file: A file of weights.

    Raises:
        ValueError: There is no such provider of embedders, or an option is wrong; in words.
    """
    rest = {key: value for key, value in settings.items() if key not in ("provider", "model")}
    if wrong := [key for key, value in rest.items() if not isinstance(value, str | int | float)]:
        raise ValueError(f"`embed`: {wrong[0]!r} must be a text or a number")
    if file is not None:
        rest["file"] = str(file)
    provider, model = settings.get("provider"), settings.get("model", "")
    known = plugin_names("orglab.embedders")
    if not isinstance(provider, str) or provider not in known:
        near = nearest(str(provider), known)
        hint = f"; did you mean {near}?" if near else "."
        raise ValueError(
            f"`embed` needs `provider`, one of {', '.join(known)}, not {provider!r}{hint}"
        )
    if not isinstance(model, str):
        raise ValueError(f"`embed`: `model` must be a name, not {model!r}")
    return _embedder(provider, model, tuple(sorted(rest.items())))


def pieces(text: str, most: int = PIECE) -> list[str]:
    """Split a text at blanks into pieces of at most ``most`` characters; a blank text has none."""
    found: list[str] = []
    rest = text.strip()
    while len(rest) > most:
        cut = max(rest.rfind(" ", 0, most + 1), rest.rfind("\n", 0, most + 1))
        cut = cut if cut > 0 else most
        found.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    return [*found, rest] if rest else found


def kept_vectors(embedder: Embedder, texts: Sequence[str]) -> Matrix:
    """Return a unit vector per text, from the cache or computed and stored.

    Raises:
        ProviderError: The embedder gives none, or not of one length.
        ValueError: The embedder's weights cannot be read.
    """
    identity = embedder.identity
    names = [hashlib.blake2b(text.encode(), digest_size=16).hexdigest() for text in texts]
    by_name = dict(zip(names, texts, strict=True))
    found = _stored_vectors(identity, list(by_name))
    missing = [name for name in by_name if name not in found]
    for start in range(0, len(missing), _AT_ONCE):
        some = missing[start : start + _AT_ONCE]
        made = _embedded(embedder, [by_name[name] for name in some])
        fresh = dict(zip(some, made, strict=True))
        _store_vectors(identity, fresh)
        found |= fresh
    rows = [found[name] for name in names]
    if len({len(row) for row in rows}) > 1:
        raise ProviderError(f"{identity} gave vectors of different lengths")
    return np.asarray(rows, dtype=np.float32)


def _embedded(embedder: Embedder, texts: Sequence[str]) -> list[Matrix]:
    vectors = embedder.embed(texts)
    if len(vectors) != len(texts):
        raise ProviderError(f"the embedder gave {len(vectors)} vectors for {len(texts)} texts")
    return [_of_length_one(vector) for vector in vectors]


def _of_length_one(vector: Sequence[float]) -> Matrix:
    row = np.asarray(vector, dtype=np.float64)
    length = float(np.linalg.norm(row)) if row.ndim == 1 and row.size else 0.0
    if not np.isfinite(length) or length == 0:
        raise ProviderError("the embedder gave a vector without a direction")
    return (row / length).astype(np.float32)


# --- the file -------------------------------------------------------------------------------------

_memory: dict[tuple[str, str], Matrix] = {}


def _stored_vectors(identity: str, names: Sequence[str]) -> dict[str, Matrix]:
    file = vectors_file.get()
    if file is None:
        return {name: _memory[identity, name] for name in names if (identity, name) in _memory}
    with _lock, _open(file) as connection:
        rows = connection.execute(_FIND, [identity, list(names)]).fetchall()
    return {name: np.asarray(vector, dtype=np.float32) for name, vector in rows}


def _store_vectors(identity: str, vectors: Mapping[str, Matrix]) -> None:
    file = vectors_file.get()
    if file is None:
        _memory.update({(identity, name): row for name, row in vectors.items()})
        return
    rows = [[identity, name, row.tolist()] for name, row in vectors.items()]
    with _lock, _open(file) as connection:
        connection.execute("BEGIN")
        connection.executemany(_KEEP, rows)
        connection.execute("COMMIT")


def _open(file: Path) -> duckdb.DuckDBPyConnection:
    """Open the file as a context manager, so that it is closed when the study ends.

    Raises:
        ProviderError: It is a link, or cannot be opened.
    """
    import duckdb  # slow to import: only a study with vectors needs it

    if file.is_symlink():
        raise ProviderError(f"{file} is a link: a study's files are real ones")
    try:
        connection = duckdb.connect(file)
        connection.execute(_MAKE)
    except duckdb.Error as error:
        raise ProviderError(f"{file} cannot be opened: {error}") from None
    return connection
