"""Reading a study's file: runs one after another, one run whole, scores."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Self, cast

from orglab.providers.base import JSON
from orglab.providers.structured_output.strict_json import loads_stored
from orglab.results.records import Event, JournalEntry, RunRecord, RunStatus, Scale, Score
from orglab.results.store.group_commit import StoreError
from orglab.results.store.journal.history import run_record
from orglab.results.store.journal.journal import position_key
from orglab.results.store.migrations import upgrade
from orglab.results.store.row_codec import blob_hashes, entry_of_row, event_of_row
from orglab.results.store.schema import APPLICATION, FORMAT

RUN_COUNTS = ("turns", "loops", "forced", "calls", "tool_calls", "tokens_input", "tokens_output")
RUN_MEASURES = (*RUN_COUNTS, "tokens", "cost_usd", "seconds")
RUN_FIGURES = frozenset(("arm", "unit", "replicate", "status", "reason", *RUN_MEASURES))
"""Columns that every table of runs has."""
_MANY = 500
_ENTRY_TABLES = ("calls", "tool_calls", "decisions")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRow:
    """One run in a list of runs.

    Attributes:
        run: Its number in the file.
        id: Its id.
        arm: Its arm.
        unit: Its unit.
        replicate: From 0.
        seed: The root seed.
        spec: The hash of its spec.
        ordinal: Its place in the plan.
        status: How it ended, or ``running``.
        reason: What stopped or failed it, in words.
        answer: Id of the output that is the answer, or None.
        last: Id of the last output of an output role, or None.
        turns: Turns, reviews by a model included.
        loops: Verdicts that obliged, and uses of closing links.
        forced: Outputs delivered against an objection, the cap being used up.
        calls: Model calls.
        tool_calls: Tool calls.
        tokens_input: Tokens read.
        tokens_output: Tokens written.
        cost_usd: US dollars; None where a call's price is unknown.
        priced_usd: US dollars of the calls whose price is known.
        unpriced: Calls whose price is unknown.
        service_seconds: Seconds of service, summed over calls.
        waiting_seconds: Seconds of waiting, summed over calls.
        seconds: Seconds on the run's critical path, or None.
        simulated: A call was not answered by a language model.
        asked_again: Calls retried after a crash.
        retries: How often it was tried again after it had failed.
        diverged: First event that a replay gave otherwise, or None.
        started: When it was first opened (UTC, ISO 8601).
        ended: When it ended, or None.
    """

    run: int
    id: str
    arm: str
    unit: str
    replicate: int
    seed: int
    spec: str
    ordinal: int
    status: RunStatus
    reason: str
    answer: str | None
    last: str | None
    turns: int
    loops: int
    forced: int
    calls: int
    tool_calls: int
    tokens_input: int
    tokens_output: int
    cost_usd: float | None
    priced_usd: float
    unpriced: int
    service_seconds: float
    waiting_seconds: float
    seconds: float | None
    simulated: bool
    asked_again: int
    retries: int
    diverged: int | None
    started: str
    ended: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """What one evaluator made of one run.

    Attributes:
        run_id: The run.
        evaluator: Its registered name.
        arguments: Its arguments, as a key.
        scores: What it measured.
        error: Why it could not measure, or None.
    """

    run_id: str
    evaluator: str
    arguments: str
    scores: tuple[Score, ...]
    error: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitRow:
    """How many calls an account might have under way at once, from a moment on.

    Attributes:
        session: Number of the process that learned it.
        at: When (UTC, ISO 8601).
        account: The server's address and the name of the variable that holds the key.
        limit: Calls at once.
        why: What changed it, in words.
    """

    session: int
    at: str
    account: str
    limit: int
    why: str


_RUN_COLUMNS = ", ".join(field.name for field in fields(RunRow))


def study_file(place: Path) -> Path:
    """Return the study's file: ``place`` itself, or ``study.sqlite`` in the folder ``place``."""
    return place / "study.sqlite" if place.is_dir() else place


def check_format(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse files that are no studies or of a later format; migrate older ones.

    Raises:
        StoreError: It is one of these.
    """
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION:
        raise StoreError(f"{path} is a SQLite file, but no study of orglab")
    if version > FORMAT:
        raise StoreError(
            f"{path} has format {version}, and this orglab reads formats up to {FORMAT}; "
            "install a newer orglab"
        )
    if version < FORMAT:
        upgrade(path)


class Reader:
    """A study's file, open for reading; a process that writes it is not disturbed.

    Args:
        place: The file, or its folder.

    Raises:
        StoreError: There is no such file, or it is no study.
    """

    def __init__(self, place: Path) -> None:
        self.path = study_file(place)
        self._found_log = _has_log(self.path)
        self._connection = _open_to_read(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and remove the files that reading made beside it."""
        self._connection.close()
        if not self._found_log and _has_log(self.path):
            _tidy(self.path)

    def _settle(self, run_id: str | None = None) -> None:
        """Make what this process has written (of one run) visible to reading."""

    def rows(self, sql: str, arguments: Iterable[JSON] = ()) -> Iterator[sqlite3.Row]:
        """Return the rows of a query, one after another."""
        cursor = self._connection.cursor()
        cursor.row_factory = sqlite3.Row
        return cast("Iterator[sqlite3.Row]", cursor.execute(sql, tuple(arguments)))

    def meta(self) -> dict[str, str]:
        """Format, versions and whatever else the study says of itself."""
        return {row["key"]: row["value"] for row in self.rows("SELECT key, value FROM meta")}

    def spec(self, spec_hash: str) -> JSON | None:
        """Return the frozen canonical form of a spec, or None where the study has no such spec."""
        self._settle()
        for row in self.rows("SELECT normal FROM specs WHERE hash=?", (spec_hash,)):
            return loads_stored(row["normal"])
        return None

    def runs(self, *, status: RunStatus | None = None, after: int = 0) -> Iterator[RunRow]:
        """Yield runs in the order in which they were first opened, loaded in batches.

        Args:
            status: Only these.
            after: Only runs with a higher number.
        """
        where, more = ("AND status=?", [status]) if status else ("", [])
        sql = f"SELECT {_RUN_COLUMNS} FROM runs WHERE run>? {where} ORDER BY run LIMIT {_MANY}"  # noqa: S608 - constants
        self._settle()
        while True:
            found = [_run_row(row) for row in self.rows(sql, [after, *more])]
            yield from found
            if len(found) < _MANY:
                return
            after = found[-1].run

    def statuses(self) -> dict[str, RunStatus]:
        """Return the status of every run by id."""
        self._settle()
        return {row["id"]: row["status"] for row in self.rows("SELECT id, status FROM runs")}

    def find(self, prefix: str) -> RunRow:
        """Return the one run whose id begins with ``prefix``.

        Raises:
            StoreError: No run, or several, begin so.
        """
        self._settle()
        sql = f"SELECT {_RUN_COLUMNS} FROM runs WHERE substr(id, 1, length(?1))=?1 LIMIT 3"  # noqa: S608 - constants
        found = [_run_row(row) for row in self.rows(sql, (prefix,))]
        exact = [row for row in found if row.id == prefix]
        if len(exact or found) != 1:
            how = "several runs have ids that begin" if found else "no run has an id that begins"
            raise StoreError(f"{self.path}: {how} with {prefix!r}")
        return (exact or found)[0]

    def record(self, run_id: str) -> RunRecord:
        """Return a run's complete record.

        Raises:
            StoreError: There is no such run.
        """
        self._settle(run_id)
        row = self._run(run_id)
        about = {
            "inputs": self._blob(row["inputs"]),
            "extra": self._blob(row["extra"]),
            **{name: row[name] for name in ("id", "arm", "unit", "replicate", "seed")},
            **{name: row[name] for name in ("status", "reason", "answer", "last")},
            "asked_again": self._asked_again(row),
        }
        return run_record(about, self.events(row["run"]), self.entries(row["run"]))

    def inputs(self, run: int) -> tuple[JSON, JSON]:
        """Return inputs and other columns of the unit of the run with number ``run``."""
        row = next(self.rows("SELECT inputs, extra FROM runs WHERE run=?", (run,)))
        return self._blob(row["inputs"]), self._blob(row["extra"])

    def _asked_again(self, row: sqlite3.Row) -> int:
        if row["status"] != "running":
            return int(row["asked_again"])
        sql = "SELECT TOTAL(again) AS n FROM attempts WHERE run=?"
        return int(next(self.rows(sql, (row["run"],)))["n"])

    def _run(self, run_id: str) -> sqlite3.Row:
        for row in self.rows("SELECT * FROM runs WHERE id=?", (run_id,)):
            return row
        raise StoreError(f"{self.path} has no run {run_id!r}")

    def _blob(self, name: str) -> JSON:
        rows = self.rows("SELECT text FROM blobs WHERE hash=?", (name,))
        return loads_stored(next(rows)["text"])

    def blobs(self, names: Iterable[str]) -> dict[str, str]:
        """Return stored texts by hash."""
        asked = list(names)
        found: dict[str, str] = {}
        for start in range(0, len(asked), _MANY):
            part = asked[start : start + _MANY]
            marks = ",".join("?" * len(part))
            sql = f"SELECT hash, text FROM blobs WHERE hash IN ({marks})"  # noqa: S608 - marks only
            found.update((row["hash"], row["text"]) for row in self.rows(sql, part))
        return found

    def events(self, run: int) -> list[Event]:
        """Return the events of the run with number ``run``, in order."""
        sql = "SELECT seq, tick, kind, body FROM events WHERE run=? ORDER BY seq"
        return [event_of_row(tuple(row)) for row in self.rows(sql, (run,))]

    def entries(self, run: int, *, superseded: bool = False) -> list[JournalEntry]:
        """Return the entries of the run with number ``run``, in the order of their positions.

        Args:
            run: The run's number.
            superseded: Those that a retry put aside, in place of the valid ones.
        """
        sign = ">" if superseded else "="
        found: list[JournalEntry] = []
        for table in _ENTRY_TABLES:
            sql = f"SELECT * FROM {table} WHERE run=? AND superseded{sign}0"  # noqa: S608 - constants
            rows = list(self.rows(sql, (run,)))
            texts = self.blobs(blob_hashes(iter(rows))) if table == "calls" else {}
            found += [entry_of_row(table, row, texts) for row in rows]
        return sorted(found, key=lambda entry: position_key(entry.position))

    def limit_changes(self) -> list[LimitRow]:
        """Return how the limits of accounts changed, in order."""
        self._settle()
        sql = "SELECT session, at, account, lim, why FROM limits ORDER BY rowid"
        return [
            LimitRow(session=session, at=at, account=account, limit=limit, why=why)
            for session, at, account, limit, why in self.rows(sql)
        ]

    def evaluations(self, run_id: str | None = None) -> Iterator[Evaluation]:
        """Yield what evaluators made of one run, or of every run."""
        self._settle(run_id)
        where, arguments = (" WHERE r.id=?", [run_id]) if run_id is not None else ("", [])
        sql = f"""SELECT r.id, e.* FROM evaluations e JOIN runs r USING (run){where}
                  ORDER BY e.run, e.evaluator, e.arguments"""  # noqa: S608 - constants
        scores = "SELECT * FROM scores WHERE run=? AND evaluator=? AND arguments=? ORDER BY name"
        for row in self.rows(sql, arguments):
            key = (row["run"], row["evaluator"], row["arguments"])
            yield Evaluation(
                run_id=row["id"],
                evaluator=row["evaluator"],
                arguments=row["arguments"],
                scores=tuple(score_of_row(score) for score in self.rows(scores, key)),
                error=row["error"],
            )

    def measured(self, run_id: str) -> set[tuple[str, str]]:
        """Return evaluator and arguments of what has measured a run."""
        self._settle(run_id)
        sql = """SELECT evaluator, arguments FROM evaluations
                 WHERE run=(SELECT run FROM runs WHERE id=?)"""
        return {(row[0], row[1]) for row in self.rows(sql, (run_id,))}

    def scores(self, run_id: str) -> tuple[Score, ...]:
        """Return every score of a run."""
        return tuple(score for found in self.evaluations(run_id) for score in found.scores)


def score_of_row(row: sqlite3.Row) -> Score:
    """Return the score that a row of ``scores`` holds."""
    scale: Scale = row["scale"]
    value = row["value"] if row["label"] is None else row["label"]
    return Score(
        name=row["name"],
        value=bool(value) if scale == "binary" and value in (0.0, 1.0) else value,
        scale=scale,
        reason=row["reason"],
        passed=None if row["passed"] is None else bool(row["passed"]),
        detail=loads_stored(row["detail"]),
    )


def _run_row(row: sqlite3.Row) -> RunRow:
    values = {name: row[name] for name in row.keys()}  # noqa: SIM118 - a Row iterates over values
    return RunRow(**values | {"simulated": bool(values["simulated"])})


def _has_log(path: Path) -> bool:
    """Return whether a write-ahead log exists beside the file."""
    return path.with_name(path.name + "-wal").exists()


def _tidy(path: Path) -> None:
    """Let SQLite remove an empty log and its index, never those of a writer."""
    with suppress(sqlite3.Error):  # where the folder cannot be written, they stay
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)
        try:
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
        finally:
            connection.close()


def _open_to_read(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise StoreError(f"{path} does not exist: no study was run there")
    # A folder that cannot be written has no room for the write-ahead log's index: where there is
    # no log, the file is whole without one.
    alone = not _has_log(path)
    for mode in ("mode=ro", "mode=ro&immutable=1") if alone else ("mode=ro",):
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)
        try:
            check_format(connection, path)
        except sqlite3.Error as error:
            connection.close()
            failure = StoreError(f"{path} cannot be read: {error}")
        except StoreError:
            connection.close()
            raise
        else:
            return connection
    raise failure
