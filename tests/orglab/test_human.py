"""A person plays a role: the real command at a terminal of its own."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orglab.results.store.reader import Reader

pty = pytest.importorskip("pty", reason="a POSIX terminal is needed")

SPEC = Path(__file__).parents[2] / "specs/human/oversight.yaml"
PATIENCE = 40.0  # seconds


class Person:
    """Sits at a terminal in which ``orglab run`` was typed."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._master, slave = pty.openpty()
        self.seen = ""
        self._read_to = 0
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "orglab", "run", str(SPEC), "--out", "study", *arguments],
            cwd=folder,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "COLUMNS": "120", "TERM": "xterm", "EDITOR": "", "VISUAL": ""},
            start_new_session=True,
        )
        os.close(slave)

    def _more(self) -> bool:
        """Reads what the terminal shows; False at its end."""
        ready, _, _ = select.select([self._master], [], [], PATIENCE)
        assert ready, f"nothing more after {self.seen[-2000:]!r}"
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the other side is closed
            return False
        self.seen += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)

    def sees(self, words: str) -> None:
        """Waits until these words follow what was seen before."""
        until = time.monotonic() + PATIENCE
        while words not in self.seen[self._read_to :]:
            assert self._more(), f"it ended without {words!r}: {self.seen[-2000:]!r}"
            assert time.monotonic() < until, f"no {words!r} in {self.seen[-2000:]!r}"
        self._read_to = self.seen.index(words, self._read_to) + len(words)

    def types(self, *lines: str) -> None:
        """Types whole lines."""
        os.write(self._master, "".join(f"{line}\n" for line in lines).encode())

    def presses(self, key: bytes) -> None:
        """Presses a key, such as Ctrl-D."""
        os.write(self._master, key)

    def interrupts(self) -> None:
        """Ctrl-C, as a terminal sends it."""
        self._process.send_signal(signal.SIGINT)

    def verdict(self, action: str, *reason: str) -> None:
        """Fills in one verdict."""
        self.sees("Your verdict on the output of clerk:")
        self.sees("1-4> ")
        self.types(action)
        self.sees("a dot alone ends them")
        self.types(*reason, ".")

    def ends(self) -> int:
        """Waits for the end; the exit code."""
        while self._more():
            pass
        return self._process.wait(PATIENCE)

    def leaves(self) -> None:
        """Ends the command if a test failed before."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._master)


@pytest.fixture
def people() -> Iterator[list[Person]]:
    """Everybody who sat down; they leave in the end."""
    sat: list[Person] = []
    yield sat
    for each in sat:
        each.leaves()


def test_a_person_reviews_goes_and_comes_back(tmp_path: Path, people: list[Person]) -> None:
    """An objection, then Ctrl-C at the next draft: no failed run; the same command goes on there."""
    complaint = ("--input", "complaint=It \x1b[31mleaks\x1b[0m.")
    person = Person(tmp_path, *complaint)
    people.append(person)
    person.sees("It ␛[31mleaks␛[0m.")
    person.sees("Your verdict on the output of clerk:")
    person.sees("1  approve")
    person.types("7", "revise")
    person.sees("Give the number of a choice.")
    person.sees("a dot alone ends them")
    person.types("Say sorry.", "Then offer a refund.", ".")
    person.sees("suggestion")
    person.types(".")
    person.sees("Your verdict on the output of clerk:")
    person.interrupts()
    person.sees("run the same command to resume")
    assert person.ends() == 1
    with Reader(tmp_path / "study") as reader:
        assert [row.status for row in reader.runs()] == ["running"]

    back = Person(tmp_path, *complaint)
    people.append(back)
    back.sees("overseer, turn 2, reviewing clerk")
    back.sees("1-4> ")
    back.types("1")
    back.sees("a dot alone ends them")
    back.types("Good.", ".")
    back.sees("suggestion")
    back.types(".")
    assert back.ends() == 0
    with Reader(tmp_path / "study") as reader:
        (row,) = reader.runs()
        record = reader.record(row.id)
    assert record.status == "completed"
    assert [(each.action, each.reason) for each in record.verdicts] == [
        ("revise", "Say sorry.\nThen offer a refund."),
        ("approve", "Good."),
    ]
    reviews = [call for call in record.calls if call.purpose == "review"]
    assert [call.served for call in reviews] == ["person", "person"]
    assert all(call.service_seconds > 0 and call.cost_usd == 0 for call in reviews)
