"""New names for arms of stored runs; nothing else of a run changes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from orglab.results.store.group_commit import StoreError


class Renaming(NamedTuple):
    """The runs of an arm and a spec get another arm's name."""

    old: str
    spec: str
    new: str


def rename_arms(connection: sqlite3.Connection, renamings: Iterable[Renaming]) -> None:
    """Rename all at once, so that two arms may take each other's names.

    Args:
        connection: The study's file, outside any transaction.
        renamings: What gets which name.

    Raises:
        StoreError: It cannot be written; nothing has changed.
    """
    wanted = list(renamings)
    if not wanted:
        return
    stand_ins = [(f"\0{number}", each.old, each.spec) for number, each in enumerate(wanted)]
    names = [(each.new, f"\0{number}") for number, each in enumerate(wanted)]
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("UPDATE runs SET arm=? WHERE arm=? AND spec=?", stand_ins)
        connection.executemany("UPDATE runs SET arm=? WHERE arm=?", names)
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise StoreError(f"runs cannot be renamed: {error}") from error
