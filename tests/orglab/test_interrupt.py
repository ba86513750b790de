"""Ctrl-C at ``orglab run``: once to keep what is under way, twice to end at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from orglab.results.store.reader import Reader

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")

SPEC = """\
kind: topology
version: 1
name: slow
inputs: {topic: {type: string}}
models: {worker: {provider: scripted, file: replies.jsonl}}
roles: {writer: {}, critic: {}}
links: [{from: writer, to: critic, kind: forward}]
output: critic
"""
REPLIES = '{"role": "writer", "reply": "a draft"}\n{"role": "critic", "reply": "fine"}\n'


class Command:
    """``orglab run`` on two units, one call after another told to answer."""

    def __init__(self, folder: Path) -> None:
        script = str(Path(__file__).with_name("slow_cli.py"))
        arguments = ["run", "slow.yaml", "--units", "units.csv", "--out", "study"]
        self._process = subprocess.Popen(
            [sys.executable, script, *arguments],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "COLUMNS": "160"},
        )

    def until(self, words: str, times: int = 1) -> list[str]:
        """Reads lines until one begins with ``words`` so many times; those lines."""
        assert self._process.stdout is not None
        found: list[str] = []
        for line in self._process.stdout:
            if line.startswith(words):
                found.append(line.strip())
            if len(found) == times:
                return found
        raise AssertionError(f"it ended without {words!r}: {self._process.communicate()}")

    def tell(self, calls: int) -> None:
        """Lets calls answer."""
        assert self._process.stdin is not None
        self._process.stdin.write("." * calls)
        self._process.stdin.flush()

    def interrupt(self) -> None:
        """Ctrl-C."""
        self._process.send_signal(signal.SIGINT)

    def end(self) -> tuple[int, str, str]:
        """Exit code and what is left of its output."""
        out, err = self._process.communicate(timeout=50)
        return self._process.returncode, out, err

    def kill(self) -> None:
        """Ends it, if a test failed before."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()


class Folder:
    """Runs commands in a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.commands: list[Command] = []

    def run(self) -> Command:
        """Begins the command."""
        self.commands.append(Command(self.path))
        return self.commands[-1]

    def calls(self) -> list[str]:
        """Who has a durable reply."""
        with Reader(self.path / "study") as reader:
            return sorted(row["copy"] for row in reader.rows("SELECT copy FROM calls"))

    def asked_again(self) -> int:
        """Calls that are shown as asked again."""
        with Reader(self.path / "study") as reader:
            return sum(row.asked_again for row in reader.runs())


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    """A folder with a spec, its replies and two units."""
    (tmp_path / "slow.yaml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "replies.jsonl").write_text(REPLIES, encoding="utf-8")
    (tmp_path / "units.csv").write_text("id,topic\na,tea\nb,coffee\n", encoding="utf-8")
    folder = Folder(tmp_path)
    yield folder
    for command in folder.commands:
        command.kill()


def finish(folder: Folder, calls: int) -> tuple[list[str], str]:
    """Runs the command to its end; what it asked for, and the rest of its output."""
    command = folder.run()
    command.tell(calls)
    asked = command.until("asked", calls)
    code, out, err = command.end()
    assert (code, err) == (0, "")
    return asked, out


def test_ctrl_c_keeps_what_is_under_way(folder: Folder) -> None:
    """Calls under way are waited for; exit code 1; the same command goes on from there."""
    command = folder.run()
    command.until("asked", 2)
    command.interrupt()
    command.until("Waiting for running calls")
    command.tell(2)
    code, out, err = command.end()
    assert (code, err) == (1, "")
    assert "Interrupted before a run ended: every reply is stored; run the same command" in out
    assert "asked" not in out, "nothing else was begun"
    assert folder.calls() == ["writer", "writer"]
    asked, out = finish(folder, 2)
    assert sorted(asked) == ["asked a critic", "asked b critic"]
    assert "Resumed 2 runs." in out
    assert folder.asked_again() == 0


def test_ctrl_c_twice_ends_at_once(folder: Folder) -> None:
    """The second one waits for nothing; what was durable is used, the rest asked again, counted."""
    command = folder.run()
    command.until("asked", 2)
    command.tell(1)
    command.until("asked")
    command.interrupt()
    command.until("Waiting for running calls")
    command.interrupt()
    code, _, err = command.end()
    assert code != 0
    assert "Traceback" not in err
    assert folder.calls() == ["writer"]
    asked, out = finish(folder, 3)
    assert sorted(line.split()[2] for line in asked) == ["critic", "critic", "writer"]
    assert "Retried 2 calls interrupted by an earlier end." in out
    assert folder.asked_again() == 2
