"""The store: one SQLite file a study, written by one process.

A reply is durable before the engine acts on it: ``synchronous=FULL`` in a write-ahead log, and what
one turn of the event loop writes is committed together. ``docs/reference/store.md`` explains the tables.
"""

from __future__ import annotations

import math
import platform
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal, get_args

from orglab.providers.base import JSON
from orglab.providers.client.request_queue import LimitChange
from orglab.providers.registry import Group, plugin_names, plugin_version
from orglab.providers.structured_output.strict_json import dumps, escape_surrogates
from orglab.results.records import CallEntry, RunStatus, Score
from orglab.results.store.group_commit import GroupCommit, Row, StoreError
from orglab.results.store.journal.run_journal import RunJournal, StoredRun
from orglab.results.store.lock import StudyLock
from orglab.results.store.reader import Reader, check_format, study_file
from orglab.results.store.rename_arms import Renaming, rename_arms
from orglab.results.store.retry import failed_judges, put_judges_aside, reopen
from orglab.results.store.row_codec import blob_hashes, entry_of_row
from orglab.results.store.run_id import text_digest
from orglab.results.store.schema import APPLICATION, DDL, FORMAT

_KNOWN_BLOBS = 65_536
_CHECKPOINT_PAGES = 4_000  # 16 MB of log: a fold into the file costs two syncs


class Store(Reader):
    """A study's file, open for writing; it is made where there is none.

    Args:
        place: The file, or a folder in which it is called ``study.sqlite``.

    Raises:
        StudyLocked: Another process is writing it.
        StoreError: It is no study, of a later format, or a link.
    """

    def __init__(self, place: Path) -> None:
        if not place.suffix:
            place.mkdir(parents=True, exist_ok=True)
        self.path = study_file(place)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        _refuse_links(self.path)
        self._lock = StudyLock(self.path)
        try:
            self._connection = _open_to_write(self.path)
        except BaseException:
            self._lock.release()
            raise
        self.commits = GroupCommit(self._connection)
        self._closed = False
        self._known: dict[str, None] = {}
        self.session = self._largest("session", "sessions")
        self._next_run = self._largest("run", "runs") + 1
        self._journals: dict[str, RunJournal] = {}

    def _largest(self, column: str, table: str) -> int:
        sql = f"SELECT MAX({column}) FROM {table}"  # noqa: S608 - constants
        return int(self._connection.execute(sql).fetchone()[0] or 0)

    def _settle(self, run_id: str | None = None) -> None:
        # What a finished run left was durable before `finish` returned.
        if run_id is None or run_id in self._journals:
            self.commits.flush()

    def flush(self) -> None:
        """Commit what is pending, now.

        Raises:
            StoreError: It cannot be written.
        """
        self.commits.flush()

    def close(self) -> None:
        """Commit what is pending, fold the log into the file and release the lock.

        After a failed commit there is nothing to commit; a second call does nothing.

        Raises:
            StoreError: It cannot be written; the file is closed all the same.
        """
        if self._closed:
            return
        self._closed = True
        try:
            if not self.commits.failed:
                self.commits.flush()
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            self._connection.close()
            self._lock.release()

    async def write(self, rows: Iterable[tuple[str, Row]]) -> None:
        """Write ``(statement, row)`` pairs of ``schema.STATEMENTS``; durable when it returns.

        Raises:
            StoreError: They cannot be written.
        """
        await self.commits.write(rows)

    def keep_blob(self, value: JSON) -> str:
        """Store a value once a study and return its hash; durable with the next commit.

        Raises:
            ValueError: It is no strict JSON.
            StoreError: An earlier commit failed.
        """
        text = dumps(value)
        name = text_digest(text)
        if name in self._known:
            del self._known[name]  # to stand last again
        else:
            self.commits.add("blob", [(name, text)])
            if len(self._known) >= _KNOWN_BLOBS:
                del self._known[next(iter(self._known))]
        self._known[name] = None
        return name

    def add_spec(self, spec_hash: str, *, kind: str, name: str, normal: Mapping[str, JSON]) -> None:
        """Freeze a spec under its hash; durable with the next commit. The first one stays."""
        self.commits.add("spec", [(spec_hash, kind, name, dumps(normal), _now())])

    def add_limit_change(self, change: LimitChange) -> None:
        """Record a change of an account's limit; durable with the next commit."""
        at = datetime.fromtimestamp(change.at, UTC)
        texts = (escape_surrogates(change.account), change.limit, escape_surrogates(change.why))
        self.commits.add("limit", [(self.session, _iso(at), *texts)])

    def open_run(
        self,
        run_id: str,
        *,
        arm: str,
        unit: str,
        inputs: Mapping[str, JSON],
        extra: Mapping[str, JSON],
        replicate: int,
        seed: int,
        spec_hash: str,
        order: int,
    ) -> RunJournal:
        """Return the journal of a run: a new one, or one that earlier processes left.

        Raises:
            StoreError: The run is open already, or stands here with another spec or unit.
        """
        if run_id in self._journals:
            raise StoreError(f"run {run_id} is open already")
        sql = "SELECT run, status, spec, unit, retries FROM runs WHERE id=?"
        known = next(self.rows(sql, (run_id,)), None)
        if known is None:
            keep = self.keep_blob
            head = (
                run_id,
                escape_surrogates(arm),
                escape_surrogates(unit),
                replicate,
                seed,
                spec_hash,
                order,
            )
            row = (self._next_run, *head, keep(inputs), keep(extra), "running", _now())
            self.commits.add("run", [row])
            journal = self._journal(self._next_run, run_id, "running", StoredRun())
            self._next_run += 1
        elif (known["spec"], known["unit"]) != (spec_hash, escape_surrogates(unit)):
            raise StoreError(
                f"run {run_id} is known in {self.path} with spec {known['spec']} and unit "
                f"{known['unit']!r}, not {spec_hash} and {unit!r}"
            )
        else:
            earlier = self._earlier(known["run"], known["retries"])
            journal = self._journal(known["run"], run_id, known["status"], earlier)
        self._journals[run_id] = journal
        return journal

    def _journal(self, run: int, run_id: str, status: RunStatus, earlier: StoredRun) -> RunJournal:
        return RunJournal(self, run=run, run_id=run_id, status=status, earlier=earlier)

    def _earlier(self, run: int, retries: int) -> StoredRun:
        entries = {entry.position: entry for entry in self.entries(run)}
        events = "SELECT run, seq, tick, kind, body FROM events WHERE run=?"
        attempts = "SELECT position, number, retry, again FROM attempts WHERE run=? ORDER BY number"
        begun = list(self.rows(attempts, (run,)))
        current = {row["position"] for row in begun if row["retry"] == retries}
        return StoredRun(
            entries=entries,
            events={row["seq"]: tuple(row) for row in self.rows(events, (run,))},
            attempts={row["position"]: row["number"] for row in begun},
            in_flight=frozenset(current - set(entries)),
            asked_again=sum(row["again"] for row in begun),
            retries=retries,
        )

    def reply_to(self, identity: str) -> CallEntry | None:
        """Return a durable call of this identity that is an answer, or None.

        Failures, refusals, replies cut by a limit and replies that could not be read are none.
        """
        sql = "SELECT * FROM calls WHERE identity=? AND superseded=0 ORDER BY run, position"
        for row in list(self.rows(sql, (identity,))):
            entry = entry_of_row("calls", row, self.blobs(blob_hashes(iter([row]))))
            if isinstance(entry, CallEntry) and entry.is_answer:
                return entry
        return None

    def judging(self, run_id: str) -> RunJournal:
        """Return a journal for the judges' calls of an ended run; other calls stay as they are.

        Calls of judges that could not be made are put aside, to be made again: a failure is no
        verdict. One that gave nothing readable stays.

        Raises:
            StoreError: The run is unknown, or it cannot be written.
        """
        row = self._run(run_id)
        self.commits.flush()
        put_judges_aside(self._connection, row["run"])
        earlier = self._earlier(row["run"], row["retries"])
        return self._journal(row["run"], run_id, row["status"], earlier)

    def judges_failed(self, run_id: str) -> bool:
        """Return whether a call of a judge of an ended run could not be made.

        Raises:
            StoreError: The run is unknown.
        """
        self.commits.flush()
        return bool(failed_judges(self._connection, self._run(run_id)["run"]))

    async def finish(
        self,
        run_id: str,
        *,
        status: Literal["completed", "stopped", "failed"],
        reason: str = "",
        answer: str | None = None,
        last: str | None = None,
        seconds: float | None = None,
    ) -> None:
        """End an open run and release its journal; durable when it returns.

        Args:
            run_id: The run.
            status: How it ended.
            reason: What stopped or failed it, in words.
            answer: Id of the output that is the answer.
            last: Id of the last output of an output role.
            seconds: Seconds on the run's critical path.

        Raises:
            StoreError: The run is not open, or it cannot be written.
        """
        journal = self._journals.pop(run_id, None)
        if journal is None:
            raise StoreError(f"run {run_id} is not open")
        totals = journal.totals
        row = (
            *(status, escape_surrogates(reason), answer, last),
            *(totals.turns, totals.loops, totals.forced, totals.calls, totals.tool_calls),
            *(totals.tokens_input, totals.tokens_output),
            *(totals.cost_usd, totals.priced_usd, totals.unpriced),
            *(totals.service_seconds, totals.waiting_seconds, seconds, totals.simulated),
            *(journal.asked_again, journal.diverged, _now(), journal.run),
        )
        await self.commits.write([("end", row)])

    def leave(self, run_id: str) -> None:
        """Release an open run that did not end (Ctrl-C); it stays ``running``.

        Raises:
            StoreError: What it wrote cannot be committed.
        """
        self._journals.pop(run_id, None)
        self.commits.flush()

    def rename_arms(self, renamings: Iterable[Renaming]) -> None:
        """Give the runs of arms other names, all at once.

        Raises:
            StoreError: A run is open; or it cannot be written, and nothing has changed.
        """
        if self._journals:
            raise StoreError("no run is renamed while runs are under way")
        self.commits.flush()
        rename_arms(self._connection, renamings)

    def reopen(self, run_id: str, positions: Collection[str] | None = None) -> None:
        """Set a failed run to ``running``, to resume from its last durable reply.

        The entries that failed it are kept as superseded and no longer given to the engine; events
        from the failure on are removed, its reason is added to ``runs.failures``.

        Args:
            run_id: The run.
            positions: The entries that failed it; None: those with an error in its last tick,
                less those of copies that were skipped for their error.

        Raises:
            StoreError: The run is unknown, open, or has not failed.
        """
        if run_id in self._journals:
            raise StoreError(f"run {run_id} is open")
        row = self._run(run_id)
        if row["status"] != "failed":
            raise StoreError(f"run {run_id} is {row['status']}; only failed runs are tried again")
        reopen(self._connection, row, self.entries(row["run"]), self.events(row["run"]), positions)

    async def add_scores(
        self,
        run_id: str,
        evaluator: str,
        arguments_key: str,
        scores: Sequence[Score],
        error: str | None = None,
    ) -> None:
        """Store an evaluator's scores of a run, in place of earlier ones.

        Args:
            run_id: The run.
            evaluator: The evaluator's registered name.
            arguments_key: Its arguments as canonical JSON, or their hash.
            scores: What it measured. A value that is not finite is kept as missing, and so said.
            error: Why it could not measure, or None.

        Raises:
            StoreError: The run is unknown, or it cannot be written.
        """
        journal = self._journals.get(run_id)
        run = journal.run if journal else self._run(run_id)["run"]
        key = (run, evaluator, arguments_key)
        rows: list[tuple[str, Row]] = [("unscore", key)]
        rows.append(("evaluation", (*key, error and escape_surrogates(error))))
        rows += [("score", (*key, *_score_row(score))) for score in scores]
        await self.commits.write(rows)


def _score_row(score: Score) -> Row:
    value, reason = score.value, score.reason
    if isinstance(value, float | int) and not math.isfinite(value):
        value, reason = None, f"the evaluator gave {score.value}. {reason}".rstrip()
    number = None if value is None or isinstance(value, str) else float(value)
    label = escape_surrogates(value) if isinstance(value, str) else None
    passed = score.passed
    texts = (escape_surrogates(reason), dumps(score.detail))
    return (escape_surrogates(score.name), score.scale, number, label, passed, *texts)


def _now() -> str:
    return _iso(datetime.now(UTC))


def _iso(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def versions() -> dict[str, JSON]:
    """Return versions of Python, orglab, what orglab depends on, and every plugin."""
    names = [name for line in requires("orglab") or () if (name := _required(line))]
    groups = get_args(Group)
    return {
        "orglab": version("orglab"),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "dependencies": {name: found for name in names if (found := _installed(name))},
        "plugins": {
            group: {name: plugin_version(group, name) for name in plugin_names(group)}
            for group in groups
        },
    }


def _required(line: str) -> str:
    """Return ``pandas`` of ``pandas>=2.2; extra == "x"``."""
    end = next((at for at, sign in enumerate(line) if sign in " <>=!~;["), len(line))
    return line[:end]


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _refuse_links(study: Path) -> None:
    """Refuse links: in a stranger's folder one could name any file."""
    for end in ("", "-wal", "-shm", "-journal"):
        if study.with_name(study.name + end).is_symlink():
            raise StoreError(f"{study}{end} is a link: name the folder of the real file")


def _open_to_write(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        is_new = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0] == 0
        if not is_new:
            check_format(connection, path)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_PAGES}")
        connection.execute("BEGIN IMMEDIATE")
        if is_new:
            _make_tables(connection)
        session = "INSERT INTO sessions (opened, versions) VALUES (?, ?)"
        connection.execute(session, (_now(), dumps(versions())))
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        connection.close()
        raise StoreError(f"{path} cannot be opened: {error}") from error
    except StoreError:
        connection.close()
        raise
    return connection


def _make_tables(connection: sqlite3.Connection) -> None:
    for statement in filter(str.strip, DDL.split(";")):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id={APPLICATION}")
    connection.execute(f"PRAGMA user_version={FORMAT}")
    about = {"format": str(FORMAT), "created": _now()}
    about |= {
        key: value if isinstance(value, str) else dumps(value) for key, value in versions().items()
    }
    connection.executemany("INSERT INTO meta VALUES (?, ?)", about.items())
