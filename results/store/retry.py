"""Trying a failed run again: what failed it is put aside, and kept."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

from orglab.providers.structured_output.strict_json import dumps, loads_stored
from orglab.results.records import DecisionEntry, Event, JournalEntry, ToolEntry
from orglab.results.store.group_commit import StoreError


def failing_positions(entries: Sequence[JournalEntry], events: Sequence[Event]) -> list[str]:
    """Return positions of the calls and decisions with an error that failed a run.

    A run fails in its last tick. A turn that was skipped there for its error, and a review that
    left its output unreviewed, did not fail it.
    """
    last = max((event.tick for event in events), default=0)
    skipped = _skipped([event for event in events if event.tick == last])
    return [
        entry.position
        for entry in entries
        if not isinstance(entry, ToolEntry)
        and entry.error is not None
        and entry.position.split(".")[0] == str(last)
        and not _is_of(entry, skipped)
    ]


def _is_of(entry: JournalEntry, turns: set[tuple[str, int]]) -> bool:
    """Return whether an entry belongs to one of ``turns``; a check names only the copy."""
    visit = None if isinstance(entry, DecisionEntry) else entry.visit
    return any(entry.copy == name and visit in (None, number) for name, number in turns)


def _skipped(events: Sequence[Event]) -> set[tuple[str, int]]:
    """Copy and visit of every turn and review that was skipped for its error."""
    found: set[tuple[str, int]] = set()
    turns: dict[str, int] = {}
    reviews: dict[tuple[str, str], tuple[str, int]] = {}
    for event in events:
        body = event.body
        if event.kind == "turn":
            turns[body["copy"]] = body["visit"]
        elif event.kind == "review":
            reviews[body["link"], body["output"]] = (body["superior"], body["visit"])
        elif event.kind == "unreviewed" and (body["link"], body["output"]) in reviews:
            found.add(reviews[body["link"], body["output"]])
        elif event.kind == "skipped" and body.get("why") == "error" and body["copy"] in turns:
            found.add((body["copy"], turns[body["copy"]]))
    return found


def _failure(events: Sequence[Event]) -> int | None:
    """Return the ``seq`` of the first event of the failure; it may be a skipped turn's."""
    last = max((event.tick for event in events), default=0)
    for event in events:
        if event.kind == "ended" or (event.kind == "turn_failed" and event.tick == last):
            return event.seq
    return None


def failed_judges(connection: sqlite3.Connection, run: int) -> list[str]:
    """Return positions of the calls of judges of a run that could not be made."""
    sql = """SELECT position FROM calls WHERE run=? AND superseded=0 AND purpose='judge'
             AND error IS NOT NULL AND error NOT LIKE 'unreadable%'"""
    return [position for (position,) in connection.execute(sql, (run,)).fetchall()]


def put_judges_aside(connection: sqlite3.Connection, run: int) -> None:
    """Put aside the calls of judges of a run that could not be made.

    Raises:
        StoreError: It cannot be written.
    """
    failed = failed_judges(connection, run)
    if not failed:
        return
    aside = """UPDATE calls SET superseded=1 + (SELECT MAX(superseded) FROM calls c
               WHERE c.run=calls.run AND c.position=calls.position)
               WHERE run=? AND position=? AND superseded=0"""
    try:
        connection.executemany(aside, [(run, position) for position in failed])
    except sqlite3.Error as error:
        raise StoreError(f"a judge's call cannot be put aside: {error}") from error


def reopen(
    connection: sqlite3.Connection,
    row: sqlite3.Row,
    entries: Sequence[JournalEntry],
    events: Sequence[Event],
    positions: Collection[str] | None,
) -> None:
    """Put aside the entries at ``positions``, and the events from the failure on.

    Args:
        connection: The study's file, outside any transaction.
        row: The run's row.
        entries: Its valid entries.
        events: Its events, in order.
        positions: Where it failed; None: ``failing_positions``.

    Raises:
        StoreError: It cannot be written; nothing has changed.
    """
    run, retries = row["run"], row["retries"] + 1
    where = failing_positions(entries, events) if positions is None else positions
    failures = [*loads_stored(row["failures"]), row["reason"]]
    cut = _failure(events)
    try:
        connection.execute("BEGIN IMMEDIATE")
        for table in ("calls", "decisions"):
            sql = f"UPDATE {table} SET superseded=? WHERE run=? AND position=? AND superseded=0"  # noqa: S608 - constants
            connection.executemany(sql, [(retries, run, position) for position in where])
        if cut is not None:
            connection.execute("DELETE FROM events WHERE run=? AND seq>=?", (run, cut))
        connection.execute(
            "UPDATE runs SET status='running', reason='', answer=NULL, last=NULL, ended=NULL, "
            "retries=?, failures=? WHERE run=?",
            (retries, dumps(failures), run),
        )
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise StoreError(f"run {row['id']} cannot be opened again: {error}") from error
