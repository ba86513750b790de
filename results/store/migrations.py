"""Bringing the file of an older orglab to today's tables: columns are added, nothing is changed."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from orglab.results.store.group_commit import StoreError
from orglab.results.store.schema import APPLICATION, DDL, FORMAT

_STEPS = {
    1: (
        "ALTER TABLE calls ADD COLUMN cut INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE calls ADD COLUMN reserved_usd REAL",
        next(
            line.strip()
            for line in DDL.split(";")
            if line.strip().startswith("CREATE TABLE limits")
        ),
    ),
}
"""What leads from a format to the next."""


def upgrade(path: Path) -> None:
    """Migrate a study's file to ``FORMAT``; leave current files and other files as they are.

    Raises:
        StoreError: It cannot be written.
    """
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        if application != APPLICATION or _version(connection) >= FORMAT:
            return
        connection.execute("BEGIN IMMEDIATE")
        for step in range(_version(connection), FORMAT):
            for statement in _STEPS[step]:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version={FORMAT}")
        connection.execute("UPDATE meta SET value=? WHERE key='format'", (str(FORMAT),))
        connection.execute("COMMIT")
    except sqlite3.OperationalError as error:
        raise StoreError(
            f"{path} was written by an older orglab and must be upgraded to be read: {error}"
        ) from error
    finally:
        connection.close()


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)
