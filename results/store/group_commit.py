"""Group commit on the event loop: what one turn of the loop writes is made durable at once."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from orglab.results.store.schema import STATEMENTS

Row: TypeAlias = tuple[Any, ...]


class StoreError(Exception):
    """Raised when the store cannot be opened, read, or written; the text says why."""


class GroupCommit:
    """Gathers rows and commits them together; no thread.

    The first writer of a turn of the loop asks for a flush by ``call_soon``; whoever writes before
    it runs is in the same commit. After a commit failed (a full disk), the store takes nothing
    more: events that stood in the failed commit are lost with it, and what followed them would
    have a gap. The runs that were under way go on from the last commit when the file is opened
    again.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._pending: dict[str, list[Row]] = {name: [] for name in STATEMENTS}
        self._waiting: list[asyncio.Future[None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._failure: StoreError | None = None
        self.commits = 0

    @property
    def failed(self) -> bool:
        """A commit failed: the store takes nothing more."""
        return self._failure is not None

    def add(self, statement: str, rows: Sequence[Row]) -> None:
        """Add rows to the next commit.

        Raises:
            StoreError: An earlier commit failed.
        """
        if self._failure is not None:
            raise self._failure
        self._pending[statement].extend(rows)

    def write(self, rows: Iterable[tuple[str, Row]]) -> asyncio.Future[None]:
        """Add ``(statement, row)`` pairs to this turn's commit.

        Returns:
            A future that is done when they are durable, or fails with ``StoreError``.

        Raises:
            StoreError: An earlier commit failed.
        """
        if self._failure is not None:
            raise self._failure
        for statement, row in rows:
            self._pending[statement].append(row)
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._waiting.append(future)
        if self._loop is not loop:
            self._loop = loop
            loop.call_soon(self._flush_soon)
        return future

    def _flush_soon(self) -> None:
        with suppress(StoreError):  # every waiting future has it
            self.flush()

    def flush(self) -> None:
        """Commit what is pending, now.

        Raises:
            StoreError: It cannot be committed; nothing of it was.
        """
        if self._failure is not None:
            raise self._failure
        waiting, self._waiting, self._loop = self._waiting, [], None
        try:
            self._commit()
        except BaseException as error:
            self._fail(error, waiting)
            raise self._failure or error from error
        for future in waiting:
            if _is_awaited(future):
                future.set_result(None)

    def _commit(self) -> None:
        if not any(self._pending.values()):
            return
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        for name, rows in self._pending.items():
            if rows:
                self._connection.executemany(STATEMENTS[name], rows)
                self._pending[name] = []
        execute("COMMIT")
        self.commits += 1

    def _fail(self, error: BaseException, waiting: list[asyncio.Future[None]]) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        if isinstance(error, Exception):
            self._failure = StoreError(f"the study could not be written: {error}")
        for future in filter(_is_awaited, waiting):
            if self._failure is None:
                future.cancel()
            else:
                future.set_exception(self._failure)


def _is_awaited(future: asyncio.Future[None]) -> bool:
    return not future.done() and not future.get_loop().is_closed()
