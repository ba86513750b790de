"""SIGKILL at random moments: nothing durable is asked for again, nothing is lost.

``ORGLAB_KILLS`` sets how many kills there are (12 unless set).
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

KILLS = int(os.environ.get("ORGLAB_KILLS", "12"))
MOST_CALLS = 60
"""A process is killed after 0 to this many calls, and up to ``LATER`` seconds."""
LATER = 0.02

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="there is neither fork nor SIGKILL"),
    pytest.mark.timeout(60 + 6 * KILLS),
]


class Forge:
    """The process that forks those which are killed."""

    def __init__(self) -> None:
        script = Path(__file__).with_name("kill_child.py")
        self._process = subprocess.Popen(
            [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def close(self) -> None:
        """Ends it."""
        self._process.communicate(timeout=60)

    def run(self, folder: Path, seed: int, kill: tuple[int, float] | None) -> dict[str, Any] | None:
        """Runs a batch; its tally, or None where it was killed.

        Args:
            folder: The study's folder.
            seed: The root seed.
            kill: After how many calls and then how many seconds it is killed; None: never.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([str(folder), seed]).encode() + b"\n")
        self._process.stdin.flush()
        pid, calls, tally = 0, 0, None
        while True:
            sign = self._process.stdout.read(1)
            if sign == b".":
                calls += 1
            elif sign == b"P":
                pid = int(self._process.stdout.readline())
            elif sign == b"T":
                tally = json.loads(self._process.stdout.readline())
            else:
                assert sign == b"D", sign
                status = int(self._process.stdout.readline())
                assert status in (0, signal.SIGKILL)
                return tally if status == 0 else None
            if kill is not None and calls == kill[0] and tally is None:
                time.sleep(kill[1])
                os.kill(pid, signal.SIGKILL)
                kill = None


@pytest.fixture(scope="module")
def forge() -> Iterator[Forge]:
    """What forks the processes."""
    forge = Forge()
    yield forge
    forge.close()


@dataclass
class Left:
    """What a process left when it died, or ended.

    Attributes:
        asked: How often each identity was asked for so far.
        replies: Text of every durable reply by run and position.
        identities: The durable calls.
        cut: Attempts (run, position, number) that left no entry.
    """

    asked: Counter[str]
    replies: dict[tuple[str, str], str] = field(default_factory=dict)
    identities: set[str] = field(default_factory=set)
    cut: set[tuple[str, str, int]] = field(default_factory=set)


def asked(folder: Path) -> Counter[str]:
    """How often the provider was asked for each identity, by its own count."""
    file = folder / "asked.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return Counter(json.loads(line)[0] for line in lines)


def rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    """Rows of the study's file; none where the process died before it made its tables."""
    file = folder / "study.sqlite"
    if not file.exists():
        return []
    with sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True) as connection:
        if not connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
            return []
        found = connection.execute(sql).fetchall()
    connection.close()
    return found


CALLS = "SELECT r.id, c.position, c.identity, c.reply FROM calls c JOIN runs r USING (run)"
CUT = """SELECT r.id, a.position, MAX(a.number) FROM attempts a JOIN runs r USING (run)
         WHERE NOT EXISTS (SELECT 1 FROM calls c WHERE c.run=a.run AND c.position=a.position)
         GROUP BY r.id, a.position"""
EVENTS = """SELECT r.id, e.seq, e.tick, e.kind, e.body FROM events e JOIN runs r USING (run)
            ORDER BY r.id, e.seq"""
ENDS = """SELECT id, unit, status, reason, answer, last, turns, loops, forced, calls, tool_calls,
          tokens_input, tokens_output, diverged FROM runs ORDER BY id"""
SCORES = """SELECT r.id, s.name, s.value, s.label FROM scores s JOIN runs r USING (run)
            WHERE s.name NOT LIKE 'seconds%' AND s.name != 'asked_again' ORDER BY r.id, s.name"""


def left(folder: Path) -> Left:
    """What stands in a folder now."""
    found = Left(asked=asked(folder))
    for run, position, identity, reply in rows(folder, CALLS):
        found.replies[run, position] = reply
        found.identities.add(identity)
    found.cut = set(rows(folder, CUT))
    return found


def run_with_kills(forge: Forge, folder: Path, seed: int, moments: random.Random) -> list[Left]:
    """Runs a batch until it ends, and kills it again and again; what each kill left."""
    deaths: list[Left] = []
    while True:
        kill = (moments.randrange(MOST_CALLS), moments.uniform(0, LATER))
        tally = forge.run(folder, seed, kill)
        if tally is not None:
            assert tally["completed"] + tally["kept"] == tally["planned"]
            return deaths
        deaths.append(left(folder))


def assert_nothing_lost(deaths: list[Left], end: Left) -> None:
    """Every durable reply stayed as it was, and was never asked for again."""
    for death in deaths:
        assert death.replies.items() <= end.replies.items()
        again = [
            identity
            for identity in death.identities
            if end.asked[identity] != death.asked[identity]
        ]
        assert again == []


def assert_counted(folder: Path, deaths: list[Left], end: Left) -> int:
    """What was in flight was asked again and counted, nothing else; how many calls that was."""
    assert end.cut == set()
    assert set(end.asked) == end.identities, "asked and kept, kept and asked"
    cut = set().union(*(death.cut for death in deaths))
    shown: int = sum(again for (again,) in rows(folder, "SELECT asked_again FROM runs"))
    assert shown == len(cut)
    attempts = Counter(
        json.loads(what)["identity"] for (what,) in rows(folder, "SELECT what FROM attempts")
    )
    assert attempts.total() == len(end.replies) + shown
    assert all(end.asked[identity] <= attempts[identity] for identity in end.identities)
    return shown


def test_nothing_is_lost_or_paid_for_twice(forge: Forge, tmp_path: Path) -> None:
    """Killed at random moments, a batch ends with the same events; what was in flight is counted."""
    moments = random.Random(int(os.environ.get("ORGLAB_KILL_SEED", "1")))
    kills = durable = total = again = seed = 0
    while kills < KILLS:
        seed += 1
        calm, killed = tmp_path / f"calm-{seed}", tmp_path / f"killed-{seed}"
        assert forge.run(calm, seed, None) is not None
        deaths = run_with_kills(forge, killed, seed, moments)
        end = left(killed)
        for sql in (EVENTS, ENDS, SCORES):
            assert rows(killed, sql) == rows(calm, sql)
        assert end.replies == left(calm).replies
        assert_nothing_lost(deaths, end)
        again += assert_counted(killed, deaths, end)
        kills += len(deaths)
        durable += len(end.replies)
        total += end.asked.total()
    assert durable <= total <= durable + again
    sys.stderr.write(
        f"{kills} kills, {seed} studies, {durable} durable calls, {total} asked of the provider, "
        f"{again} counted as asked again\n"
    )


def test_a_study_that_ended_asks_nothing(forge: Forge, tmp_path: Path) -> None:
    """The same batch once more asks for nothing and keeps every run."""
    first = forge.run(tmp_path, 3, None)
    before = asked(tmp_path)
    second = forge.run(tmp_path, 3, None)
    assert first is not None
    assert second is not None
    assert second["kept"] == first["completed"] == first["planned"]
    assert asked(tmp_path) == before
