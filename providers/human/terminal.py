"""The terminal of this process, at which one person answers one question at a time.

Lines are read by the event loop, not by a thread that nothing could wake: Ctrl-C and the end of input
stop the study at once, and nobody waits for a line that never comes.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from typing import Final

from orglab.providers.base import Interrupted

Pause = Callable[[], AbstractContextManager[object]]
"""Makes a context in which something else does not write to the terminal."""

_CHUNK: Final = 65_536
_pauses: list[Pause] = []


@contextmanager
def paused_by(pause: Pause) -> Iterator[None]:
    """While this lasts, ``pause`` is entered whenever a person is asked: a progress bar's, say."""
    _pauses.append(pause)
    try:
        yield
    finally:
        _pauses.remove(pause)


class Terminal:
    """A terminal by its descriptors.

    Args:
        source: Where lines are read; default: standard input, when it is first read.
        target: Where texts are written; default: standard output.
    """

    def __init__(self, source: int | None = None, target: int | None = None) -> None:
        self._source, self._target = source, target
        self._given = source is not None
        self._gone = False
        self._waiting: asyncio.Future[str] | None = None
        self._lines: list[str] = []
        self._rest = ""
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = asyncio.Lock()

    def open(self) -> None:
        """Find the terminal; a person who had gone may return.

        Raises:
            ValueError: There is none, in words.
        """
        self._gone = False
        if self._given:
            return
        try:
            self._source, self._target = sys.__stdin__.fileno(), sys.__stdout__.fileno()  # type: ignore[union-attr]
            there = os.isatty(self._source) and os.isatty(self._target)
        except (AttributeError, OSError, ValueError):
            there = False
        if not there:
            raise ValueError(
                "a role is played by a person (`provider: human`), and there is no terminal to ask "
                "them at: run the command in one, with neither input nor output redirected, or give "
                "another catalogue with --models"
            )
        if sys.platform == "win32":
            raise ValueError("`provider: human` needs a POSIX terminal: on Windows, use WSL")

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Have the terminal for one conversation; whoever writes to it besides pauses meanwhile.

        Raises:
            Interrupted: The person has gone.
        """
        async with self._own_lock():
            if self._gone:
                raise Interrupted("the person at the terminal stopped")
            with ExitStack() as paused:
                for pause in _pauses:
                    paused.enter_context(pause())
                yield

    def _own_lock(self) -> asyncio.Lock:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._lock = loop, asyncio.Lock()
        return self._lock

    def say(self, text: str, end: str = "\n") -> None:
        """Write; what models wrote must have been made visible before."""
        if self._target is not None and (text or end):
            data = (text + end).encode("utf-8", "replace")
            while data:
                data = data[os.write(self._target, data) :]

    async def line(self, prompt: str = "") -> str:
        """Return one line, without its end.

        Raises:
            Interrupted: The input ended, or someone hung up.
        """
        self.say(prompt, end="")
        if self._gone:
            raise Interrupted("the person at the terminal stopped")
        if self._lines:
            return self._lines.pop(0)
        if self._source is None:
            raise Interrupted("there is no terminal")
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        loop.add_reader(self._source, self._read_lines)
        try:
            return await self._waiting
        finally:
            loop.remove_reader(self._source)
            self._waiting = None

    def _read_lines(self) -> None:
        """Take what was typed; the end of input is the wish to stop."""
        assert self._source is not None
        try:
            data = os.read(self._source, _CHUNK)
        except OSError:  # the terminal went away
            data = b""
        if not data:
            self.hang_up()
            return
        *lines, self._rest = (self._rest + self._decode(data)).split("\n")
        self._lines += [line.rstrip("\r") for line in lines]
        if self._lines and self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(self._lines.pop(0))

    def hang_up(self) -> None:
        """Interrupt whoever waits for the person, and whoever asks later: the person has gone."""
        self._gone = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(Interrupted("the person at the terminal stopped"))


TERMINAL: Final = Terminal()
"""This process's own."""


def hang_up() -> None:
    """Stop asking the person at this process's terminal: on Ctrl-C, from the event loop."""
    TERMINAL.hang_up()
