"""The response cache: paid replies, stored beside the studies for reuse by other studies.

One SQLite file, ``calls.sqlite``, in the folder that holds the studies. Several processes read and
write it at once; a call is known by its identity and by everything that was asked, which is
compared on reading. The file is a convenience: a study holds all its own replies, and goes on
without this file wherever it cannot be read or written.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import dumps, escape_surrogates, loads_stored
from orglab.results.records import CallEntry
from orglab.results.store.run_id import text_digest

_APPLICATION = 0x6F72676B  # ``orgk``
_FORMAT = 1
_PATIENCE = 2.0
"""Seconds that a writer waits for another process; commits take milliseconds."""

_DDL = """
CREATE TABLE blobs (hash TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE calls (
  identity TEXT NOT NULL, version TEXT NOT NULL, study TEXT NOT NULL, paid TEXT NOT NULL,
  role TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL, request TEXT NOT NULL,
  messages TEXT NOT NULL, reply TEXT NOT NULL, PRIMARY KEY (identity, version)
) WITHOUT ROWID;
CREATE INDEX calls_by_role ON calls (role);
"""
_REPLY = {
    **{name: name for name in ("copy", "role", "purpose", "visit", "text", "tool_calls", "native")},
    "reasoning": "reasoning",
    "stop": "stop",
    "usage": "tokens",
    "model": "served",
    **{name: name for name in ("fingerprint", "service_seconds", "waiting_seconds", "attempts")},
    **{name: name for name in ("cut", "simulated", "logprobs", "notes", "cost_usd", "read")},
    "error": "error",
    "reserved_usd": "reserved_usd",
}
"""The keys of a stored reply, and the field of ``CallEntry`` that each holds."""
_KEEP = "INSERT OR IGNORE INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_BLOB = "INSERT OR IGNORE INTO blobs VALUES (?, ?)"


def response_cache_file(study: Path) -> Path:
    """Return the path of a study's response cache: ``calls.sqlite`` beside its folder."""
    return study.resolve().parent / "calls.sqlite"


@dataclass(frozen=True, kw_only=True, slots=True)
class CachedCall:
    """A cached call.

    Attributes:
        identity: Its identity.
        version: The version of the identity.
        study: The name of the study's folder that paid for it.
        paid: When, UTC.
        role: The role that spoke.
        request: ``provider``, ``model``, ``params``, ``seed``, ``messages``, ``tools``, ``schema``.
    """

    identity: str
    version: str
    study: str
    paid: str
    role: str
    request: Mapping[str, JSON]


class ResponseCache:
    """The cached calls, for one study that reads and adds to them.

    The file is opened, and made, when the first call asks for it. The first error is reported and
    ends its use: a study never stops for it.
    """

    def __init__(
        self, file: Path, *, version: str, study: str, report: Callable[[str], object] = str
    ) -> None:
        """Set the cache's path; the file is opened on first use.

        Args:
            file: The file.
            version: The version of identities; calls of another are not found.
            study: The name of the study that pays.
            report: Receives a message about what is wrong with the file.
        """
        self.file = file
        self._version, self._study, self._report = version, escape_surrogates(study), report
        self._connection: sqlite3.Connection | None = None
        self._ended = False

    def find(self, identity: str, request: Mapping[str, JSON]) -> CallEntry | None:
        """Return a cached call with exactly this request, or None.

        Its ``kept`` names the origin: ``{study, paid}``.
        """
        sql = "SELECT * FROM calls WHERE identity=? AND version=?"
        try:
            row = self._ready().execute(sql, (identity, self._version)).fetchone()
            if row is None:
                return None
            asked = _request(self._ready(), row)
            body = loads_stored(row["reply"])
            reply = {field: body[key] for key, field in _REPLY.items() if key in body}
        except _Ended:
            return None
        except (sqlite3.Error, ValueError, KeyError, TypeError) as error:
            self._give_up(error)
            return None
        if dumps(_sorted(asked)) != dumps(_sorted(request)):
            self._other(identity)
            return None
        kept = {"study": row["study"], "paid": row["paid"]}
        model, provider = asked.pop("model"), asked.pop("provider")
        return CallEntry(
            position="",
            identity=identity,
            provider=provider,
            model=model,
            request=asked,
            kept=kept,
            **reply,
        )

    def add(self, call: CallEntry) -> None:
        """Add a call whose answer is durable in its study; the first of an identity stays."""
        request = call.request
        try:
            blobs = [(text_digest(text), text) for text in map(dumps, request["messages"])]
            rest = {"provider": call.provider, "model": call.model}
            rest |= {name: request[name] for name in ("params", "seed", "tools", "schema")}
            reply = {key: getattr(call, field) for key, field in _REPLY.items()}
            row = (
                *(call.identity, self._version, self._study, _now(), escape_surrogates(call.role)),
                *(escape_surrogates(call.provider), escape_surrogates(call.model), dumps(rest)),
                *(dumps([name for name, _ in blobs]), dumps(reply)),
            )
            self._write(blobs, row)
        except _Ended:
            return
        except (sqlite3.Error, ValueError, KeyError, TypeError) as error:
            self._give_up(error)

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None
        self._ended = True

    def _write(self, blobs: Sequence[tuple[str, str]], row: tuple[str, ...]) -> None:
        connection = self._ready()
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.executemany(_BLOB, blobs)
            connection.execute(_KEEP, row)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _ready(self) -> sqlite3.Connection:
        if self._ended:
            raise _Ended
        if self._connection is None:
            try:
                self._connection = _open(self.file)
            except OSError as error:
                raise sqlite3.OperationalError(str(error)) from error
        return self._connection

    def _give_up(self, error: Exception) -> None:
        self._report(
            f"{self.file} cannot be used ({error}): replies of other studies are not reused from "
            "here on, and this study's are not kept for others. It holds nothing else: it may be "
            "deleted."
        )
        self.close()

    def _other(self, identity: str) -> None:
        self._report(
            f"{self.file}: the call kept as {identity} asked another thing than this study asks; "
            "it is not used, and the call is made"
        )


class _Ended(Exception):
    """Raised when the file is no longer used."""


def read_cached_calls(file: Path, role: str) -> list[CachedCall]:
    """Return a role's cached calls, latest first; [] where there is no such file.

    Raises:
        ValueError: The file is there and cannot be read, in words.
    """
    if not file.is_file():
        return []
    try:
        connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
        connection.row_factory = sqlite3.Row
        try:
            _check(connection)
            sql = "SELECT * FROM calls WHERE role=? ORDER BY paid DESC, identity"
            return [_call(connection, row) for row in connection.execute(sql, (role,))]
        finally:
            connection.close()
    except (sqlite3.Error, KeyError) as error:
        raise ValueError(f"{file} cannot be read: {error}") from error


def _call(connection: sqlite3.Connection, row: sqlite3.Row) -> CachedCall:
    names = ("identity", "version", "study", "paid", "role")
    return CachedCall(request=_request(connection, row), **{name: row[name] for name in names})


def _request(connection: sqlite3.Connection, row: sqlite3.Row) -> dict[str, JSON]:
    """Return the request.

    Raises:
        KeyError: A message is missing.
        ValueError: A text is no strict JSON.
    """
    messages = []
    for name in loads_stored(row["messages"]):
        found = connection.execute("SELECT text FROM blobs WHERE hash=?", (name,)).fetchone()
        if found is None:
            raise KeyError(f"the message {name} is missing")
        messages.append(loads_stored(found[0]))
    return {**loads_stored(row["request"]), "messages": messages}


def _open(file: Path) -> sqlite3.Connection:
    for end in ("", "-wal", "-shm", "-journal"):
        if file.with_name(file.name + end).is_symlink():
            raise sqlite3.OperationalError(f"{file.name}{end} is a link")
    file.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(file, isolation_level=None, timeout=_PATIENCE)
    try:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode=WAL")
        # A power cut may lose the last of these; each study has its own in full.
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("BEGIN IMMEDIATE")  # of two processes, one makes the tables
        if connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0] == 0:
            for statement in filter(str.strip, _DDL.split(";")):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id={_APPLICATION}")
            connection.execute(f"PRAGMA user_version={_FORMAT}")
        connection.execute("COMMIT")
        _check(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check(connection: sqlite3.Connection) -> None:
    """Refuse a file that is no response cache.

    Raises:
        sqlite3.OperationalError: It is.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if (application, version) != (_APPLICATION, _FORMAT):
        raise sqlite3.OperationalError("it is no file of kept calls, or of another orglab's format")


def _sorted(value: JSON) -> JSON:
    """Return maps in one order, so that texts compare equal where the values are."""
    if isinstance(value, Mapping):
        return {name: _sorted(value[name]) for name in sorted(value)}
    if isinstance(value, list | tuple):
        return [_sorted(item) for item in value]
    return value


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
