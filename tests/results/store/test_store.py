"""The store: durability, group commits, one writer, resuming, retrying."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orglab.results.records import CallEntry, DecisionEntry, Event, JournalEntry, Score, ToolEntry
from orglab.results.store.group_commit import StoreError
from orglab.results.store.journal.journal import Attempt, JournalError
from orglab.results.store.journal.run_journal import RunJournal
from orglab.results.store.lock import StudyLocked
from orglab.results.store.reader import Reader
from orglab.results.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A new study."""
    store = Store(tmp_path)
    yield store
    store.close()


def open_run(store: Store, run_id: str = "run-1", **changes: Any) -> RunJournal:
    """A run of the study, new or known."""
    about: dict[str, Any] = {
        "arm": "flat",
        "unit": "u1",
        "inputs": {"product": "Laptop"},
        "extra": {"reference": 3},
        "replicate": 0,
        "seed": 7,
        "spec_hash": "5bec",
        "order": 0,
    }
    return store.open_run(run_id, **about | changes)


def call(position: str, text: str = "a reply", **changes: Any) -> CallEntry:
    """A call with everything that a call can have."""
    body: dict[str, Any] = {
        "provider": "scripted",
        "model": "m",
        "request": {
            "params": {"temperature": 0.5},
            "seed": 12,
            "messages": [
                {"role": "system", "content": "You write."},
                {"role": "user", "content": f"Go on from {position}."},
            ],
            "tools": [{"name": "head", "description": "Rows.", "parameters": {"type": "object"}}],
            "schema": {"type": "object", "properties": {"b": {}, "a": {}}},
        },
        "copy": "writer",
        "role": "writer",
        "purpose": "turn",
        "visit": 1,
        "text": text,
        "tool_calls": [],
        "native": True,
        "reasoning": "",
        "stop": "stop",
        "tokens": {"input": 10, "output": 5, "cached_input": 2, "reasoning": 1},
        "served": "m-2026",
        "fingerprint": None,
        "service_seconds": 1.5,
        "waiting_seconds": 0.25,
        "attempts": 3,
        "cut": 2,
        "reserved_usd": 0.5,
        "simulated": False,
        "logprobs": [{"token": "a", "logprob": -0.1}],
        "notes": ["temperature dropped"],
        "read": {"how": "native"},
        "cost_usd": 0.25,
        "error": None,
    }
    return CallEntry(**{"position": position, "identity": "id-" + position, **body, **changes})


def fault(position: str, copy: str = "writer") -> CallEntry:
    """A call that gave no answer."""
    error = {"kind": "unavailable", "message": "the server is down"}
    return call(position, "", error=error, copy=copy, cost_usd=None)


def tool(position: str, result: Any = None) -> ToolEntry:
    """A tool call."""
    body = {
        "copy": "writer",
        "role": "writer",
        "visit": 1,
        "tool": "head",
        "arguments": {"rows": 3},
        "result": result,
        "error": False,
        "refused": "",
        "seconds": 0.5,
        "prompt": False,
    }
    return ToolEntry(**{"position": position, **body})


def event(seq: int, kind: str, tick: int = 1, **body: Any) -> Event:
    """An event."""
    return Event(seq=seq, tick=tick, kind=kind, body=body)


async def test_gives_back_each_entry_exactly_as_it_was_kept(tmp_path: Path, store: Store) -> None:
    """Calls, tool results and decisions come back equal, key order of schemas included."""
    hostile = "\ud800 \x00 \u2028 \x1b[2J é 👨‍👩‍👧"
    kept: list[JournalEntry] = [
        call("1.turn.0.0", hostile, logprobs={"x": [1, None]}),
        tool("1.turn.0.1", {"rows": [1.5, hostile]}),
        DecisionEntry(position="2.money.0.0", what="money"),
    ]
    journal = open_run(store)
    for entry in kept:
        await journal.keep(entry)
    store.close()
    with_more = Store(tmp_path)
    again = open_run(with_more)
    found = [again.recorded(entry.position) for entry in kept]
    with_more.close()
    assert found == kept
    assert isinstance(found[0], CallEntry)
    assert list(found[0].request["schema"]["properties"]) == ["b", "a"]


async def test_stores_the_same_text_once(store: Store) -> None:
    """Equal messages, tools and schemas of a study share one blob."""
    for number in range(3):
        journal = open_run(store, f"run-{number}")
        await journal.keep(call("1.turn.0.0"))
    assert next(store.rows("SELECT COUNT(*) AS n FROM blobs"))["n"] == 6  # inputs, extra, 4 texts


async def test_commits_once_for_all_who_write_in_one_turn_of_the_loop(store: Store) -> None:
    """64 writers, one commit."""
    journals = [open_run(store, f"run-{number}") for number in range(64)]
    await asyncio.gather(*(journal.keep(call("1.turn.0.0")) for journal in journals))
    assert store.commits.commits == 1


async def test_a_kept_entry_is_seen_by_another_connection_at_once(store: Store) -> None:
    """What keep acknowledged is committed."""
    journal = open_run(store)
    await journal.keep(call("1.turn.0.0"))
    with Reader(store.path) as reader:
        assert len(reader.record("run-1").calls) == 1


async def test_a_failed_commit_fails_every_waiting_writer(store: Store) -> None:
    """A full disk is told to all who wait, and nothing is taken afterwards."""
    journals = [open_run(store, f"run-{number}") for number in range(3)]
    store.flush()
    pages = next(store.rows("PRAGMA page_count"))["page_count"]
    store._connection.execute(f"PRAGMA max_page_count={pages}")
    keeps = [journal.keep(call("1.turn.0.0", "x" * 50_000)) for journal in journals]
    found = await asyncio.gather(*keeps, return_exceptions=True)
    assert [str(error) for error in found] == [
        "the study could not be written: database or disk is full"
    ] * 3
    with pytest.raises(StoreError, match="disk is full"):
        await journals[0].begin(Attempt(position="1.turn.1.0"))
    with pytest.raises(StoreError, match="disk is full"):
        journals[0].emit([event(0, "started")])
    assert next(store.rows("SELECT COUNT(*) AS n FROM calls"))["n"] == 0


async def test_a_cancelled_writer_does_not_disturb_the_others(store: Store) -> None:
    """Cancelling one of those who wait for a commit leaves it whole."""
    journals = [open_run(store, f"run-{number}") for number in range(2)]
    tasks = [asyncio.create_task(journal.keep(call("1.turn.0.0"))) for journal in journals]
    await asyncio.sleep(0)
    tasks[0].cancel()
    await tasks[1]
    assert len(store.record("run-0").calls) == len(store.record("run-1").calls) == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cost_usd": float("nan")}, "cost_usd must be a finite number"),
        ({"tokens": {"input": 2**70}}, r"usage\.input must be a whole number"),
        ({"logprobs": [float("inf")]}, "not JSON compliant"),
    ],
)
async def test_refuses_a_bad_value_without_harm_to_others(
    store: Store, changes: dict[str, Any], message: str
) -> None:
    """A value that no commit could hold is refused before it gets there."""
    journal = open_run(store)
    with pytest.raises(ValueError, match=message):
        await journal.keep(call("1.turn.0.0", **changes))
    await journal.keep(call("1.turn.0.0"))
    assert len(store.record("run-1").calls) == 1


async def test_refuses_a_second_entry_at_a_position(store: Store) -> None:
    """Each position is kept once, whatever the kind."""
    journal = open_run(store)
    await journal.keep(call("1.turn.0.0"))
    with pytest.raises(JournalError, match=r"position 1\.turn\.0\.0 is kept twice"):
        await journal.keep(tool("1.turn.0.0"))


def test_a_second_writer_is_refused_by_name(tmp_path: Path, store: Store) -> None:
    """The message names the process that writes."""
    with pytest.raises(StudyLocked, match=f"being written by process {os.getpid()}"):
        Store(tmp_path)


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    """A lock file alone locks nothing."""
    (tmp_path / "study.sqlite.lock").write_text("1")
    Store(tmp_path).close()
    assert [path.name for path in tmp_path.iterdir()] == ["study.sqlite"]


def test_refuses_other_files_and_later_formats(tmp_path: Path) -> None:
    """A foreign SQLite file, a text and a newer study are told apart."""
    foreign = tmp_path / "a.sqlite"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    with pytest.raises(StoreError, match="but no study of orglab"):
        Store(foreign)
    text = tmp_path / "b.sqlite"
    text.write_text("hello, this is no database at all")
    with pytest.raises(StoreError, match="cannot be opened: file is not a database"):
        Store(text)
    later = tmp_path / "c.sqlite"
    Store(later).close()
    with sqlite3.connect(later) as connection:
        connection.execute("PRAGMA user_version=99")
    connection.close()
    with pytest.raises(StoreError, match="has format 99, and this orglab reads formats up to 2"):
        Reader(later)
    with pytest.raises(StoreError, match="does not exist: no study was run there"):
        Reader(tmp_path / "nowhere")


def test_brings_older_formats_to_todays(tmp_path: Path) -> None:
    """A study of an older orglab is read, and its calls have the columns that came later."""
    older = tmp_path / "a.sqlite"
    Store(older).close()
    with sqlite3.connect(older) as connection:
        for change in ("TABLE limits", "COLUMN cut", "COLUMN reserved_usd"):
            kind, name = change.split()
            connection.execute(
                f"ALTER TABLE calls DROP {kind} {name}"
                if kind == "COLUMN"
                else f"DROP TABLE {name}"
            )
        connection.execute("PRAGMA user_version=1")
    connection.close()
    with Reader(older) as reader:
        assert list(reader.rows("SELECT cut, reserved_usd FROM calls")) == []
        assert reader.meta()["format"] == "2"
    Store(older).close()


def test_says_what_versions_made_it(store: Store) -> None:
    """Format, orglab, Python, dependencies and plugins stand in meta."""
    meta = store.meta()
    assert meta["format"] == "2"
    assert {"orglab", "python", "sqlite", "dependencies", "plugins"} <= set(meta)
    assert '"duckdb"' in meta["dependencies"]


async def test_counts_calls_in_flight_that_are_asked_again(tmp_path: Path) -> None:
    """A call begun and never kept is asked again once, and counted once."""
    store = Store(tmp_path)
    journal = open_run(store)
    for position in ("1.turn.0.0", "1.turn.1.0", "1.turn.2.0"):
        await journal.begin(Attempt(position=position, copy="writer"))
    await journal.keep(call("1.turn.0.0"))
    store.close()
    store = Store(tmp_path)
    journal = open_run(store)
    assert journal.recorded("1.turn.0.0") is not None
    assert journal.recorded("1.turn.1.0") is None
    await journal.begin(Attempt(position="1.turn.1.0", copy="writer"))
    await journal.keep(call("1.turn.1.0"))
    assert store.record("run-1").asked_again == 1
    store.close()
    store = Store(tmp_path)
    journal = open_run(store)
    await journal.begin(Attempt(position="1.turn.2.0", copy="writer"))
    await journal.keep(call("1.turn.2.0"))
    await store.finish("run-1", status="completed")
    assert store.record("run-1").asked_again == 2
    assert next(store.runs()).asked_again == 2
    store.close()


async def test_replayed_events_are_written_once(tmp_path: Path) -> None:
    """The same events again change nothing; others replace, and are told."""
    store = Store(tmp_path)
    journal = open_run(store)
    events = [event(0, "started", unit="u1"), event(1, "ended", status="completed", last=None)]
    journal.emit(events)
    await store.finish("run-1", status="completed")
    store.close()
    store = Store(tmp_path)
    journal = open_run(store)
    assert journal.status == "completed"
    journal.emit(events)
    assert journal.diverged is None
    journal.emit([event(1, "ended", status="stopped")])
    assert journal.diverged == 1
    await store.finish("run-1", status="stopped")
    assert [found.body for found in store.record("run-1").events][1] == {"status": "stopped"}
    assert next(store.runs()).diverged == 1
    store.close()


async def failed_run(store: Store) -> None:
    """A run that failed in tick 3, with errors in tick 2 and 3 that were skipped."""
    journal = open_run(store)
    await journal.keep(call("1.turn.0.0"))
    await journal.keep(fault("2.turn.0.0", copy="helper"))
    await journal.keep(fault("3.turn.0.0"))
    await journal.keep(fault("3.turn.1.0", copy="helper"))
    error = {"kind": "unavailable", "message": "x"}
    failed = DecisionEntry(position="3.fault.0.0", what="fault", copy="writer", error=error)
    await journal.keep(failed)
    journal.emit(
        [
            event(0, "started", 0),
            event(
                1, "output", id="writer@1", copy="writer", role="writer", visit=1, value=1, text=""
            ),
            event(2, "turn_failed", 2, copy="helper", visit=0),
            event(3, "turn", 3, copy="helper", visit=1),
            event(4, "skipped", 3, copy="helper", why="error"),
            event(5, "turn_failed", 3, copy="writer", visit=2),
            event(6, "ended", 3, status="failed", reason="down", answer=None, last="writer@1"),
        ]
    )
    await store.finish("run-1", status="failed", reason="down", last="writer@1")


async def test_a_failed_run_goes_on_from_its_last_durable_reply(tmp_path: Path) -> None:
    """What failed it is put aside and kept; skipped errors and good replies stay."""
    store = Store(tmp_path)
    await failed_run(store)
    store.reopen("run-1")
    journal = open_run(store)
    assert journal.status == "running"
    given = {"1.turn.0.0", "2.turn.0.0", "3.turn.1.0"}
    for position in given:
        assert journal.recorded(position) is not None
    assert journal.recorded("3.turn.0.0") is None
    assert journal.recorded("3.fault.0.0") is None
    await journal.begin(Attempt(position="3.turn.0.0"))
    await journal.keep(call("3.turn.0.0", "better"))
    await store.finish("run-1", status="completed", answer="writer@1")
    record = store.record("run-1")
    assert [found.text for found in record.calls] == ["a reply", "", "better", ""]
    assert record.asked_again == 0
    assert [found.kind for found in record.events] == [
        "started",
        "output",
        "turn_failed",
        "turn",
        "skipped",
    ]
    aside = store.entries(1, superseded=True)
    assert {entry.position for entry in aside} == {"3.turn.0.0", "3.fault.0.0"}
    assert next(store.rows("SELECT failures FROM runs"))["failures"] == '["down"]'
    assert next(store.runs()).retries == 1
    with pytest.raises(StoreError, match="is completed; only failed runs are tried again"):
        store.reopen("run-1")
    store.close()


async def test_a_retry_can_name_the_positions_that_failed(store: Store) -> None:
    """Named positions alone are put aside."""
    await failed_run(store)
    store.reopen("run-1", ["3.fault.0.0"])
    journal = open_run(store)
    assert journal.recorded("3.turn.0.0") is not None
    assert journal.recorded("3.fault.0.0") is None


async def test_a_run_is_never_opened_under_another_spec(store: Store) -> None:
    """The same id with another spec or unit is an error that shows both."""
    await store.commits.write([])
    open_run(store)
    store.leave("run-1")
    with pytest.raises(StoreError, match="with spec 5bec and unit 'u1', not other and 'u1'"):
        open_run(store, spec_hash="other")


async def test_totals_are_counted_and_unknown_costs_stay_unknown(store: Store) -> None:
    """Tokens, seconds, loops; a price that is not known makes the cost None, not less."""
    journal = open_run(store)
    await journal.keep(call("1.turn.0.0"))
    await journal.keep(tool("1.turn.0.1"))
    await journal.keep(call("1.turn.0.2", cost_usd=None, simulated=True))
    journal.emit(
        [
            event(0, "turn", copy="writer"),
            event(1, "review", link="boss>writer"),
            event(2, "verdict", obliged=True, output="writer@1", action="revise"),
            event(3, "verdict", forced=True, output="writer@2", action="revise"),
        ]
    )
    await store.finish("run-1", status="stopped", reason="turns", seconds=3.5)
    row = next(store.runs(status="stopped"))
    assert (row.turns, row.loops, row.forced, row.calls, row.tool_calls) == (2, 1, 1, 2, 1)
    assert (row.tokens_input, row.tokens_output, row.seconds) == (20, 10, 3.5)
    assert (row.cost_usd, row.priced_usd, row.unpriced, row.simulated) == (None, 0.25, 1, True)
    assert list(store.runs(status="completed")) == []


async def test_scores_replace_what_the_same_evaluator_gave_before(store: Store) -> None:
    """Types survive, NaN is missing and said so, failures are records."""
    open_run(store)
    first = [Score(name="old", value=1.0, scale="ratio")]
    scores = (
        Score(name="a", value=2.5, scale="ratio", detail={"by": {"writer": 2}}),
        Score(name="b", value=True, scale="binary", passed=True),
        Score(name="c", value="long", scale="nominal", reason="because"),
        Score(name="d", value=None, scale="count", reason="no answer"),
    )
    await store.add_scores("run-1", "length", "{}", first)
    await store.add_scores("run-1", "length", "{}", scores)
    assert store.scores("run-1") == scores
    await store.add_scores(
        "run-1", "nan", "{}", [Score(name="e", value=float("nan"), scale="ratio", reason="odd")]
    )
    await store.add_scores("run-1", "usage", "{}", [], error="no such column")
    found = {found.evaluator: found for found in store.evaluations()}
    assert found["nan"].scores[0].value is None
    assert found["nan"].scores[0].reason == "the evaluator gave nan. odd"
    assert found["usage"].error == "no such column"
    with pytest.raises(StoreError, match="has no run 'nobody'"):
        await store.add_scores("nobody", "length", "{}", scores)


async def test_finds_a_run_by_the_beginning_of_its_id(store: Store) -> None:
    """A prefix that fits one run is enough; none or several are errors."""
    for run_id in ("abc", "abd", "ab%", "abcd"):
        open_run(store, run_id)
    assert store.find("abd").id == "abd"
    assert store.find("abc").id == "abc"
    assert store.find("ab%").id == "ab%"
    with pytest.raises(StoreError, match="several runs have ids that begin with 'ab'"):
        store.find("ab")
    with pytest.raises(StoreError, match="no run has an id that begins with 'z'"):
        store.find("z")


async def test_runs_come_in_order_a_page_at_a_time(store: Store) -> None:
    """More runs than one page are all given, once."""
    for number in range(1203):
        open_run(store, f"run-{number}", order=number)
    assert [row.ordinal for row in store.runs()] == list(range(1203))


async def test_keeps_frozen_specs(store: Store) -> None:
    """The first spec under a hash stays."""
    store.add_spec("5bec", kind="topology", name="t", normal={"roles": {"b": 1, "a": 2}})
    store.add_spec("5bec", kind="topology", name="t", normal={})
    assert store.spec("5bec") == {"roles": {"b": 1, "a": 2}}
    assert store.spec("none") is None


def test_a_study_in_a_folder_that_cannot_be_written_can_be_read(tmp_path: Path) -> None:
    """The closed file is whole by itself."""
    store = Store(tmp_path)
    open_run(store)
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["study.sqlite"]
    tmp_path.chmod(0o555)
    try:
        with Reader(tmp_path) as reader:
            assert reader.statuses() == {"run-1": "running"}
    finally:
        tmp_path.chmod(0o755)


WRITER = """
import asyncio, pathlib, sys
from orglab.results.records import CallEntry
from orglab.results.store.journal.journal import Attempt
from orglab.results.store.store import Store

async def run(store, number):
    journal = store.open_run(f"run-{number}", arm="a", unit="u", inputs={}, extra={}, replicate=0,
                             seed=0, spec_hash="s", order=number)
    for tick in range(100_000):
        position = f"{tick}.turn.0.0"
        if journal.recorded(position) is not None:
            continue
        await journal.begin(Attempt(position=position))
        request = {"messages": [{"role": "user", "content": position}]}
        await journal.keep(CallEntry(position=position, request=request, text=position))
        print(number, position, flush=True)

async def main():
    store = Store(pathlib.Path(sys.argv[1]))
    await asyncio.gather(*(run(store, number) for number in range(4)))

asyncio.run(main())
"""


def acknowledged_before_kill(folder: Path, lines: int) -> set[tuple[int, str]]:
    """Runs the writer until it has acknowledged so many entries, then kills it."""
    command = [sys.executable, "-c", WRITER, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        told = [writer.stdout.readline() for _ in range(lines)]
        writer.send_signal(signal.SIGKILL)
        told += writer.stdout.readlines()
    return {(int(line.split()[0]), line.split()[1]) for line in told if line.endswith("\n")}


def durable_positions(folder: Path) -> list[tuple[int, str]]:
    """Run and position of every entry in the file."""
    with Reader(folder) as reader:
        return [
            (row.ordinal, entry.position)
            for row in reader.runs()
            for entry in reader.entries(row.run)
        ]


@pytest.mark.timeout(120)
def test_no_acknowledged_entry_is_lost_by_a_kill(tmp_path: Path) -> None:
    """Killed 20 times at random moments, each time going on: every acknowledged entry is there."""
    chance = random.Random(20)
    acknowledged: set[tuple[int, str]] = set()
    for _ in range(20):
        new = acknowledged_before_kill(tmp_path, chance.randrange(1, 400))
        assert not new & acknowledged
        acknowledged |= new
        durable = durable_positions(tmp_path)
        assert len(durable) == len(set(durable))
        assert acknowledged <= set(durable)
        # One reply at most for each run was durable and not yet acknowledged, at each kill.
    assert len(durable) - len(acknowledged) <= 4 * 20


def test_reading_leaves_no_files_behind(tmp_path: Path) -> None:
    """The log's files that a reader made go with it; those of a writer at work stay."""
    store = Store(tmp_path)
    open_run(store)
    store.close()
    with Reader(tmp_path) as reader:
        assert reader.statuses() == {"run-1": "running"}
    assert [path.name for path in tmp_path.iterdir()] == ["study.sqlite"]
    reader = Reader(tmp_path)
    writer = Store(tmp_path)
    open_run(writer, "run-2")
    writer.spec("none")
    reader.close()
    assert (tmp_path / "study.sqlite-wal").stat().st_size > 0
    writer.close()
    with Reader(tmp_path) as reader:
        assert set(reader.statuses()) == {"run-1", "run-2"}
